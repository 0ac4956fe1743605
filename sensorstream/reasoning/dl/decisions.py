"""Decides the definitions that were set aside, incrementally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.terms import IRI, Literal, Subject, Triple
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.neighbours import Apart, Definition, Sight
from sensorstream.reasoning.dl.terminology import Terminology

_NONE: Final[frozenset[IRI]] = frozenset()


class Decisions:
    """Which of the definitions set aside hold for which individual.

    Per individual only the types that some definition uses are kept.
    """

    __slots__ = ("_definitions", "_relevant", "_seen", "names", "terminology")

    def __init__(self, apart: Apart) -> None:
        self.terminology: Terminology = apart.terminology
        self.names = frozenset(d.name for d in apart.definitions)
        self._definitions = apart.definitions
        self._relevant = frozenset(each for d in apart.definitions for each in d.own)
        self._relevant |= {s.of for d in apart.definitions for s in d.sights if s.of is not None}
        self._seen: dict[Subject, frozenset[IRI]] = {}

    def are_spoilt_by(self, triples: Iterable[Triple]) -> bool:
        """Whether an assertion makes it unsound to decide the definitions last.

        Equality makes individuals neighbours that are not linked; a definition that is asserted,
        not derived, implies facts about the neighbours.
        """
        return any(p == OWL_SAME_AS or (p == RDF_TYPE and o in self.names) for _, p, o in triples)

    def update(
        self, kb: KnowledgeBase, found: Mapping[Subject, frozenset[IRI]]
    ) -> dict[Subject, frozenset[IRI]]:
        """Take in the entailed types of changed individuals.

        Returns:
            For each of them, and for each individual with a neighbour whose types changed, the
            names of all definitions that hold.
        """
        affected = dict.fromkeys(found)
        for node, types in found.items():
            relevant = types & self._relevant
            if relevant != self._seen.get(node, _NONE):
                affected.update(dict.fromkeys(self._onlookers(kb, node)))
                if relevant:
                    self._seen[node] = relevant
                else:
                    del self._seen[node]
        return {
            node: frozenset(d.name for d in self._definitions if self._holds(kb, node, d))
            for node in affected
        }

    def _holds(self, kb: KnowledgeBase, node: Subject, definition: Definition) -> bool:
        return definition.own <= self._seen.get(node, _NONE) and all(
            any(
                sight.of is None or sight.of in self._seen.get(other, _NONE)
                for other in _neighbours(kb, node, sight)
            )
            for sight in definition.sights
        )

    def _onlookers(self, kb: KnowledgeBase, node: Subject) -> Iterator[Subject]:
        for definition in self._definitions:
            for sight in definition.sights:
                yield from _neighbours(kb, node, sight, backward=True)


def _neighbours(
    kb: KnowledgeBase, node: Subject, sight: Sight, *, backward: bool = False
) -> Iterator[Subject]:
    # No triple of these properties can be derived, so each of them is an assertion.
    for way in sight.ways:
        if way.forward != backward:
            for _, _, other in kb.match(node, way.role, None):
                if not isinstance(other, Literal):
                    yield other
        else:
            for other, _, _ in kb.match(None, way.role, node):
                yield other
