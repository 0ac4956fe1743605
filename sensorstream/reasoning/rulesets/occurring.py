"""Which specialised rules can conclude something from triples of given kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDF_TYPE, RDFS
from sensorstream.network.recursion.reads import Kind, written
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.rulesets.conjunction import triples_of
from sensorstream.sparql.algebra import And, Call, Expression, Filter, Not, TriplePattern, Variable
from sensorstream.sparql.walk import nodes

_SPACES = (RDF, RDFS, OWL, "http://www.w3.org/2001/XMLSchema#")


@dataclass(frozen=True, slots=True)
class Occurring:
    """A kind of triple that may occur; ``loop``: with one term as subject and object only."""

    kind: Kind
    loop: bool = False


def vocabulary_of(static: Iterable[Triple]) -> Iterator[Occurring]:
    """What may stream under an ontology: its names as properties, and as classes.

    And what the ontology says itself. Of the names of RDF, RDFS and OWL only ``rdf:type`` streams.
    """
    for triple in static:
        yield _of_triple(triple)
        for term in triple:
            if isinstance(term, IRI) and not term.startswith(_SPACES):
                yield Occurring(Kind(term, None))
                yield Occurring(Kind(RDF_TYPE, term))


def firing(rules: Sequence[DerivationRule], occurring: Iterable[Occurring]) -> list[DerivationRule]:
    """The rules whose patterns may all match, and which then say something new.

    A loop alone (``?x owl:sameAs ?x``, as eq-ref makes it) does not make others fire that only
    repeat it.
    """
    known = set(occurring)
    found: dict[int, DerivationRule] = {}
    while True:
        before = len(known)
        for number, rule in enumerate(rules):
            made = _concluded(rule, known)
            if made:
                found[number] = rule
                known |= made
        if len(known) == before:
            return [found[number] for number in sorted(found)]


def reaching(
    rules: Sequence[DerivationRule], goals: Iterable[Kind], reads: dict[int, tuple[Kind, ...]]
) -> list[DerivationRule]:
    """The rules whose conclusions are of the goals' kinds, or are read by such rules.

    ``reads`` are the kinds that a rule reads, by its place in ``rules``.
    """
    wanted = set(goals)
    found: dict[int, DerivationRule] = {}
    while True:
        before = len(found)
        for number, rule in enumerate(rules):
            if number in found:
                continue
            heads = [written(triple) for triple in rule.head]
            if any(head.meets(each) for head in heads for each in wanted):
                found[number] = rule
                wanted.update(reads[number])
        if len(found) == before:
            return [found[number] for number in sorted(found)]


def _of_triple(triple: Triple) -> Occurring:
    s, p, o = triple
    return Occurring(Kind(p, o if p == RDF_TYPE else None), loop=s == o)


def _concluded(rule: DerivationRule, known: set[Occurring]) -> set[Occurring]:
    """What a rule makes of triples of known kinds; empty: nothing."""
    premises = list(triples_of(rule.body))
    same: dict[Variable, Variable] = {}
    for triple in premises:
        kind = written(triple)
        fitting = [each for each in known if each.kind.meets(kind)]
        if not fitting:
            return set()
        if all(each.loop for each in fitting):
            if not isinstance(triple.subject, Variable) or not isinstance(triple.object, Variable):
                continue
            one, other = _root(same, triple.subject), _root(same, triple.object)
            if one != other:
                same[one] = other
    for node in nodes(rule.body):
        if isinstance(node, Filter) and any(
            _root(same, one) == _root(same, other) for one, other in distinctions(node.condition)
        ):
            return set()
    given = {_merged(triple, same) for triple in premises}
    made = {_merged(triple, same) for triple in rule.head} - given
    return {Occurring(written(each), loop=each.subject == each.object) for each in made}


def distinctions(condition: Expression) -> Iterator[tuple[Variable, Variable]]:
    """The variables that a condition wants to be different terms."""
    match condition:
        case And(left, right):
            yield from distinctions(left)
            yield from distinctions(right)
        case Not(Call("SAMETERM", (Variable() as left, Variable() as right))):
            yield left, right


def _root(same: dict[Variable, Variable], variable: Variable) -> Variable:
    while variable in same:
        variable = same[variable]
    return variable


def _merged(triple: TriplePattern, same: dict[Variable, Variable]) -> TriplePattern:
    s, p, o = (
        _root(same, end) if isinstance(end, Variable) else end
        for end in (triple.subject, triple.predicate, triple.object)
    )
    return TriplePattern(s, p, o)  # type: ignore[arg-type]
