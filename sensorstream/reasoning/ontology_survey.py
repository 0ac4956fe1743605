"""A survey of reasoning with an ontology: its model, what joins individuals, and the costs.

Contradictions that an ontology states outright are found without HermiT or Pellet
(:func:`clashes`). That is sound and incomplete: what is found has no model; what is not found may
have none either. Classes and links of the individuals are those of the plain profile.

Source: OWL 2 Profiles, section 4.3: the rules eq-diff1 to 3, prp-npa1 and 2, cls-nothing2, cls-com,
cax-dw and cax-adc, whose conclusion is ``false``.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, product, takewhile
from typing import Final, NamedTuple

import psutil

from sensorstream.clock import thread_seconds
from sensorstream.errors import Inconsistent, Overrun, ReasonerError, TermError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.network.recursion.equality_rules import apart
from sensorstream.network.recursion.linear_rules import parted
from sensorstream.reasoning.dl.axioms import HAS_KEY, Axioms, name_of
from sensorstream.reasoning.dl.bounds.bound_rules import is_made, upper
from sensorstream.reasoning.dl.bounds.clauses import THING
from sensorstream.reasoning.dl.bounds.value_names import property_of
from sensorstream.reasoning.dl.datatypes import value_of
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.dl.gap.axiom_trial import Way, ways
from sensorstream.reasoning.dl.gap.rule_plans import kind_of
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import Aside, Reasoner, SchemaClosure
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.specialise import standard_name
from sensorstream.sparql.algebra import TriplePattern

_DISJOINT_WITH: Final = IRI(f"{OWL}disjointWith")
_UNION: Final = IRI(f"{OWL}disjointUnionOf")
_MEMBERS: Final = (f"{OWL}members", f"{OWL}distinctMembers")
_BELOW: Final = frozenset({rdfs.SUBCLASS_OF, owl.EQUIVALENT_CLASS})


def clashes(ontology: Ontology) -> Iterator[str]:
    """Sentences, each of statements about individuals that cannot be true together."""
    kb = Aside(ontology.triples, SchemaClosure(ontology.schema)).kb
    axioms = Axioms(ontology.triples)
    yield from _of_classes(kb, axioms, ontology.schema)
    yield from _of_equals(kb, axioms)
    yield from _of_denials(kb, axioms)


def _of_classes(kb: KnowledgeBase, axioms: Axioms, schema: Schema) -> Iterator[str]:
    """Individuals in two classes that have no common member, or in one that has no member."""
    groups_of: defaultdict[Term, list[int]] = defaultdict(list)
    for number, group in enumerate(_apart(axioms)):
        for name in group:
            groups_of[name].append(number)
    empty = {owl.NOTHING, *_below_nothing(axioms, schema)}
    seen: dict[tuple[Subject, int], Term] = {}
    for one, _, kind in sorted(kb.match(None, rdf.TYPE, None)):
        if kind in empty:
            yield f"{one.n3} is in {kind.n3}, which can have no member"
        for number in groups_of.get(kind, ()):
            other = seen.setdefault((one, number), kind)
            if other != kind:
                yield f"{one.n3} is in {other.n3} and in {kind.n3}, which have no common member"


def _apart(axioms: Axioms) -> Iterator[set[Term]]:
    """Sets of names of classes of which no two have a common member."""
    for s, p, o in axioms.triples:
        if p in (_DISJOINT_WITH, owl.COMPLEMENT_OF) and isinstance(s, IRI):
            yield {s, o}
        elif p == _UNION:
            yield set(axioms.members(o))
        elif p in _BELOW and (other := axioms.value(o, owl.COMPLEMENT_OF)) is not None:
            yield {s, other}
    for node in axioms.typed(f"{OWL}AllDisjointClasses"):
        yield from _listed(axioms, node)


def _listed(axioms: Axioms, node: Term) -> Iterator[set[Term]]:
    for link in _MEMBERS:
        if (head := axioms.value(node, link)) is not None:
            yield set(axioms.members(head))


def _below_nothing(axioms: Axioms, schema: Schema) -> Iterator[IRI]:
    """The classes stated to be below owl:Nothing."""
    for s, p, o in axioms.triples:
        if p in _BELOW and o == owl.NOTHING and isinstance(s, IRI):
            yield s
            yield from schema.subclasses(s)


def _of_equals(kb: KnowledgeBase, axioms: Axioms) -> Iterator[str]:
    """Individuals that are stated to be the same and to be different."""
    first: dict[Term, Term] = {}

    def named(one: Term) -> Term:
        while (other := first.get(one, one)) != one:
            one = other
        return one

    for s, _, o in kb.match(None, owl.SAME_AS, None):
        first[named(s)] = named(o)
    for s, _, o in sorted(kb.match(None, owl.DIFFERENT_FROM, None)):
        if named(s) == named(o):
            yield f"{s.n3} and {o.n3} are the same and different"
    for node in axioms.typed(f"{OWL}AllDifferent"):
        for group in _listed(axioms, node):
            met: dict[Term, Term] = {}
            for member in sorted(group):
                other = met.setdefault(named(member), member)
                if other != member:
                    yield f"{other.n3} and {member.n3} are the same and different"


def _of_denials(kb: KnowledgeBase, axioms: Axioms) -> Iterator[str]:
    """Statements that are asserted, or follow, and are denied."""
    for node in axioms.typed(owl.NEGATIVE_ASSERTION):
        one = axioms.value(node, f"{OWL}sourceIndividual")
        prop = axioms.value(node, f"{OWL}assertionProperty")
        value = axioms.value(node, f"{OWL}targetIndividual")
        value = axioms.value(node, f"{OWL}targetValue") if value is None else value
        if one is None or isinstance(one, Literal) or not isinstance(prop, IRI) or value is None:
            continue
        for stated in sorted(o for _, _, o in kb.match(one, prop, None) if _is_same(o, value)):
            other = "" if stated == value else f" as {value.n3}"
            yield f"{one.n3} {prop.n3} {stated.n3} is stated and denied{other}"


def _is_same(one: Term, other: Term) -> bool:
    """Whether two terms are one, or literals of one value."""
    if one == other or not (isinstance(one, Literal) and isinstance(other, Literal)):
        return one == other
    try:
        return value_of(one) == value_of(other)
    except (TermError, ValueError):  # not valid, or more digits than Python accepts
        return False


_SHOWN = 5
_TRIAL: Final = "urn:sensorstream:trial:"
"""Prefix of the names of individuals that are only measured."""
_SIZES: Final = (1, 10, 100, 1000)
_PROPERTIES: Final = 3
"""Properties that are tried, so that the measurement takes seconds."""
_HUBS: Final = 100
"""Further ways to link individuals to one, of which the slowest are tried with many."""
_MOVES: Final = 3
"""Messages that are measured of each style while there are many styles."""
_STEADY: Final = 20
"""As many of the slowest, so that what happens once counts as little as in a stream."""
_WARM: Final = 3
"""Messages before them: what they ask for the first time is known then."""
_PATIENCE: Final = 0.5
"""Seconds for one individual after which larger windows are not measured."""
_STYLES: Final = 20
"""Ways to be linked that are read from sample messages."""


class Spent(NamedTuple):
    """Seconds of processor time so far, questions, and the reasoner's part of the seconds."""

    seconds: float
    asked: float = 0.0
    asking: float = 0.0


def spent(reasoner: Reasoner) -> Spent:
    """The time that this thread, and the process that the reasoner asks, have spent so far."""
    if not isinstance(reasoner, ResilientReasoner) or reasoner.pid is None:
        return Spent(thread_seconds())
    times = psutil.Process(reasoner.pid).cpu_times()
    asking = times.user + times.system
    return Spent(thread_seconds() + asking, reasoner.memo.misses, asking)


class Style(NamedTuple):
    """A way in which a stream links ever more individuals to one: the statements of its messages.
    Each names the individuals of ``fresh`` anew, with new values of the properties ``keys``.
    """

    way: Way
    said: tuple[Triple, ...]
    fresh: frozenset[Term]
    keys: frozenset[Term] = frozenset()

    def message(self, number: int) -> list[Triple]:
        """The message of that number."""
        names = {
            each: IRI(f"{_TRIAL}{number}-{place}") for place, each in enumerate(sorted(self.fresh))
        }
        told: dict[Triple, None] = {}
        for s, p, o in self.said:
            if isinstance(o, Literal) and p in self.keys and s in names:
                text = str(number) if o.datatype == xsd.INTEGER else f"{o.lexical} {number}"
                told[names[s], p, Literal(text, o.datatype, o.language)] = None
            else:
                told[names.get(s, s), p, names.get(o, o)] = None
        return list(told)


def sampled(messages: Sequence[Sequence[Triple]], ontology: Ontology) -> tuple[Style, ...]:
    """The styles in which sample messages link individuals to one. Individuals in several messages
    are the same for all, others are new in each. If neither end of a link is in several, both are
    tried.
    """
    known = Counter(one for said in messages for one in {end for t in said for end in (t[0], t[2])})
    keys = frozenset(prop for props in _keys(ontology).values() for prop in props)
    found: dict[Way, Style] = {}
    for said in messages:
        kinds = {s: o for s, p, o in reversed(said) if p == rdf.TYPE and isinstance(o, IRI)}
        fresh = {s for s, _, _ in said if known[s] == 1}
        for s, p, o in said:
            if p in ontology.schema.object_properties and not isinstance(o, Literal):
                for one, hub in ((s, o), (o, s)):
                    if known[one] > 1:
                        continue  # the same in each message: its links do not become more
                    way = Way(p, kinds.get(one), one == o, kinds.get(hub))
                    new = frozenset(fresh | {one}) - {hub}
                    found.setdefault(way, Style(way, tuple(said), new, keys))
    return tuple(islice(found.values(), _STYLES))


def _keys(ontology: Ontology) -> dict[Term, list[Term]]:
    """The properties of the keys of each class."""
    axioms = Axioms(ontology.triples)
    found: dict[Term, list[Term]] = {}
    for s, p, o in axioms.triples:
        if p == HAS_KEY:
            found.setdefault(s, []).extend(axioms.members(o))
    return found


@contextmanager
def started(ontology: Ontology, reasoner: Reasoner) -> Iterator[Aside]:
    """A reasoner that starts with an empty window, and ends with the block.

    Raises:
        OntologyError: the ontology contradicts itself, alone or with its own individuals.
        ReasonerError: the reasoner's process failed.
    """
    try:
        yield Aside(ontology.triples, reasoner)
    finally:
        reasoner.close()


def hubs(ontology: Ontology, *, asks: bool) -> tuple[Style, ...]:
    """The ways in which a stream may link individuals to one; for :func:`costs`. They are the first
    few object properties and, if HermiT or Pellet ``asks``, all that axioms leave open.

    Raises:
        OntologyError: an axiom is none that HermiT and Pellet can be told.
    """
    found = [
        Way(name, None, False) for name in sorted(ontology.schema.object_properties)[:_PROPERTIES]
    ]
    if asks:
        found += _left_open(ontology)
    keys = _keys(ontology)
    values: dict[Term, Term] = {s: o for s, p, o in ontology.triples if p == rdfs.RANGE}
    one, hub = IRI(f"{_TRIAL}one"), IRI(f"{_TRIAL}hub")
    styles = []
    for way in dict.fromkeys(found):
        said = way.said(one, hub)
        if way.hub is not None:
            said.append((hub, rdf.TYPE, way.hub))
        mine = set(keys.get(way.kind, ())) if way.kind is not None else set()
        for key in sorted(ontology.schema.datatype_properties & mine):
            kind = values.get(key, xsd.STRING)
            if kind in (xsd.STRING, xsd.INTEGER):
                said.append((one, key, Literal("0", kind)))
        styles.append(Style(way, tuple(said), frozenset({one}), frozenset(mine)))
    return tuple(styles)


def _left_open(ontology: Ontology) -> Iterator[Way]:
    terminology = Terminology.of(ontology)
    stated = terminology.stated
    schema, choices = terminology.schema, upper(stated).choices
    spoken = list(ways(Axioms(stated), schema, choices))
    links = dict.fromkeys((each.link, each.outward) for each in spoken)
    # The axioms together decide which classes are on which side.
    subjects = (IRI(t[0]) for t in stated if t[0] in schema.classes and name_of(t) in choices)
    kinds = (each.kind for each in spoken if each.kind is not None)
    named = [None, *dict.fromkeys((*subjects, *kinds))]
    for kind, hub, (link, outward) in islice(product(named, named, links), _HUBS):
        yield Way(link, kind, outward, hub)


def costs(
    aside: Aside, styles: Sequence[Style], most: int, counter: Callable[[], Spent]
) -> Iterator[str]:
    """Sentences on the cost of a message while many individuals are linked to one.

    Each step links more individuals to one, in each style, and then lets messages take the place of
    the oldest, as in a stream; the window is empty again afterwards. The slowest style is reported,
    with most individuals the slowest ones. It ends early when a step takes long.

    Args:
        aside: the reasoner, whose window is empty.
        styles: of the streams.
        most: how many individuals a window has.
        counter: the costs so far, from an arbitrary start.
    """
    tried = list(styles)
    for size in sorted({*takewhile(lambda each: each < most, _SIZES), most}):
        found: dict[Style, Spent] = {}
        moves = _STEADY if len(tried) <= _PROPERTIES else _MOVES
        for style in tried:
            try:
                spent = _spent(aside, style, size, moves, counter)
            except (ReasonerError, Overrun) as error:
                yield f"not measured: {size} linked to one by <{style.way.link}>: {error}"
                return
            if spent is not None:
                found[style] = spent
        # Styles that contradict the ontology do so in larger windows too.
        tried = sorted(found, key=lambda each: found[each].seconds, reverse=True)
        if not found:
            return
        slowest = tried[0]
        if size > 1:
            del tried[_PROPERTIES:]
        for style in tried if size == most else [slowest]:
            yield _told(style.way, size, found[style])
        if found[slowest].seconds > _PATIENCE and size < most:
            yield f"not measured: more than {size}, up to {most} in the window"
            return


def _told(way: Way, size: int, spent: Spent) -> str:
    one = "an individual" if way.kind is None else f"a <{way.kind}>"
    linked = "that another links to by" if way.outward else "that links to another by"
    other = "one" if way.hub is None else f"<{way.hub}>"
    hub = f"that {other} links to {size}" if way.outward else f"{size} link to that {other}"
    asked = f"; {spent.asked:.2g} questions are asked for it, {spent.asking * 1000:.3g} ms"
    return (
        f"measured here: {one} {linked} <{way.link}> costs {spent.seconds * 1000:.3g} ms if {hub}"
        + (asked if spent.asked else "")
    )


def _spent(
    aside: Aside, style: Style, size: int, moves: int, counter: Callable[[], Spent]
) -> Spent | None:
    """The cost of a message that replaces the oldest; None if they contradict the ontology."""
    window = deque(style.message(number) for number in range(size))
    held = Counter(triple for said in window for triple in said)
    if not _fits(aside, Delta(0, added=tuple(held))):
        return None
    total, fits = Spent(0.0), True
    for number in range(size, size + _WARM + moves):
        come, gone = style.message(number), window[0]
        delta = Delta(
            0,
            tuple(each for each in come if not held[each]),
            tuple(each for each in gone if held[each] == 1 and each not in come),
        )
        begin = counter()
        fits = _fits(aside, delta)
        end = counter()
        if not fits:
            break
        window.append(come)
        window.popleft()
        held.update(come)
        held.subtract(gone)
        if number >= size + _WARM:
            total = Spent(*(t + e - b for t, e, b in zip(total, end, begin, strict=True)))
    _fits(aside, Delta(0, removed=tuple(+held)))
    return Spent(*(each / moves for each in total)) if fits else None


def _fits(aside: Aside, delta: Delta) -> bool:
    """Change the window; False: it would contradict the ontology, and is as before."""
    try:
        aside.change(delta)
    except Inconsistent:
        return False
    return True


def rules_left(reasoner: RuleReasoner) -> Iterator[str]:
    """Sentences on the cost at run time of the rules of a started reasoner."""
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
    """Sentences on axioms of HermiT and Pellet that no rules bound, and the consequences.
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
