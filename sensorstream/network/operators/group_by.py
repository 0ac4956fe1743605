"""GROUP BY: one row for each group (SPARQL 1.1, section 18.5.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import call
from typing import Any

from sensorstream.model.frozen import frozen
from sensorstream.network.aggregates import AggregationKind, kind_of
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import GroupPlan
from sensorstream.network.rows import Row, key_of, slots_of
from sensorstream.sparql.algebra import Aggregate


@frozen
class AggregateColumn:
    """An aggregate: how it is kept, and the value it takes of a row.

    Columns of equal ``values`` take the same value of every row.
    """

    kind: AggregationKind
    values: Hashable
    value: Callable[[Row], Any]


def columns_of(
    plan: GroupPlan, value: Callable[[Aggregate], Callable[[Row], Any]]
) -> list[AggregateColumn]:
    """The aggregates of a plan; ``value`` makes the function for the value of a row."""
    return [
        AggregateColumn(kind_of(each), each.expression, value(each)) for _, each in plan.aggregates
    ]


class GroupColumns:
    """The aggregates of a GROUP BY; those kept alike, of the same values, share a state."""

    def __init__(self, columns: Iterable[AggregateColumn]) -> None:
        kept = {(c.kind.made, c.values): c for c in columns}
        self.kept = tuple(kept.values())
        """The columns that have a state of their own."""
        places = {each: place for place, each in enumerate(kept)}
        self.results = tuple((c.kind.result, places[c.kind.made, c.values]) for c in columns)
        """Each result, and the place of the state that it is of."""


class AggregatedGroup:
    """A group: its number of rows, their aggregations, and the row of the results."""

    __slots__ = ("count", "results", "row", "takes")

    def __init__(self, columns: GroupColumns) -> None:
        self.count = 0
        states = [column.kind.make() for column in columns.kept]
        self.takes = [(c.value, e.take) for c, e in zip(columns.kept, states, strict=True)]
        self.results = [partial(result, states[place]) for result, place in columns.results]
        self.row: Row | None = None
        """None until it has been given out."""

    def take(self, row: Row, weight: int) -> None:
        """Add a row ``weight`` times, or remove it if that is negative."""
        self.count += weight
        for value, take in self.takes:
            take(value(row), weight)


class GroupOperator(Node):
    """Keeps the aggregates of each group; O(1) per row, MIN and MAX O(log n).

    ``keys`` are variables of the input. Without keys there is one group, always. A group's row
    is made once an instant, after all its changes.
    """

    def __init__(self, plan: GroupPlan, source: Node, columns: Sequence[AggregateColumn]) -> None:
        super().__init__((source,), plan.variables, plan.certain)
        slots = slots_of(source.variables)
        self._keys = plan.keys
        self._key = key_of([slots[name] for name in plan.keys])
        self._aggregates = GroupColumns(columns)
        self._groups: dict[Any, AggregatedGroup] = {}
        if not plan.keys:
            self._groups[None] = AggregatedGroup(self._aggregates)

    def flush(self) -> None:
        (source,) = self.inputs
        # Added rows first: no row is taken out that is not there.
        if not self._keys:
            group = self._groups[None]
            for row in source.added:
                group.take(row, 1)
            for row in source.removed:
                group.take(row, -1)
            self._give(group, self._row(None, group))
            return
        touched: dict[Any, AggregatedGroup] = {}
        self._take(source.added, 1, touched)
        self._take(source.removed, -1, touched)
        for key, group in touched.items():
            if group.count:
                self._give(group, self._row(key, group))
            else:
                del self._groups[key]
                self._give(group, None)

    def _take(self, rows: Iterable[Row], weight: int, touched: dict[Any, AggregatedGroup]) -> None:
        groups, key = self._groups, self._key
        for row in rows:
            at = key(row)
            group = touched.get(at)
            if group is None:
                group = groups.get(at)
                if group is None:
                    group = groups[at] = AggregatedGroup(self._aggregates)
                touched[at] = group
            group.take(row, weight)

    def _row(self, key: Any, group: AggregatedGroup) -> Row:
        keys = () if not self._keys else (key,) if len(self._keys) == 1 else key
        return (*keys, *map(call, group.results))

    def _give(self, group: AggregatedGroup, new: Row | None) -> None:
        old = group.row
        if old != new:
            group.row = new
            if old is not None:
                self.removed.append(old)
            if new is not None:
                self.added.append(new)

    @property
    def apart(self) -> bool:
        # A group's new row differs from the old one, and from those of all other groups.
        return True

    def of_nothing(self) -> list[Row]:
        """The rows that it has if its input has none."""
        if self._keys:
            return []
        return [self._row(None, AggregatedGroup(self._aggregates))]

    def load(self) -> None:
        self._take(self.inputs[0].rows(), 1, {})
        for key, group in self._groups.items():
            group.row = self._row(key, group)

    def rows(self) -> Iterator[Row]:
        return (group.row for group in self._groups.values() if group.row is not None)

    def size(self) -> int:
        return len(self._groups)
