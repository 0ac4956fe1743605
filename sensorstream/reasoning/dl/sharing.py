"""Names of one individual share what is asserted of any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.terms import Literal, Subject, Triple
from sensorstream.reasoning.dl.terminology import Terminology

_ASSERTED: Final = int(Origin.STATIC | Origin.WINDOW)

Names: TypeAlias = Mapping[Subject, frozenset[Subject]]
"""Of each individual that has several names, for each name all of them."""


class Sharing:
    """The property values that follow from equality alone.

    Left out are the properties that the reasoner is asked about, which knows of the equality.
    Values may come from another island, by a property that links nobody.
    """

    __slots__ = ("_kb", "_properties", "_roles")

    def __init__(self, kb: KnowledgeBase, terminology: Terminology) -> None:
        schema = terminology.schema
        self._kb = kb
        self._roles = terminology.roles
        self._properties = schema.object_properties | schema.datatype_properties
        self._properties -= frozenset(terminology.probes.roles)

    def affected(self, nodes: Iterable[Subject], before: Names, after: Names) -> set[Subject]:
        """The names whose shares may change when those of ``nodes`` or their assertions do."""
        found: set[Subject] = set()
        for node in nodes:
            for names in (before, after):
                for name in names.get(node, ()):
                    found.add(name)
                    # What is shared with an object depends on the names of the subject.
                    for _, p, o in self._kb.match(name, None, None):
                        if p in self._properties and not isinstance(o, Literal):
                            found.update(after.get(o, ()))
        return found

    def of(self, node: Subject, names: Names) -> Iterator[Triple]:
        """What one name shares with the others of its individual."""
        for other in names.get(node, frozenset()) - {node}:
            for _, p, o in self._asserted(self._kb.match(other, None, None)):
                yield from self._with_conclusions((node, p, o))
            for s, p, _ in self._asserted(self._kb.match(None, None, other)):
                for name in names.get(s, (s,)):
                    yield from self._with_conclusions((name, p, node))

    def _asserted(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        for triple in triples:
            if triple[1] in self._properties and self._kb.marks(triple) & _ASSERTED:
                yield triple

    def _with_conclusions(self, triple: Triple) -> Iterator[Triple]:
        yield triple
        yield from self._roles.conclusions(triple)
