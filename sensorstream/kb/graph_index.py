"""One graph of the knowledge base as a separate index."""

from __future__ import annotations

from typing import Final

from sensorstream.kb.changes import ALL_GRAPHS
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Triple

GRAPH_MARKS: Final = {name: marks for marks, name in ALL_GRAPHS if name is not None}
"""The marks of the triples of each named graph."""


class GraphIndex:
    """Follows one named graph; O(1) per change of it. For queries that read that graph."""

    __slots__ = ("_kb", "_marks", "index")

    def __init__(self, kb: KnowledgeBase, name: IRI) -> None:
        self.index = TripleIndex()
        self._kb = kb
        self._marks = GRAPH_MARKS[name]
        for triple in kb.match(None, None, None):
            self._note(triple, 0, kb.marks(triple))
        kb.subscribe(self._note)

    def _note(self, triple: Triple, old: int, new: int) -> None:
        before, now = old & self._marks, new & self._marks
        if now and not before:
            self.index.add(triple)
        elif before and not now:
            self.index.discard(triple)

    def close(self) -> None:
        """Stop following the graph."""
        self._kb.unsubscribe(self._note)
