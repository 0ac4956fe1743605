"""What reasoning with an ontology comes to: a model, what joins individuals, what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Final

from sensorstream.errors import Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.equality_rules import apart
from sensorstream.network.recursion.linear import parted
from sensorstream.reasoning.dl.bounds.clauses import THING
from sensorstream.reasoning.dl.bounds.rules import is_made, upper
from sensorstream.reasoning.dl.bounds.values import property_of
from sensorstream.reasoning.dl.gap.plans import kind_of
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.specialise import standard_name
from sensorstream.sparql.algebra import TriplePattern

_SHOWN = 5
_TRIAL: Final = "urn:sensorstream:trial:"
"""Prefix of the names of individuals that are only measured."""
_SIZES: Final = (1, 10, 100, 1000)
_PROPERTIES: Final = 3
"""Properties that are tried, so that the measurement takes seconds."""
_PATIENCE: Final = 0.5
"""Seconds for one individual after which larger windows are not measured."""


@contextmanager
def started(ontology: Ontology, reasoner: Reasoner) -> Iterator[KnowledgeBase]:
    """The knowledge base of a reasoner that starts with an empty window, and ends with the block.

    Raises:
        OntologyError: the ontology contradicts itself, alone or with its own individuals.
        ReasonerError: the reasoner's process failed.
    """
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    try:
        reasoner.start(kb)
        yield kb
    finally:
        reasoner.close()


def costs(
    kb: KnowledgeBase, reasoner: Reasoner, schema: Schema, most: int, counter: Callable[[], float]
) -> Iterator[str]:
    """What one more individual costs beside so many that are linked like it, as sentences.

    Each step links more individuals to one, by each of a few object properties; the window is empty
    again afterwards. It ends early when a step takes long.

    Args:
        kb: of the reasoner, whose window is empty.
        reasoner: which was started with it.
        schema: of the ontology.
        most: how many individuals a window has.
        counter: seconds from an arbitrary start.
    """
    properties = sorted(schema.object_properties)[:_PROPERTIES]
    for name in properties:
        # The first question of its kind costs more: nothing is compiled or remembered yet.
        with suppress(ReasonerError, Overrun):
            _seconds(kb, reasoner, name, 1, counter)
    for size in sorted({*takewhile(lambda each: each < most, _SIZES), most}):
        found: dict[IRI, float] = {}
        for name in properties:
            try:
                seconds = _seconds(kb, reasoner, name, size, counter)
            except (ReasonerError, Overrun) as error:
                yield f"not measured: {size} linked to one by <{name}>: {error}"
                return
            if seconds is not None:
                found[name] = seconds
        # Those that contradict the ontology do so in larger windows too.
        properties = list(found)
        if not found:
            return
        slowest = max(properties, key=found.__getitem__)
        yield (
            f"measured here: an individual that links to another by <{slowest}> costs "
            f"{found[slowest] * 1000:.3g} ms if {size} link to that one"
        )
        if found[slowest] > _PATIENCE and size < most:
            yield f"not measured: more than {size}, up to {most} in the window"
            return


def _seconds(
    kb: KnowledgeBase, reasoner: Reasoner, name: IRI, size: int, counter: Callable[[], float]
) -> float | None:
    """How long the last of so many individuals takes; None if they contradict the ontology."""
    hub = IRI(f"{_TRIAL}0")
    links: list[Triple] = [(IRI(f"{_TRIAL}{n}"), name, hub) for n in range(1, size + 1)]
    before = _change(kb, reasoner, Delta(0, added=tuple(links[:-1])))
    begin = counter()
    last = before and _change(kb, reasoner, Delta(0, added=(links[-1],)))
    seconds = counter() - begin
    if before:
        _change(kb, reasoner, Delta(0, removed=tuple(links if last else links[:-1])))
    return seconds if last else None


def _change(kb: KnowledgeBase, reasoner: Reasoner, delta: Delta) -> bool:
    """Change the window; False: it would contradict the ontology, and is as before."""
    kb.apply(Origin.WINDOW, delta)
    try:
        reasoner.react(kb, delta)
    except Inconsistent:
        kb.apply(Origin.WINDOW, delta.inverse())
        return False
    return True


def rules_left(reasoner: RuleReasoner) -> Iterator[str]:
    """What the rules of a reasoner that was started cost at run time, as sentences."""
    equality, rest = apart(reasoner.rules)
    linear, others = parted(rest)
    yield (
        f"consistent: no rule finds a contradiction; for this ontology {len(linear)} rules have "
        f"one premise, which costs a look-up, and {len(others)} join what streams"
    )
    if reasoner.tables:
        yield f"looked up: {reasoner.tables} of the set's rules, whose schema is large"
    if equality:
        names = ", ".join(standard_name(rule) for rule in equality)
        yield f"kept as clusters of names: {names}"
    counts = Counter(standard_name(rule) for rule in others)
    for name, count in sorted(counts.items()):
        yield f"joins: {name}" if count == 1 else f"joins: {name}, {count} times"


def without_rules(ontology: Ontology, left_out: frozenset[str]) -> Iterator[str]:
    """Which axioms of HermiT and Pellet no rules bound, and what that means, as sentences.

    ``left_out`` are the names of rules that the reasoner does not make.

    Raises:
        OntologyError: an axiom is none that HermiT and Pellet can be told.
    """
    terminology = Terminology.of(ontology)
    found = upper(terminology.stated, left_out)
    for crowd in found.crowds:
        yield (
            f"counted: who has {crowd.number} neighbours or more is asked about, by "
            f"{crowd.clause.name}; nobody else is"
        )
    if not found.untreated:
        yield "all axioms have rules: the reasoner is asked about what they leave open"
        return
    for axiom in found.untreated[:_SHOWN]:
        yield f"no rules for {axiom}"
    if len(found.untreated) > _SHOWN:
        yield f"no rules for {len(found.untreated) - _SHOWN} other axioms"
    uses = sorted(filter(None, {_use(need) for need in found.needs}))
    more = f" and {len(uses) - _SHOWN} more" if len(uses) > _SHOWN else ""
    concerned = f"who has {', '.join(uses[:_SHOWN])}{more}"
    if not uses or any(need.object == THING for need in found.needs):
        concerned = "every individual"
    together = "the whole window" if terminology.whole else "all that is linked to it"
    why = f", because of {terminology.whole}" if terminology.whole else ""
    yield f"{concerned} is asked about with {together}{why}"


def _use(need: TriplePattern) -> str:
    """The class or property that an axiom needs; "": it has no name."""
    name = property_of(kind_of(need))
    return "" if is_made(name) else f"<{name}>"
