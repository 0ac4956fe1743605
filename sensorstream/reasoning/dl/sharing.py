"""The names of one individual share the assertions about any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.terms import Literal, Subject, Triple
from sensorstream.reasoning.dl.terminology import Terminology

_ASSERTED: Final = int(Origin.STATIC | Origin.WINDOW)

Names: TypeAlias = Mapping[Subject, frozenset[Subject]]
"""For each name of an individual with several names, all its names."""


class Sharing:
    """The property values that follow from equality alone.

    Properties that the reasoner answers are left out, because it knows the equality. Values may
    come from another island, through a property that does not link.
    """

    __slots__ = ("_kb", "_properties", "_roles")

    def __init__(self, kb: KnowledgeBase, terminology: Terminology) -> None:
        schema = terminology.schema
        self._kb = kb
        self._roles = terminology.roles
        self._properties = schema.object_properties | schema.datatype_properties
        self._properties -= frozenset(terminology.probes.roles)

    def affected(self, nodes: Iterable[Subject], before: Names, after: Names) -> set[Subject]:
        """The names whose shared triples may change when ``nodes`` or their assertions change."""
        found: set[Subject] = set()
        for node in nodes:
            for names in (before, after):
                for name in names.get(node, ()):
                    found.add(name)
                    # The triples shared with an object depend on the names of the subject.
                    for _, p, o in self._kb.match(name, None, None):
                        if p in self._properties and not isinstance(o, Literal):
                            found.update(after.get(o, ()))
        return found

    def of(self, node: Subject, names: Names) -> Iterator[Triple]:
        """The triples that one name shares with the other names of its individual."""
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
