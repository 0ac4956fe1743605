"""The cache knowledge base's one index over all its graphs.

A triple is stored once; marks say which graphs hold it, unless that is the window alone. So joins
never merge indexes, and the union (the default graph of every query) is the index itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntFlag
from typing import Final, TypeAlias

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple


class Origin(IntFlag):
    """The graph a triple belongs to (design section 4)."""

    STATIC = 1
    WINDOW = 2
    INFERRED = 4
    """Derived with triples of the window."""
    STATIC_INFERRED = 8
    """Derived from the static graph only: window changes never affect it."""


Listener: TypeAlias = Callable[[Sequence[Triple], int, int], None]
GraphListener: TypeAlias = Callable[[Triple, frozenset[IRI], frozenset[IRI]], None]
_NO_GRAPHS: Final[frozenset[IRI]] = frozenset()
_WINDOW: Final = int(Origin.WINDOW)
_FIXED: Final = int(Origin.STATIC | Origin.STATIC_INFERRED)


class KnowledgeBase:
    """Static, window and inferred graph, indexed by every access pattern.

    All operations cost O(1) per triple touched, or O(answers) for :meth:`match`. Triples of the
    window may be in named graphs of the messages besides.
    """

    def __init__(self, begun: KnowledgeBase | None = None) -> None:
        """``begun`` is one whose triples it begins with, and shares: static ones."""
        self.index: TripleIndex = TripleIndex() if begun is None else begun.index.copy()
        """The union of the graphs."""
        self.match = self.index.match
        """The triples of the union that fit a pattern (None: any); read them before a change."""
        self.count = self.index.count
        self._marks: dict[Triple, int] = {}
        # Those of what is shared, as long as they are so.
        self._static: Mapping[Triple, int] = {}
        self._sizes = {int(origin): 0 for origin in Origin}
        if begun is not None:
            self._static, self._sizes = begun._marks, begun._sizes.copy()  # noqa: SLF001
        self._listeners: list[Listener] = []
        # Only triples that are in any named graph of a message.
        self._graphs: dict[Triple, frozenset[IRI]] = {}
        self.graph_listeners: list[GraphListener] = []
        """Called as ``listener(triple, old, new)`` at every change of a triple's named graphs."""

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self.index

    def size(self, origin: Origin) -> int:
        return self._sizes[int(origin)]

    def origins(self, triple: Triple) -> Origin:
        """The graphs that hold a triple; empty if no graph holds it."""
        return Origin(self.marks(triple))

    def marks(self, triple: Triple) -> int:
        """:meth:`origins` as a plain number, which is much faster to test."""
        found = self._marks.get(triple)
        if found is None:
            return self._static.get(triple, _WINDOW) if triple in self.index else 0
        return found

    def fixed(self, triple: Triple) -> int:
        """Whether the window can never take a triple away."""
        return self.marks(triple) & _FIXED

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(triples, old_marks, new_marks)`` at every change of triples' marks."""
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
        removed = self._moved(delta.removed, mark, into=False)
        added = self._moved(delta.added, mark, into=True)
        if len(added) == len(delta.added) and len(removed) == len(delta.removed):
            return delta
        return Delta(delta.time, tuple(added), tuple(removed))

    def visible(self, origin: Origin, delta: Delta) -> Delta:
        """Return what ``delta``, the latest change of one graph, has done to their union."""
        mark, marks = int(origin), self.marks
        return Delta(
            delta.time,
            tuple([triple for triple in delta.added if marks(triple) == mark]),
            tuple([triple for triple in delta.removed if not marks(triple)]),
        )

    def add(self, origin: Origin, triples: Iterable[Triple]) -> None:
        self._moved(tuple(dict.fromkeys(triples)), int(origin), into=True)

    def triples(self, origin: Origin) -> Iterator[Triple]:
        """The triples of one graph; O(knowledge base)."""
        mark, marked = int(origin), {**self._static, **self._marks}
        held = self.index if mark & _WINDOW else marked
        return (triple for triple in held if marked.get(triple, _WINDOW) & mark)

    def among(self, triples: Iterable[Triple], marks: int) -> dict[Triple, int]:
        """The marks of those triples that have any of these: not the window's."""
        known, static = self._marks, self._static
        found = [(triple, known.get(triple) or static.get(triple, 0)) for triple in triples]
        return {triple: held for triple, held in found if held & marks}

    def _moved(self, triples: Sequence[Triple], mark: int, *, into: bool) -> Sequence[Triple]:
        """Put triples into a graph, or take them out; returns those that no other graph holds."""
        if mark & _FIXED and not into and self._static:
            self._marks, self._static = {**self._static, **self._marks}, {}
        known, static, listeners, sizes = self._marks, self._static, self._listeners, self._sizes
        # As most that stream, triples that are in no other graph; that one is the window, only the
        # index knows.
        if into:
            alone = self.index.add(*triples)
            if mark != _WINDOW:
                known.update(dict.fromkeys(alone, mark))
        elif mark == _WINDOW:
            plain = [each for each in triples if each not in known and each not in static]
            alone = self.index.discard(*plain)
        else:
            alone = self.index.discard(*[each for each in triples if known.get(each) == mark])
            for triple in alone:
                del known[triple]
        step, (old, new) = (1, (0, mark)) if into else (-1, (mark, 0))
        sizes[mark] += step * len(alone)
        for listener in listeners if alone else ():
            listener(alone, old, new)
        if len(alone) == len(triples):
            return triples
        moved = dict.fromkeys(alone)
        for triple in triples:
            old = 0 if triple in moved else self.marks(triple)
            if not old or bool(old & mark) is into:
                continue
            new = old ^ mark
            for listener in listeners:
                listener((triple,), old, new)
            sizes[mark] += step
            if new == _WINDOW:
                known.pop(triple, None)
            else:
                known[triple] = new
        return [triple for triple in triples if triple in moved]
