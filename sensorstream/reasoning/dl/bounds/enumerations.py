"""Neighbours that are one of a few named individuals.

``A ⊑ ∃r.C`` with ``C ⊑ {a, b}`` says that ``r(x, a)`` or ``r(x, b)``. So the upper bound needs no
name for a neighbour, which would be a and b, and would make them the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.bounds.clauses import Alternative, Clause
from sensorstream.reasoning.dl.bounds.foreseen import Certain, Row, ground
from sensorstream.sparql.algebra import PatternTerm, TriplePattern


@dataclass(frozen=True, slots=True)
class Enumerations:
    """The classes that have no other members than the listed ones."""

    members: Mapping[IRI, tuple[IRI, ...]]
    _certain: Certain

    def unfold(self, clause: Clause) -> Clause:
        """The clause with an alternative for each individual that an unnamed one may be."""
        if not any(len(head.unnamed) == 1 for head in clause.heads):
            return clause
        heads = [each for head in clause.heads for each in self._unfolded(head)]
        return replace(clause, heads=tuple(dict.fromkeys(heads)))

    def _unfolded(self, head: Alternative) -> Iterable[Alternative]:
        listed = self._listed(head) if len(head.unnamed) == 1 and self.members else None
        if listed is None:
            return [head]
        (unnamed,) = head.unnamed

        def named(end: PatternTerm, name: IRI) -> PatternTerm:
            return name if end == unnamed else end

        return [
            Alternative(
                tuple(
                    TriplePattern(named(t.subject, name), t.predicate, named(t.object, name))
                    for t in head.triples
                )
            )
            for name in listed
        ]

    def _listed(self, head: Alternative) -> tuple[IRI, ...] | None:
        """The individuals that the unnamed one of an alternative may be; the fewest known."""
        names: Row = {}
        facts = [ground(triple, names) for triple in head.triples]
        one = names[head.unnamed[0]]
        found = [
            self.members[o]
            for s, p, o in self._certain.closure(facts)
            if s == one and p == RDF_TYPE and isinstance(o, IRI) and o in self.members
        ]
        return min(found, key=lambda each: (len(each), each), default=None)


def enumerations(clauses: Iterable[Clause]) -> Enumerations:
    """What the clauses enumerate."""
    clauses = tuple(clauses)
    members: dict[IRI, tuple[IRI, ...]] = {}
    for clause in clauses:
        if len(clause.body) != 1 or clause.body[0].predicate != RDF_TYPE or not clause.heads:
            continue
        one, of_class = clause.body[0].subject, clause.body[0].object
        names = [_name(head, one) for head in clause.heads]
        if isinstance(of_class, IRI) and None not in names:
            found = tuple(name for name in names if name is not None)
            if of_class not in members or len(found) < len(members[of_class]):
                members[of_class] = found
    return Enumerations(members, Certain(clauses))


def _name(head: Alternative, one: PatternTerm) -> IRI | None:
    """The individual that the alternative says this is."""
    (triple, *more) = head.triples
    if more or triple.predicate != OWL_SAME_AS or triple.subject != one:
        return None
    return triple.object if isinstance(triple.object, IRI) else None
