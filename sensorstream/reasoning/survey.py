"""What reasoning with an ontology comes to: a model, what joins individuals, what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, product, takewhile
from typing import Final

from sensorstream.errors import Inconsistent, Overrun, ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.network.recursion.equality_rules import apart
from sensorstream.network.recursion.linear import parted
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import THING
from sensorstream.reasoning.dl.bounds.rules import is_made, upper
from sensorstream.reasoning.dl.bounds.values import property_of
from sensorstream.reasoning.dl.gap.plans import kind_of
from sensorstream.reasoning.dl.gap.trial import Way, name_of, ways
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
_HUBS: Final = 100
"""Further ways to link individuals to one, of which the slowest are tried with many."""
_MOVES: Final = 3
"""Individuals that are measured; what the one in the middle took is told."""
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


def hubs(ontology: Ontology) -> tuple[Way, ...]:
    """The ways to be linked to one of which axioms leave open what follows; for :func:`costs`.

    Raises:
        OntologyError: an axiom is none that HermiT and Pellet can be told.
    """
    terminology = Terminology.of(ontology)
    stated = terminology.stated
    schema, choices = terminology.schema, upper(stated).choices
    spoken = list(ways(Axioms(stated), schema, choices))
    links = dict.fromkeys((each.link, each.outward) for each in spoken)
    # Who of which class is on which side, the axioms together decide.
    subjects = (IRI(t[0]) for t in stated if t[0] in schema.classes and name_of(t) in choices)
    kinds = (each.kind for each in spoken if each.kind is not None)
    named = [None, *dict.fromkeys((*subjects, *kinds))]
    return tuple(
        Way(link, kind, outward, hub)
        for kind, hub, (link, outward) in islice(product(named, named, links), _HUBS)
    )


def costs(
    kb: KnowledgeBase,
    reasoner: Reasoner,
    schema: Schema,
    most: int,
    counter: Callable[[], float],
    more: Sequence[Way] = (),
) -> Iterator[str]:
    """What one more individual costs beside so many that are linked like it, as sentences.

    Each step links more individuals to one, by each of a few object properties, and then lets
    others take the place of the oldest; the window is empty again afterwards. It ends early when a
    step takes long.

    Args:
        kb: of the reasoner, whose window is empty.
        reasoner: which was started with it.
        schema: of the ontology.
        most: how many individuals a window has.
        counter: seconds from an arbitrary start.
        more: further ways to link them.
    """
    plain = (Way(name, None, False) for name in sorted(schema.object_properties)[:_PROPERTIES])
    tried = list(dict.fromkeys((*plain, *more)))
    for way in tried:
        # The first question of its kind costs more: nothing is compiled or remembered yet.
        with suppress(ReasonerError, Overrun):
            _seconds(kb, reasoner, way, 1, counter)
    for size in sorted({*takewhile(lambda each: each < most, _SIZES), most}):
        found: dict[Way, float] = {}
        for way in tried:
            try:
                seconds = _seconds(kb, reasoner, way, size, counter)
            except (ReasonerError, Overrun) as error:
                yield f"not measured: {size} linked to one by <{way.link}>: {error}"
                return
            if seconds is not None:
                found[way] = seconds
        # Those that contradict the ontology do so in larger windows too.
        tried = sorted(found, key=found.__getitem__, reverse=True)
        if not found:
            return
        slowest = tried[0]
        if size > 1:
            del tried[_PROPERTIES:]
        one = "an individual" if slowest.kind is None else f"a <{slowest.kind}>"
        linked = "that another links to by" if slowest.outward else "that links to another by"
        other = "one" if slowest.hub is None else f"<{slowest.hub}>"
        hub = f"that {other} links to {size}" if slowest.outward else f"{size} link to that {other}"
        yield (
            f"measured here: {one} {linked} <{slowest.link}> costs "
            f"{found[slowest] * 1000:.3g} ms if {hub}"
        )
        if found[slowest] > _PATIENCE and size < most:
            yield f"not measured: more than {size}, up to {most} in the window"
            return


def _seconds(
    kb: KnowledgeBase, reasoner: Reasoner, way: Way, size: int, counter: Callable[[], float]
) -> float | None:
    """How long one takes that comes for the oldest; None if they contradict the ontology."""
    hub = IRI(f"{_TRIAL}0")
    links = [way.said(IRI(f"{_TRIAL}{n}"), hub) for n in range(1, size + _MOVES + 1)]
    always: list[Triple] = [] if way.hub is None else [(hub, RDF_TYPE, way.hub)]
    held = [*always, *(triple for said in links[:size] for triple in said)]
    if not _change(kb, reasoner, Delta(0, added=tuple(held))):
        return None
    taken: list[float] = []
    for come, gone in zip(links[size:], links, strict=False):
        begin = counter()
        fits = _change(kb, reasoner, Delta(0, added=tuple(come), removed=tuple(gone)))
        taken.append(counter() - begin)
        if not fits:
            break
        held = [each for each in held if each not in gone] + come
    _change(kb, reasoner, Delta(0, removed=tuple(held)))
    return sorted(taken)[len(taken) // 2] if len(taken) == _MOVES else None


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
