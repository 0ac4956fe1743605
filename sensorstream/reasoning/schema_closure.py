"""The plain profile: subclasses, subproperties, domains and ranges.

The schema is joined once, when it is loaded: at run time there is, per class and per property, a
flat list of everything that a triple with it implies. No conclusion is a premise of another, so
counting how many window triples imply a conclusion retracts exactly.

Source: RDF 1.1 Semantics, section 9.2.1 (rdfs2, rdfs3, rdfs5, rdfs7, rdfs9, rdfs11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema, is_datatype
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.vocabulary import RDF_TYPE, RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF


@dataclass(frozen=True, slots=True)
class _Implied:
    """The implications of a triple with one property, without its ends."""

    properties: tuple[IRI, ...]
    subject_types: tuple[IRI, ...]
    object_types: tuple[IRI, ...]


class SchemaClosure:
    """Incremental materialisation of the stated schema; O(conclusions) per triple.

    With ``types=False`` only subproperties are followed: the part that a description logic reasoner
    does not return with types.
    """

    __slots__ = ("_counts", "_of_class", "_of_property", "_schema", "_types")

    def __init__(self, schema: Schema, *, types: bool = True) -> None:
        self._schema = schema
        self._types = types
        self._counts: dict[Triple, int] = {}
        self._of_class: dict[Term, tuple[IRI, ...]] = {}
        if types:
            self._of_class = {c: _sorted(up) for c, up in schema.superclasses_of.items() if up}
        self._of_property: dict[IRI, _Implied] = {}
        told = (schema.superproperties_of, schema.domains_of, schema.ranges_of)
        for name in {p for each in told for p in each}:
            implied = _Implied(
                _sorted(schema.superproperties(name)),
                self._upward(schema.domains(name)),
                self._upward(schema.ranges(name)),
            )
            if implied.properties or implied.subject_types or implied.object_types:
                self._of_property[name] = implied

    def start(self, kb: KnowledgeBase) -> None:
        """Close the static graph, its hierarchies of classes and properties included."""
        self._counts.clear()
        schema = self._schema
        derived: dict[Triple, None] = {}
        for predicate, closed in (
            (RDFS_SUBCLASS_OF, schema.superclasses_of),
            (RDFS_SUBPROPERTY_OF, schema.superproperties_of),
        ):
            for name, above in closed.items():
                derived.update(((name, predicate, each), None) for each in _sorted(above))
        for triple in kb.triples(Origin.STATIC):
            derived.update((each, None) for each in self.conclusions(triple))
        kb.add(Origin.STATIC_INFERRED, derived)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        change = self.count(delta)
        kb.apply(Origin.INFERRED, change)
        return change

    def count(self, delta: Delta) -> Delta:
        """Update the counts of conclusions; returns the change of the inferred graph."""
        counts = self._counts
        before: dict[Triple, bool] = {}
        for triple in delta.removed:
            for each in self.conclusions(triple):
                count = counts[each]
                before.setdefault(each, True)
                if count == 1:
                    del counts[each]
                else:
                    counts[each] = count - 1
        for triple in delta.added:
            for each in self.conclusions(triple):
                count = counts.get(each, 0)
                before.setdefault(each, count > 0)
                counts[each] = count + 1
        return Delta(
            delta.time,
            added=tuple(t for t, was in before.items() if not was and t in counts),
            removed=tuple(t for t, was in before.items() if was and t not in counts),
        )

    def close(self) -> None:
        """Remove all counts."""
        self._counts.clear()

    def conclusions(self, triple: Triple) -> Iterator[Triple]:
        """All conclusions of one triple under the schema.

        A conclusion may occur twice; it occurs the same number of times at each call.
        """
        subject, predicate, object_ = triple
        if predicate == RDF_TYPE:
            for above in self._of_class.get(object_, ()):
                yield (subject, RDF_TYPE, above)
            return
        implied = self._of_property.get(predicate)
        if implied is None:
            return
        for name in implied.properties:
            yield (subject, name, object_)
        for name in implied.subject_types:
            yield (subject, RDF_TYPE, name)
        if implied.object_types and not isinstance(object_, Literal):
            for name in implied.object_types:
                yield (object_, RDF_TYPE, name)

    def _upward(self, classes: frozenset[IRI]) -> tuple[IRI, ...]:
        if not self._types:
            return ()
        known = {each for each in classes if not is_datatype(each)}
        return _sorted(known.union(*map(self._schema.superclasses, known)))


def _sorted(names: Iterable[IRI]) -> tuple[IRI, ...]:
    return tuple(sorted(names))
