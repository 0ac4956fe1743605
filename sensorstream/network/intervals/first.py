"""LIMIT and OFFSET: of all solutions those that end first, since what comes later changes nothing.

What holds always comes before all that happens. Solutions that end together are taken in the
order of their starts, and then of their bindings by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.joins import order_of_use
from sensorstream.network.intervals.node import Memory, TimedNode
from sensorstream.network.intervals.plan import TimedRow


class TimedFirst(TimedNode):
    """The first ``limit`` rows (None: all) after the first ``offset``; it remembers these."""

    def __init__(self, source: TimedNode, offset: int, limit: int | None, text: str) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._offset = offset
        self._limit = limit
        self._told = _Told(offset + (limit or 0))
        self._text = text

    def flush(self) -> None:
        (source,) = self.inputs
        assert isinstance(source, TimedNode)
        before = len(source.always) + len(self._told)
        if self._limit is not None and before >= self._offset + self._limit:
            return
        rows = sorted(source.added, key=order_of_use(self.variables))
        self._told.add(rows)
        self.give(self._cut(rows, before))

    def _cut(self, rows: list[TimedRow], before: int) -> list[TimedRow]:
        first = max(self._offset - before, 0)
        if self._limit is None:
            return rows[first:]
        return rows[first : max(self._offset + self._limit - before, 0)]

    def renew(self) -> None:
        (source,) = self.inputs
        assert isinstance(source, TimedNode)
        rows = sorted(source.always, key=order_of_use(self.variables))
        self.always = self._cut(rows, 0)

    def kept(self) -> Sequence[tuple[int, Memory]]:
        return ((0, self._told),)

    def describe(self) -> str:
        return self._text


class _Told:
    """As many rows as decide which of the later ones are wanted, in the order they came."""

    __slots__ = ("_most", "_rows")

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: list[TimedRow] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: Iterable[TimedRow]) -> None:
        self._rows += islice(rows, max(self._most - len(self._rows), 0))

    def forget(self, now: Instant) -> None:
        """Nothing: they have been told."""

    def rows(self) -> Iterator[TimedRow]:
        return iter(self._rows)
