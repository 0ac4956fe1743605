"""Events that may still be selected, by time and by the values that conditions ask for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from sensorstream.model.terms import Literal, Term
from sensorstream.model.timeline import Instant
from sensorstream.model.xsd import XSD_STRING
from sensorstream.network.rows import Row
from sensorstream.sparql.values import number

Wanted: TypeAlias = Callable[[Row], bool]
LOOSE: Final = "loose"
"""The key of rows with a value that may equal terms of other forms."""


def key_of(terms: Iterable[Term | None]) -> Hashable:
    """A key that is equal for terms that ``=`` may find equal, or :data:`LOOSE`."""
    found: list[Hashable] = []
    for term in terms:
        if type(term) is not Literal:
            if term is None:
                return LOOSE
            found.append(term)
        elif term.datatype == XSD_STRING:
            found.append(term)
        else:
            value = number(term)
            try:
                rounded = None if value is None else float(value)
            except OverflowError:
                return LOOSE
            if rounded is None or rounded != rounded:
                return LOOSE
            found.append(rounded)
    return tuple(found)


class Lane:
    """Events of one key in the order of their times; those before ``head`` are gone."""

    __slots__ = ("head", "rows", "times")

    def __init__(self) -> None:
        self.times: list[Instant] = []
        self.rows: list[Row] = []
        self.head = 0

    def span(self, first: Instant, last: Instant) -> range:
        """The places of the events of a span of time, both ends included."""
        times = self.times
        start = bisect_left(times, first, lo=self.head)
        return range(start, bisect_right(times, last, lo=start))

    def drop(self) -> None:
        """Let go of the first event."""
        self.head += 1
        if 2 * self.head > len(self.rows):
            del self.rows[: self.head], self.times[: self.head]
            self.head = 0


class Store:
    """The events of one selector that some rule wants, as rows, by the values at some places.

    It keeps them for ``longest`` units of time. All operations are O(log n) for what they find.
    """

    closing: Final = True

    def __init__(self, places: Sequence[int]) -> None:
        self.places = tuple(places)
        self.longest = 0
        self.wanted: list[Wanted] = []
        """One of these must be true of an event."""
        self._lanes: dict[Hashable, Lane] = {}
        self._order: deque[tuple[Instant, Hashable]] = deque()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, time: Instant, rows: Iterable[Row]) -> None:
        """Take in the events of a time, which is not before that of any other."""
        wanted = self.wanted
        for row in rows:
            for wants in wanted:
                if wants(row):
                    self._append(time, row)
                    break

    def _append(self, time: Instant, row: Row) -> None:
        key = key_of([row[place] for place in self.places])
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane()
        lane.times.append(time)
        lane.rows.append(row)
        self._order.append((time, key))

    def merge(self, events: Iterable[tuple[Instant, Row]]) -> None:
        """Take in events of before; those that are here already are the same."""
        here = list(self.events())
        known = set(here)
        if new := [each for each in events if each not in known]:
            self._lanes.clear()
            self._order.clear()
            for time, row in sorted([*here, *new], key=itemgetter(0)):
                self._append(time, row)

    @property
    def newest(self) -> Instant | None:
        """The time of the last event."""
        return self._order[-1][0] if self._order else None

    @property
    def due(self) -> Instant | None:
        """When the first event goes: no scope that ends then reaches it."""
        return self._order[0][0] + self.longest + 1 if self._order else None

    def skip(self, time: Instant) -> None:
        """Nothing is left out: what is too old goes together."""

    def elapse(self, time: Instant) -> None:
        """Let go of what no scope that ends with a present event reaches."""
        order, oldest = self._order, time - self.longest
        while order and order[0][0] < oldest:
            key = order.popleft()[1]
            lane = self._lanes[key]
            lane.drop()
            if not lane.rows:
                del self._lanes[key]

    def lanes(self, key: Hashable) -> Sequence[Lane]:
        """Where the events are that may have a key."""
        if key == LOOSE:
            return list(self._lanes.values())
        lane, loose = self._lanes.get(key), self._lanes.get(LOOSE)
        return [each for each in (lane, loose) if each is not None]

    def events(self) -> Iterator[tuple[Instant, Row]]:
        """All events, oldest first."""
        at: dict[Hashable, int] = {}
        for time, key in self._order:
            lane = self._lanes[key]
            place = at.get(key, lane.head)
            at[key] = place + 1
            yield time, lane.rows[place]
