"""The plain profile: subclasses, subproperties, domains and ranges.

What the schema states are rules with one premise: all that follows from a triple is composed once
for each class and each property (:mod:`sensorstream.network.recursion.linear`).

Source: RDF 1.1 Semantics, section 9.2.1 (rdfs2, rdfs3, rdfs5, rdfs7, rdfs9, rdfs11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema, is_datatype
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import RDF_TYPE, RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF
from sensorstream.network.recursion.implied import Implied, unknown
from sensorstream.network.recursion.linear import FlatClosure, LinearRule
from sensorstream.sparql.algebra import TriplePattern, Variable

_X: Final = Variable("x")
_Y: Final = Variable("y")


class SchemaClosure:
    """Incremental materialisation of the stated schema; O(conclusions) per triple.

    With ``types=False`` only subproperties are followed: the part that a description logic reasoner
    does not return with types.
    """

    __slots__ = ("_closure", "_implied", "_schema", "lifted")

    def __init__(self, schema: Schema, *, types: bool = True) -> None:
        self.lifted = False
        self._schema = schema
        self._closure = FlatClosure(_rules(schema, types=types))
        self._implied = Implied(self._closure.conclusions)

    def start(self, kb: KnowledgeBase) -> None:
        """Close the static graph, its hierarchies of classes and properties included."""
        self._implied.clear()
        schema = self._schema
        derived: dict[Triple, None] = {}
        for predicate, closed in (
            (RDFS_SUBCLASS_OF, schema.superclasses_of),
            (RDFS_SUBPROPERTY_OF, schema.superproperties_of),
        ):
            for name, above in closed.items():
                derived.update(((name, predicate, each), None) for each in sorted(above))
        for triple in kb.triples(Origin.STATIC):
            derived.update(dict.fromkeys(self._closure.conclusions(triple)))
        kb.add(Origin.STATIC_INFERRED, derived)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        change = self.count(kb, delta)
        kb.apply(Origin.INFERRED, change)
        return change

    def count(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Update the counts of conclusions; returns the change of the inferred graph."""
        return unknown(kb, self._implied.change(delta))

    def close(self) -> None:
        """Remove all counts."""
        self._implied.clear()

    def conclusions(self, triple: Triple) -> Sequence[Triple]:
        """All conclusions of one triple under the schema."""
        return self._closure.conclusions(triple)


def _rules(schema: Schema, *, types: bool) -> Iterator[LinearRule]:
    for name in schema.superproperties_of:
        above = _nearest(name, schema.superproperties_of)
        heads = (TriplePattern(_X, each, _Y) for each in above)
        yield LinearRule("rdfs7", TriplePattern(_X, name, _Y), tuple(heads))
    if not types:
        return
    subjects, objects = _Typings(_X), _Typings(_Y)
    for name in schema.superclasses_of:
        if above := _nearest(name, schema.superclasses_of):
            yield LinearRule("rdfs9", subjects.of(name), tuple(map(subjects.of, above)))
    for name, classes in schema.domains_of.items():
        typed = tuple(subjects.of(each) for each in sorted(classes) if not is_datatype(each))
        yield LinearRule("rdfs2", TriplePattern(_X, name, _Y), typed)
    for name, classes in schema.ranges_of.items():
        typed = tuple(objects.of(each) for each in sorted(classes) if not is_datatype(each))
        yield LinearRule("rdfs3", TriplePattern(_X, name, _Y), typed)


def _nearest(name: IRI, above: Mapping[IRI, frozenset[IRI]]) -> list[IRI]:
    """The names above one without those that are above another of them, unless all are equal."""
    found = above[name]
    if len(found) > 1:
        further = (above.get(each, frozenset()) for each in found)
        found = found.difference(*(each for each in further if name not in each))
    return sorted(found)


class _Typings:
    """The patterns that give one variable its classes, each made once."""

    def __init__(self, of: Variable) -> None:
        self._variable = of
        self._made: dict[IRI, TriplePattern] = {}

    def of(self, name: IRI) -> TriplePattern:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = TriplePattern(self._variable, RDF_TYPE, name)
        return found
