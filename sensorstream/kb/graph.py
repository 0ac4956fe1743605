"""The cache knowledge base's one index over all its graphs.

A triple is stored once; a mark says which graphs hold it. Joins therefore never merge
indexes, and the union of the graphs (the default graph of every query) is the index itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntFlag
from typing import TypeAlias, TypeVar

from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Subject, Term, Triple


class Origin(IntFlag):
    """The graph a triple belongs to (design section 4)."""

    STATIC = 1
    WINDOW = 2
    INFERRED = 4
    """Derived with the window's help."""
    STATIC_INFERRED = 8
    """Derived from the static graph alone: window changes never touch it."""


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Index: TypeAlias = dict[A, dict[B, dict[C, None]]]
Listener: TypeAlias = Callable[[Triple, int, int], None]


class KnowledgeBase:
    """Static, window and inferred graph, indexed by every access pattern.

    All operations cost O(1) per triple touched, or O(answers) for :meth:`match`.
    """

    __slots__ = ("_listeners", "_marks", "_osp", "_pos", "_sizes", "_spo")

    def __init__(self) -> None:
        self._marks: dict[Triple, int] = {}
        self._spo: Index[Subject, IRI, Term] = {}
        self._pos: Index[IRI, Term, Subject] = {}
        self._osp: Index[Term, Subject, IRI] = {}
        self._sizes = {int(origin): 0 for origin in Origin}
        self._listeners: list[Listener] = []

    def __len__(self) -> int:
        return len(self._marks)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self._marks

    def size(self, origin: Origin) -> int:
        """The number of triples of one graph."""
        return self._sizes[int(origin)]

    def origins(self, triple: Triple) -> Origin:
        """The graphs that hold a triple; empty when none does."""
        return Origin(self._marks.get(triple, 0))

    def marks(self, triple: Triple) -> int:
        """:meth:`origins` as a plain number, which is a good deal faster to test."""
        return self._marks.get(triple, 0)

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(triple, old_marks, new_marks)`` at every change of a triple's marks."""
        self._listeners.append(listener)

    def apply(self, origin: Origin, delta: Delta) -> Delta:
        """Add and remove triples of one graph.

        Returns:
            What changed in the union of the graphs: a triple that another graph holds too
            neither appears nor disappears.
        """
        mark = int(origin)
        removed = [t for t in delta.removed if self._unmark(t, mark)]
        added = [t for t in delta.added if self._mark(t, mark)]
        return Delta(delta.time, tuple(added), tuple(removed))

    def add(self, origin: Origin, triples: Iterable[Triple]) -> None:
        """Load triples into one graph."""
        mark = int(origin)
        for triple in triples:
            self._mark(triple, mark)

    def triples(self, origin: Origin) -> Iterator[Triple]:
        """All triples of one graph; O(knowledge base)."""
        mark = int(origin)
        return (triple for triple, marks in self._marks.items() if marks & mark)

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples of the union that fit a pattern; None stands for anything.

        The knowledge base must not change while the answer is read.
        """
        s, p, o = subject, predicate, object_
        if s is not None:
            if p is not None:
                objects = self._spo.get(s, {}).get(p, {})
                if o is None:
                    return ((s, p, each) for each in objects)
                return iter([(s, p, o)] if o in objects else [])
            if o is not None:
                return ((s, each, o) for each in self._osp.get(o, {}).get(s, {}))
            return ((s, each, v) for each, vs in self._spo.get(s, {}).items() for v in vs)
        if p is not None:
            if o is not None:
                return ((each, p, o) for each in self._pos.get(p, {}).get(o, {}))
            return ((each, p, v) for v, ss in self._pos.get(p, {}).items() for each in ss)
        if o is not None:
            return ((each, v, o) for each, vs in self._osp.get(o, {}).items() for v in vs)
        return iter(self._marks)

    def count(self, predicate: IRI, object_: Term) -> int:
        """How many subjects have this predicate and object; O(1)."""
        return len(self._pos.get(predicate, {}).get(object_, ()))

    def _mark(self, triple: Triple, mark: int) -> bool:
        marks = self._marks.get(triple, 0)
        if marks & mark:
            return False
        for listener in self._listeners:
            listener(triple, marks, marks | mark)
        self._marks[triple] = marks | mark
        self._sizes[mark] += 1
        if marks:
            return False
        s, p, o = triple
        self._spo.setdefault(s, {}).setdefault(p, {})[o] = None
        self._pos.setdefault(p, {}).setdefault(o, {})[s] = None
        self._osp.setdefault(o, {}).setdefault(s, {})[p] = None
        return True

    def _unmark(self, triple: Triple, mark: int) -> bool:
        marks = self._marks.get(triple, 0)
        if not marks & mark:
            return False
        for listener in self._listeners:
            listener(triple, marks, marks & ~mark)
        self._sizes[mark] -= 1
        if marks != mark:
            self._marks[triple] = marks & ~mark
            return False
        del self._marks[triple]
        s, p, o = triple
        _discard(self._spo, s, p, o)
        _discard(self._pos, p, o, s)
        _discard(self._osp, o, s, p)
        return True


def _discard(index: Index[A, B, C], first: A, second: B, third: C) -> None:
    middle = index[first]
    last = middle[second]
    del last[third]
    if not last:
        del middle[second]
        if not middle:
            del index[first]
