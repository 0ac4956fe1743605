"""A stream as its occurrences, stored once, and the scopes of windows on them.

An *occurrence* is a triple that happens in an interval ``[start, end]``. A stream is a sequence of
occurrences, where a graph is a set of triples: the same triple may occur many times. Each
occurrence has a number, counted from 1; the *scope* of a window is the occurrences after a number,
and its *content* the set of their triples. All windows that see a stream change at the same moments
share one :class:`OccurrenceIndex`, so that a thousand windows of different lengths store and index
each triple once.

A scope of a length of time need not be moved at each event that it loses: its reader brings it up
to date (:meth:`WindowScope.catch_up`). The widest follows each event, so that no more is stored.

Source: RSP-QL, section 4 (streams, windows); SECRET (Botan et al., 2010) for *scope*, *content*.
"""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from sensorstream.kb.triple_index import Index, TripleIndex, Watcher
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant

_NEVER: Final = sys.maxsize
_length = attrgetter("length")


@frozen
class StreamElement:
    """The content of one event: a graph with the interval in which it holds."""

    time: Instant
    end: Instant
    triples: Sequence[Triple]


class _Stored(NamedTuple):
    """A stream element and the number of its last occurrence."""

    time: Instant
    end: Instant
    triples: Sequence[Triple]
    last: int


class OccurrenceIndex:
    """The occurrences that are in at least one scope, and an index of their triples.

    ``index`` holds those triples of the widest scope that some pattern reads (:meth:`read`),
    ``latest`` the number of the latest occurrence of each. ``watchers`` see a triple each time it
    occurs: as added, and before that as removed if it was there already; they do not see it expire,
    since every scope has its own expiry. O(triples) per event, and O(1) per scope with watchers.
    """

    def __init__(self) -> None:
        self.index = TripleIndex()
        self.latest: dict[Triple, int] = {}
        self.number = 0
        """The number of the last occurrence."""
        self.replaced = _NEVER
        """The number of an added triple's last occurrence, or 0, while watchers get the triple."""
        self.present: Instant | None = None
        """The latest time at which something happened, or left a scope."""
        self.scopes: list[WindowScope] = []
        """The scopes of a number of occurrences, which their owners move."""
        self.timed: list[WindowScope] = []
        """The scopes of a length of time, the widest last; ``scopes`` get a triple before them."""
        self.watchers: list[Watcher] = []
        # Elements by their own numbers, from first to _next - 1.
        self._elements: dict[int, _Stored] = {}
        self.first = 0
        """The number of the oldest element that is stored."""
        self._next = 0
        # By predicate and object (None: any), how many patterns read such triples.
        self._reads: dict[Term | None, dict[Term | None, int]] = {}

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        """Keep such triples in the index (None: any); O(1) if they are kept, else O(stream)."""
        objects = self._reads.setdefault(predicate, {})
        objects[object_] = objects.get(object_, 0) + 1
        if objects[object_] > 1:
            return
        latest, index, number = self.latest, self.index, self.floor
        for element in self._elements.values():
            for triple in element.triples:
                number += 1
                if predicate in (None, triple[1]) and object_ in (None, triple[2]):
                    if triple not in latest:
                        index.add(triple)
                    latest[triple] = number

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        """Stop one reading that :meth:`read` began."""
        objects = self._reads[predicate]
        objects[object_] -= 1
        if not objects[object_]:
            del objects[object_]
            if not objects:
                del self._reads[predicate]

    @property
    def spo(self) -> Index[Subject, IRI, Term]:
        """The index in which watchers look up subjects."""
        return self.index.spo

    def take(self, element: StreamElement) -> None:
        """Append an event, whose time is not before that of the last event."""
        triples = element.triples
        latest, index, watchers = self.latest, self.index, self.watchers
        scopes = [*self.scopes, *self.timed]
        watched = [scope for scope in scopes if scope.watchers]
        self.present = element.time
        number, reads = self.number, self._reads
        for triple in triples:
            number += 1
            objects = reads.get(triple[1])
            if (
                objects is None or (None not in objects and triple[2] not in objects)
            ) and None not in reads:
                continue
            old = latest.get(triple)
            if old is not None:
                for watcher in watchers:
                    watcher.changed((triple,), False)
            latest[triple] = number
            if old is None:
                index.add(triple)
            for watcher in watchers:
                watcher.changed((triple,), True)
            self.replaced = 0 if old is None else old
            for scope in watched:
                if self.replaced <= scope.low:
                    for watcher in scope.watchers:
                        watcher.changed((triple,), True)
        self.replaced = _NEVER
        self.number = number
        self._elements[self._next] = _Stored(element.time, element.end, triples, number)
        self._next += 1
        if self.timed:
            self.timed[-1].catch_up()

    def open(self, length: int | None = None) -> WindowScope:
        """Make a scope that sees all that is stored; with ``length``, a scope of that time."""
        scope = WindowScope(self, self.floor, self.first, length)
        if length is None:
            self.scopes.append(scope)
        else:
            insort(self.timed, scope, key=_length)
        return scope

    def close(self, scope: WindowScope) -> None:
        """Forget a scope, and what only this scope saw."""
        (self.scopes if scope.length is None else self.timed).remove(scope)
        if self.timed:
            self.timed[-1].catch_up()
        self.trim()

    @property
    def empty(self) -> bool:
        return not self._elements

    def element(self, number: int) -> _Stored | None:
        """An element by its number; None if it does not exist yet."""
        return self._elements.get(number)

    def time_of(self, number: int) -> Instant:
        """The time of a stored occurrence; O(log n)."""
        first, until = self.first, self._next
        while first < until:
            middle = (first + until) // 2
            if self._elements[middle].last < number:
                first = middle + 1
            else:
                until = middle
        return self._elements[first].time

    def elements(self) -> Iterator[StreamElement]:
        """The stored elements, oldest first."""
        return (StreamElement(e.time, e.end, e.triples) for e in self._elements.values())

    def after(self, low: int) -> Iterator[Triple]:
        """The triples that occurred after a number, oldest first."""
        number = self.floor
        for element in self._elements.values():
            for triple in element.triples:
                number += 1
                if number > low:
                    yield triple

    @property
    def floor(self) -> int:
        """The number of the last occurrence that is not stored any more, or a greater one."""
        stored = self._elements.get(self.first)
        return self.number if stored is None else stored.last - len(stored.triples)

    def trim(self) -> None:
        """Forget the elements that no scope sees any more."""
        until = min([scope.at for scope in (*self.scopes, *self.timed[-1:])], default=self._next)
        latest, index = self.latest, self.index
        while self.first < until:
            stored = self._elements.pop(self.first)
            number = stored.last - len(stored.triples)
            for triple in stored.triples:
                number += 1
                if latest.get(triple) == number:
                    index.discard(triple)
                    del latest[triple]
            self.first += 1


class WindowScope:
    """The occurrences after number ``low``: the scope of one window on a stream.

    ``watchers`` see each triple that is read and enters the content or leaves it, while it is in
    it; ``followers`` are called once whenever ``low`` has changed. Iteration and :meth:`size` give
    the content; ``in`` and :meth:`match` those triples of it that some pattern reads. ``spo``,
    ``pos`` and ``osp`` are indexes of the widest scope: a superset of the content, so readers
    compare the number of each triple with ``low``. A scope with a ``length`` of time may lag
    behind, see :meth:`catch_up`.
    """

    __slots__ = ("at", "followers", "length", "low", "occurrences", "watchers")

    def __init__(
        self, occurrences: OccurrenceIndex, low: int, at: int, length: int | None = None
    ) -> None:
        self.occurrences = occurrences
        self.length = length
        self.low = low
        self.watchers: list[Watcher] = []
        self.followers: list[Callable[[], None]] = []
        self.at = at
        """The number of the oldest element that is in the scope, at least in part."""

    @property
    def spo(self) -> Index[Subject, IRI, Term]:
        return self.occurrences.index.spo

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        self.occurrences.read(predicate, object_)

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        self.occurrences.unread(predicate, object_)

    @property
    def pos(self) -> Index[IRI, Term, Subject]:
        return self.occurrences.index.pos

    @property
    def osp(self) -> Index[Term, Subject, IRI]:
        return self.occurrences.index.osp

    def __contains__(self, triple: Triple) -> bool:
        return self.occurrences.latest.get(triple, 0) > self.low

    def __iter__(self) -> Iterator[Triple]:
        return iter(dict.fromkeys(self.occurrences.after(self.low)))

    def __len__(self) -> int:
        """The number of occurrences, which is at least the number of triples."""
        return self.occurrences.number - self.low

    def size(self) -> int:
        """The number of triples of the content; O(stream)."""
        return sum(1 for _ in self)

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """The triples of the content that fit a pattern; None matches any term."""
        found = self.occurrences.index.match(subject, predicate, object_)
        return (triple for triple in found if triple in self)

    def count(self, predicate: IRI, object_: Term) -> int:
        """The number of subjects with this predicate and object in the widest scope; O(1)."""
        return self.occurrences.index.count(predicate, object_)

    @property
    def empty(self) -> bool:
        return self.low == self.occurrences.number

    @property
    def oldest(self) -> Instant | None:
        stored = self.occurrences.element(self.at)
        return None if stored is None else stored.time

    @property
    def lags(self) -> bool:
        """Whether it may lag behind, as nobody watches it."""
        return self.length is not None and not self.watchers

    def catch_up(self) -> None:
        """Remove what is too old at present, if it has a length of time."""
        present = self.occurrences.present
        if self.length is not None and present is not None:
            self.leave_until(present - self.length)

    def leave_until(self, last: Instant) -> None:
        """Remove what happened at or before a time."""
        occurrences = self.occurrences
        if self.at < occurrences.first:
            # It has lagged, and elements that it had to lose are not stored any more.
            self.at, self.low = occurrences.first, max(self.low, occurrences.floor)
        at = self.at
        while (stored := occurrences.element(self.at)) is not None and stored.time <= last:
            self._leave(stored, stored.last)
            self.at += 1
        if self.at != at:
            self._moved(at)

    def keep(self, count: int) -> None:
        """Remove the oldest occurrences, until no more than ``count`` are left."""
        occurrences, low, at = self.occurrences, self.low, self.at
        until = occurrences.number - count
        while self.low < until and (stored := occurrences.element(self.at)) is not None:
            self._leave(stored, min(until, stored.last))
            if self.low == stored.last:
                self.at += 1
        if self.low != low:
            self._moved(at)

    def _leave(self, stored: _Stored, until: int) -> None:
        """Remove the occurrences of an element, up to a number."""
        if self.watchers:
            latest, before = self.occurrences.latest, stored.last - len(stored.triples)
            for number in range(self.low + 1, until + 1):
                triple = stored.triples[number - before - 1]
                if latest.get(triple) == number:
                    for watcher in self.watchers:
                        watcher.changed((triple,), False)
                # Now, not after the loop: joins for the next triple must not find this triple.
                self.low = number
        self.low = until

    def _moved(self, before: int) -> None:
        """Notify followers after a change of ``low``; free elements that no scope contains."""
        for follower in self.followers:
            follower()
        if before == self.occurrences.first:
            self.occurrences.trim()
