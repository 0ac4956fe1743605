"""GROUP BY over what happens: a group is told anew each time one of its rows ends.

Its aggregates are those of all rows that have ended by then; or, where its length is bounded, of as
many as start late enough. Its interval is the hull of theirs. What background knowledge makes by
itself never ends, so it is in no group.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.node import Memory, TimedNode
from sensorstream.network.intervals.plan import TimedRow
from sensorstream.network.operators.group import Column, Columns, GroupState
from sensorstream.network.rows import key_of, slots_of


class _Members(GroupState):
    """The rows of one group, those that started first on top of a heap."""

    __slots__ = ("heap",)

    def __init__(self, kept: Iterable[Column]) -> None:
        super().__init__(kept)
        # Start, number, row.
        self.heap: list[tuple[Instant, int, TimedRow]] = []


class TimedGroup(TimedNode):
    """Keeps the aggregates of each group; O(log n) a row.

    ``fits`` tests a row's interval for the length that is asked for, ``longest`` is never shorter
    than that; None: all rows stay.
    """

    __slots__ = ("_aggregates", "_fits", "_key", "_keys", "_members", "_text")

    def __init__(
        self,
        source: TimedNode,
        keys: Sequence[str],
        columns: Sequence[Column],
        fits: Callable[[TimedRow], bool] | None,
        longest: int | None,
        text: str,
    ) -> None:
        variables = (*keys, *(each.variable for each in columns))
        super().__init__((source,), variables, source.certain.intersection(keys))
        slots = slots_of(source.variables)
        self._keys = len(keys)
        self._key = key_of([slots[name] for name in keys])
        self._aggregates = Columns(columns)
        self._fits = fits
        self._members = _Kept(self._key, self._aggregates, longest)
        self._text = text

    def flush(self) -> None:
        (source,) = self.inputs
        members, fits = self._members, self._fits
        rows = source.added
        now: Instant = rows[0][-1]  # type: ignore[assignment]
        members.forget(now)
        if fits is not None:
            # One that is too long by itself is in no group.
            rows = [row for row in rows if fits(row)]
        members.add(rows)
        for key in dict.fromkeys(map(self._key, rows)):
            group = members.groups[key]
            if fits is not None:
                while not fits((group.heap[0][0], now)):
                    members.drop_first(group)
            results = self._aggregates.results(group)
            keys = key if self._keys > 1 else (key,) if self._keys else ()
            row: TimedRow = (*keys, *results, group.heap[0][0], now)
            self.added.append(row)

    def kept(self) -> Sequence[tuple[int, Memory]]:
        return ((0, self._members),)

    def describe(self) -> str:
        return self._text


class _Kept:
    """The rows of all groups."""

    def __init__(
        self, key: Callable[[TimedRow], Any], aggregates: Columns, longest: int | None
    ) -> None:
        self.groups: dict[Any, _Members] = {}
        self._key = key
        self._columns = aggregates.kept
        self._longest = longest
        self._numbers = count()
        self._size = 0
        # Ends and keys of all rows, oldest first.
        self._ends: deque[tuple[Instant, Any]] = deque()

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Iterable[TimedRow]) -> None:
        for row in rows:
            key = self._key(row)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = _Members(self._columns)
            heapq.heappush(group.heap, (row[-2], next(self._numbers), row))
            group.take(row, 1)
            self._size += 1
            if self._longest is not None:
                self._ends.append((row[-1], key))

    def drop_first(self, group: _Members) -> None:
        """Take out what started first."""
        _, _, row = heapq.heappop(group.heap)
        group.take(row, -1)
        self._size -= 1

    def forget(self, now: Instant) -> None:
        if self._longest is None:
            return
        ends, horizon = self._ends, now - self._longest
        while ends and ends[0][0] < horizon:
            key = ends.popleft()[1]
            group = self.groups.get(key)
            if group is None:
                continue
            while group.heap and group.heap[0][0] < horizon:
                self.drop_first(group)
            if not group.heap:
                del self.groups[key]

    def rows(self) -> Iterator[TimedRow]:
        everything = (each for group in self.groups.values() for each in group.heap)
        # In the order of their ends; of one end, in that of their arrival.
        return (row for _, _, row in sorted(everything, key=lambda each: (each[2][-1], each[1])))
