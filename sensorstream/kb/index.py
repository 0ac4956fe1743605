"""A set of triples, indexed by every access pattern, that others can watch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias, TypeVar

from sensorstream.model.terms import IRI, Subject, Term, Triple

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Index: TypeAlias = dict[A, dict[B, dict[C, None]]]


class Watcher(Protocol):
    """Sees every change of an index while the triple is in it: after it came, before it goes."""

    def added(self, triple: Triple) -> None:
        """The triple has just become a member."""

    def removed(self, triple: Triple) -> None:
        """The triple is about to leave."""


class TripleIndex:
    """A set of triples; O(1) per change, O(answers) per question.

    ``spo``, ``pos`` and ``osp`` are read directly by compiled queries; nobody else writes them.
    """

    __slots__ = ("_size", "osp", "pos", "spo", "watchers")

    def __init__(self) -> None:
        self.spo: Index[Subject, IRI, Term] = {}
        self.pos: Index[IRI, Term, Subject] = {}
        self.osp: Index[Term, Subject, IRI] = {}
        self.watchers: list[Watcher] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, triple: Triple) -> bool:
        s, p, o = triple
        return o in self.spo.get(s, {}).get(p, {})

    def __iter__(self) -> Iterator[Triple]:
        return ((s, p, o) for s, ps in self.spo.items() for p, os in ps.items() for o in os)

    def add(self, triple: Triple) -> None:
        """Take in a triple that is not there."""
        s, p, o = triple
        self.spo.setdefault(s, {}).setdefault(p, {})[o] = None
        self.pos.setdefault(p, {}).setdefault(o, {})[s] = None
        self.osp.setdefault(o, {}).setdefault(s, {})[p] = None
        self._size += 1
        for watcher in self.watchers:
            watcher.added(triple)

    def discard(self, triple: Triple) -> None:
        """Take out a triple that is there."""
        for watcher in self.watchers:
            watcher.removed(triple)
        s, p, o = triple
        _discard(self.spo, s, p, o)
        _discard(self.pos, p, o, s)
        _discard(self.osp, o, s, p)
        self._size -= 1

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples that fit a pattern; None stands for anything.

        The index must not change while the answer is read.
        """
        s, p, o = subject, predicate, object_
        if s is not None:
            if p is not None:
                objects = self.spo.get(s, {}).get(p, {})
                if o is None:
                    return ((s, p, each) for each in objects)
                return iter([(s, p, o)] if o in objects else [])
            if o is not None:
                return ((s, each, o) for each in self.osp.get(o, {}).get(s, {}))
            return ((s, each, v) for each, vs in self.spo.get(s, {}).items() for v in vs)
        if p is not None:
            if o is not None:
                return ((each, p, o) for each in self.pos.get(p, {}).get(o, {}))
            return ((each, p, v) for v, ss in self.pos.get(p, {}).items() for each in ss)
        if o is not None:
            return ((each, v, o) for each, vs in self.osp.get(o, {}).items() for v in vs)
        return iter(self)

    def count(self, predicate: IRI, object_: Term) -> int:
        """How many subjects have this predicate and object; O(1)."""
        return len(self.pos.get(predicate, {}).get(object_, ()))


def _discard(index: Index[A, B, C], first: A, second: B, third: C) -> None:
    middle = index[first]
    last = middle[second]
    del last[third]
    if not last:
        del middle[second]
        if not middle:
            del index[first]
