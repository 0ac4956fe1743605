"""Sets aside definitions that refer to neighbours, so that islands are single individuals.

``CongestedSensor ≡ TrafficSensor and (madeObservation some Congestion)`` makes one island of a
sensor and all its observations. A class that is defined once and used by no other axiom has no
effect on other classes (its definition is a conservative extension), so it may be decided last:
from the types of an individual and of its neighbours. docs/reasoning.md has the argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_EQUIVALENT_CLASS,
    OWL_INTERSECTION_OF,
    OWL_INVERSE_OF,
    OWL_ON_PROPERTY,
    OWL_SOME_VALUES_FROM,
    OWL_THING,
    RDF_FIRST,
    RDF_REST,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.terminology import PropertyEnds, Terminology, mentions

# A property and one inverse; inverses of inverses would be the property again.
_WAYS: Final = 2
# Axioms that can make two names one individual: then neighbours are not only the asserted ones.
_EQUATING: Final = frozenset(
    {
        *(f"{OWL}{word}" for word in ("maxCardinality", "cardinality", "qualifiedCardinality")),
        *(f"{OWL}{word}" for word in ("maxQualifiedCardinality", "InverseFunctionalProperty")),
        f"{OWL}FunctionalProperty",
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """One way to a neighbour: along a property, or against it."""

    role: IRI
    forward: bool


@dataclass(frozen=True, slots=True)
class Sight:
    """Some neighbour, by one of several ways, is of a class (None: of any)."""

    ways: tuple[Step, ...]
    of: IRI | None


@dataclass(frozen=True, slots=True)
class Definition:
    """``name`` holds for an individual that is in all ``own`` classes and has all ``sights``."""

    name: IRI
    own: frozenset[IRI]
    sights: tuple[Sight, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """A terminology without linking properties, and the definitions that were set aside."""

    terminology: Terminology
    definitions: tuple[Definition, ...]


def set_apart(terminology: Terminology) -> Apart | None:
    """Set definitions aside if no property links individuals then; None if one still does."""
    if terminology.whole or terminology.named:
        return None
    if any(not _EQUATING.isdisjoint(t) for t in terminology.axioms):
        return None
    reader = _Reader(terminology)
    definitions, rest = reader.definitions()
    roles = terminology.schema.object_properties
    mentioned, ends = mentions(t for t in rest if not _tells_inverse(t))
    if roles & mentioned or any(len(reader.ways(role)) > _WAYS for role in roles):
        return None
    # An axiom about the ends of a property also holds for its inverse, with ends exchanged.
    local = {
        role: PropertyEnds(
            frozenset[IRI]().union(*(_end(ends, step, step.forward) for step in ways)),
            frozenset[IRI]().union(*(_end(ends, step, not step.forward) for step in ways)),
        )
        for role in roles
        if (ways := reader.ways(role))
    }
    return Apart(replace(terminology, linking=frozenset(), local=local), tuple(definitions))


def _tells_inverse(triple: Triple) -> bool:
    s, p, o = triple
    return p == OWL_INVERSE_OF and isinstance(s, IRI) and isinstance(o, IRI) and s != o


def _end(ends: dict[IRI, PropertyEnds], step: Step, subject: bool) -> frozenset[IRI]:
    told = ends.get(step.role, PropertyEnds())
    return told.subject if subject else told.object


class _Reader:
    def __init__(self, terminology: Terminology) -> None:
        self._terminology = terminology
        self._about: dict[Subject, list[Triple]] = {}
        self._used: dict[Term, int] = {}
        for triple in terminology.axioms:
            self._about.setdefault(triple[0], []).append(triple)
            self._used[triple[2]] = self._used.get(triple[2], 0) + 1

    def definitions(self) -> tuple[list[Definition], list[Triple]]:
        """The definitions that can be set aside, and the axioms without them."""
        found: list[Definition] = []
        aside: set[Triple] = set()
        for name in sorted(self._terminology.schema.classes):
            axioms = [t for t in self._about.get(name, ()) if t[1] != RDF_TYPE]
            if name in self._used or len(axioms) != 1 or axioms[0][1] != OWL_EQUIVALENT_CLASS:
                continue
            definition = self._definition(name, axioms[0][2])
            if definition is not None and definition.sights:
                found.append(definition)
                aside.update(axioms, self._below(axioms[0][2]))
        return found, [t for t in self._terminology.axioms if t not in aside]

    def ways(self, role: IRI) -> tuple[Step, ...]:
        """The property itself, and its stated inverses backwards."""
        inverses: set[IRI] = set()
        for s, p, o in self._terminology.axioms:
            if _tells_inverse((s, p, o)) and role in (s, o):
                inverses.update(n for n in (s, o) if isinstance(n, IRI) and n != role)
        return (Step(role, True), *(Step(each, False) for each in sorted(inverses)))

    def _definition(self, name: IRI, expression: Term) -> Definition | None:
        own: set[IRI] = set()
        sights: list[Sight] = []
        for part in self._conjuncts(expression):
            if isinstance(part, IRI):
                own.add(part)
            elif (sight := self._sight(part)) is not None:
                sights.append(sight)
            else:
                return None
        return Definition(name, frozenset(own), tuple(sights))

    def _conjuncts(self, expression: Term) -> Iterator[Term]:
        members = self._value(expression, OWL_INTERSECTION_OF)
        if members is None:
            yield expression
        while members is not None and (first := self._value(members, RDF_FIRST)) is not None:
            yield from self._conjuncts(first)
            members = self._value(members, RDF_REST)

    def _sight(self, expression: Term) -> Sight | None:
        role = self._value(expression, OWL_ON_PROPERTY)
        filler = self._value(expression, OWL_SOME_VALUES_FROM)
        if not isinstance(role, IRI) or not isinstance(filler, IRI):
            return None
        if role not in self._terminology.schema.object_properties:
            return None
        return Sight(self.ways(role), None if filler == OWL_THING else filler)

    def _value(self, node: Term, predicate: IRI) -> Term | None:
        if not isinstance(node, BlankNode):
            return None
        values = [o for _, p, o in self._about.get(node, ()) if p == predicate]
        return values[0] if len(values) == 1 else None

    def _below(self, expression: Term) -> Iterable[Triple]:
        """The triples of an expression."""
        if isinstance(expression, BlankNode):
            for triple in self._about.get(expression, ()):
                yield triple
                yield from self._below(triple[2])
