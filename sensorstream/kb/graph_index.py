"""The cache knowledge base's one index over all its graphs.

A triple is stored once; a mark says which graphs hold it. Joins therefore never merge indexes, and
the union of the graphs (the default graph of every query) is the index itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntFlag
from typing import Final, TypeAlias

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Subject, Term, Triple


class Origin(IntFlag):
    """The graph a triple belongs to (design section 4)."""

    STATIC = 1
    WINDOW = 2
    INFERRED = 4
    """Derived with triples of the window."""
    STATIC_INFERRED = 8
    """Derived from the static graph only: window changes never affect it."""


Listener: TypeAlias = Callable[[Triple, int, int], None]
GraphListener: TypeAlias = Callable[[Triple, frozenset[IRI], frozenset[IRI]], None]
_NO_GRAPHS: Final[frozenset[IRI]] = frozenset()


class KnowledgeBase:
    """Static, window and inferred graph, indexed by every access pattern.

    All operations cost O(1) per triple touched, or O(answers) for :meth:`match`. Triples of the
    window may be in named graphs of the messages besides.
    """

    __slots__ = ("_graphs", "_listeners", "_marks", "_sizes", "graph_listeners", "index")

    def __init__(self) -> None:
        self.index = TripleIndex()
        """The union of the graphs."""
        self._marks: dict[Triple, int] = {}
        self._sizes = {int(origin): 0 for origin in Origin}
        self._listeners: list[Listener] = []
        # Only triples that are in any named graph of a message.
        self._graphs: dict[Triple, frozenset[IRI]] = {}
        self.graph_listeners: list[GraphListener] = []
        """Called as ``listener(triple, old, new)`` at every change of a triple's named graphs."""

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self._marks

    def size(self, origin: Origin) -> int:
        return self._sizes[int(origin)]

    def origins(self, triple: Triple) -> Origin:
        """The graphs that hold a triple; empty if no graph holds it."""
        return Origin(self._marks.get(triple, 0))

    def marks(self, triple: Triple) -> int:
        """:meth:`origins` as a plain number, which is much faster to test."""
        return self._marks.get(triple, 0)

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(triple, old_marks, new_marks)`` at every change of a triple's marks."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def graphs(self, triple: Triple) -> frozenset[IRI]:
        """The named graphs in which messages said a triple of the window."""
        return self._graphs.get(triple, _NO_GRAPHS)

    def in_graphs(self) -> Iterator[tuple[Triple, frozenset[IRI]]]:
        """The triples that messages said in named graphs, each with these graphs."""
        return iter(self._graphs.items())

    def place(self, triple: Triple, graphs: Iterable[IRI]) -> None:
        """Put a triple of the window into exactly these named graphs: none, if it leaves it."""
        old, new = self.graphs(triple), frozenset(graphs)
        if old == new:
            return
        for listener in self.graph_listeners:
            listener(triple, old, new)
        if new:
            self._graphs[triple] = new
        else:
            del self._graphs[triple]

    def apply(self, origin: Origin, delta: Delta) -> Delta:
        """Add and remove triples of one graph; returns the change of the union of the graphs.

        A triple that another graph also holds neither appears in the union nor disappears from it.
        """
        mark = int(origin)
        removed = self._unmarked(delta.removed, mark)
        added = self._marked(delta.added, mark)
        return Delta(delta.time, tuple(added), tuple(removed))

    def visible(self, origin: Origin, delta: Delta) -> Delta:
        """Return what ``delta``, the latest change of one graph, has done to their union."""
        mark, marks = int(origin), self._marks
        return Delta(
            delta.time,
            tuple(triple for triple in delta.added if marks[triple] == mark),
            tuple(triple for triple in delta.removed if triple not in marks),
        )

    def add(self, origin: Origin, triples: Iterable[Triple]) -> None:
        self._marked(triples, int(origin))

    def triples(self, origin: Origin) -> Iterator[Triple]:
        """The triples of one graph; O(knowledge base)."""
        mark = int(origin)
        return (triple for triple, marks in self._marks.items() if marks & mark)

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples of the union that fit a pattern (None: any); read them before a change."""
        return self.index.match(subject, predicate, object_)

    def count(self, predicate: IRI, object_: Term) -> int:
        """The number of subjects with this predicate and object; O(1)."""
        return self.index.count(predicate, object_)

    def _marked(self, triples: Iterable[Triple], mark: int) -> list[Triple]:
        """Put triples into a graph; returns those that no other graph holds."""
        marks_of, listeners, add = self._marks, self._listeners, self.index.add
        new = []
        for triple in triples:
            marks = marks_of.get(triple, 0)
            if marks & mark:
                continue
            for listener in listeners:
                listener(triple, marks, marks | mark)
            marks_of[triple] = marks | mark
            self._sizes[mark] += 1
            if not marks:
                add(triple)
                new.append(triple)
        return new

    def _unmarked(self, triples: Iterable[Triple], mark: int) -> list[Triple]:
        """Take triples out of a graph; returns those that no graph holds now."""
        marks_of, listeners, discard = self._marks, self._listeners, self.index.discard
        gone = []
        for triple in triples:
            marks = marks_of.get(triple, 0)
            if not marks & mark:
                continue
            for listener in listeners:
                listener(triple, marks, marks & ~mark)
            self._sizes[mark] -= 1
            if marks != mark:
                marks_of[triple] = marks & ~mark
                continue
            discard(triple)
            del marks_of[triple]
            gone.append(triple)
        return gone
