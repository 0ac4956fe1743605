"""GROUP BY: one row for each group (SPARQL 1.1, section 18.5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sensorstream.network.aggregates import Aggregation
from sensorstream.network.node import Node
from sensorstream.network.rows import Row, key_of, net, slots_of


@dataclass(frozen=True, slots=True)
class Column:
    """One aggregate: its variable, how to make an empty one, and what of a row it takes."""

    variable: str
    make: Callable[[], Aggregation]
    value: Callable[[Row], Any]
    text: str


@dataclass(slots=True)
class _Group:
    rows: int
    aggregations: list[Aggregation]


class Group(Node):
    """Keeps the aggregates of each group; O(1) per row, MIN and MAX O(log n).

    ``keys`` are variables of the input. Without keys there is one group, always.
    """

    __slots__ = ("_columns", "_groups", "_key", "_keys")

    def __init__(self, source: Node, keys: Sequence[str], columns: Sequence[Column]) -> None:
        super().__init__(
            (source,), (*keys, *(c.variable for c in columns)), source.certain.intersection(keys)
        )
        places = slots_of(source.variables)
        self._keys = tuple(keys)
        self._key = key_of([places[name] for name in keys])
        self._columns = tuple(columns)
        self._groups: dict[Any, _Group] = {}
        if not keys:
            self._groups[None] = self._new()

    def _new(self) -> _Group:
        return _Group(0, [column.make() for column in self._columns])

    def flush(self) -> None:
        (source,) = self.inputs
        groups = self._groups
        before: dict[Any, Row | None] = {}
        for row, weight in net(source.added, source.removed).items():
            key = self._key(row)
            if key not in before:
                group = groups.get(key)
                before[key] = None if group is None else self._row(key, group)
            self._take(key, row, weight)
        for key, old in before.items():
            group = groups[key]
            new: Row | None = None
            if group.rows or not self._keys:
                new = self._row(key, group)
            else:
                del groups[key]
            if old == new:
                continue
            if old is not None:
                self.removed.append(old)
            if new is not None:
                self.added.append(new)

    def _take(self, key: Any, row: Row, weight: int) -> None:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._new()
        group.rows += weight
        for column, aggregation in zip(self._columns, group.aggregations, strict=True):
            aggregation.take(column.value(row), weight)

    def _row(self, key: Any, group: _Group) -> Row:
        cells = () if not self._keys else (key,) if len(self._keys) == 1 else key
        return (*cells, *(each.result() for each in group.aggregations))

    def load(self) -> None:
        for row in self.inputs[0].rows():
            self._take(self._key(row), row, 1)

    def rows(self) -> Iterator[Row]:
        return (self._row(key, group) for key, group in self._groups.items())

    def size(self) -> int:
        return len(self._groups)

    def describe(self) -> str:
        by = " ".join(f"?{name}" for name in self._keys)
        texts = ", ".join(f"?{c.variable} = {c.text}" for c in self._columns)
        return f"Group{f' by {by}' if by else ''}: {texts}"
