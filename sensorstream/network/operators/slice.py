"""LIMIT and OFFSET, with ORDER BY where there is one: a part of the rows in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Any

from sensorstream.network.node import Node
from sensorstream.network.rows import Row, net


class Slice(Node):
    """Keeps its input in order; the output changes by O(limit) per instant.

    ``key`` gives what a row is ordered by. Rows it does not tell apart stand in the order of
    their terms, so that the same rows always give the same slice.
    """

    def __init__(
        self, source: Node, key: Callable[[Row], Any] | None, offset: int, limit: int | None
    ) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._key = key
        self._offset = offset
        self._limit = limit
        self._ordered: list[tuple[Any, tuple[str, ...], Row]] = []
        self._shown: list[Row] = []

    def _entry(self, row: Row) -> tuple[Any, tuple[str, ...], Row]:
        order = None if self._key is None else self._key(row)
        return ((order,), tuple("" if each is None else each for each in row), row)

    def flush(self) -> None:
        (source,) = self.inputs
        ordered = self._ordered
        for row, weight in net(source.added, source.removed).items():
            entry = self._entry(row)
            if weight > 0:
                for _ in range(weight):
                    insort(ordered, entry, key=_position)
            else:
                at = bisect_left(ordered, _position(entry), key=_position)
                while ordered[at][2] != row:
                    at += 1
                del ordered[at : at - weight]
        shown = self._part()
        if shown != self._shown:
            for row, weight in net(shown, self._shown).items():
                (self.added if weight > 0 else self.removed).extend([row] * abs(weight))
            self._shown = shown

    def _part(self) -> list[Row]:
        end = None if self._limit is None else self._offset + self._limit
        return [row for _, _, row in self._ordered[self._offset : end]]

    def load(self) -> None:
        self._ordered = sorted(map(self._entry, self.inputs[0].rows()), key=_position)
        self._shown = self._part()

    def rows(self) -> Iterable[Row]:
        return self._shown

    def size(self) -> int:
        return len(self._ordered)

    def describe(self) -> str:
        limit = "all" if self._limit is None else self._limit
        return f"Slice {limit} from {self._offset}{' in order' if self._key else ''}"


def _position(entry: tuple[Any, tuple[str, ...], Row]) -> tuple[Any, tuple[str, ...]]:
    return entry[0], entry[1]
