"""SELECT, UNION, LIMIT and GROUP BY over intervals, and what holds always.

A group gives a new row each time one of its rows ends. Its aggregates are those of all rows that
have ended by then; or, where its length is bounded, of as many as start late enough. Its interval
is the hull of theirs. Rows from background knowledge alone never end, so they are in no group.
"""

from __future__ import annotations

from bisect import insort_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import call, itemgetter
from typing import Any, Final

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_node import (
    OncePerInstant,
    TimedNode,
    ended,
    order_of_use,
)
from sensorstream.network.node import Node, Past
from sensorstream.network.operators.group_by import AggregateColumn, AggregatedGroup, GroupColumns
from sensorstream.network.operators.row_operators import RowByRow, UnionOperator
from sensorstream.network.plan import nodes as plans
from sensorstream.network.rows import TimedRow, key_of, slots_of

_start: Final[Callable[[TimedRow], Any]] = itemgetter(0)


class TimedProject(OncePerInstant, RowByRow):
    """SELECT: rows that become equal are one solution."""


class TimedUnion(OncePerInstant, UnionOperator):
    """The rows of all inputs; where one lacks a variable it is unbound."""


class TimedFirst(TimedNode):
    """LIMIT and OFFSET: the rows that end first, since what comes later changes nothing.

    Rows that hold always come before all that happen. Solutions that end together are taken in the
    order of their starts, and then of their bindings by name. It remembers as many rows as decide
    which of the later ones are wanted.
    """

    def __init__(self, plan: plans.SlicePlan, source: Node) -> None:
        super().__init__((source,), plan.variables, plan.certain)
        self._offset = plan.offset
        self._limit = plan.limit
        self._lasting = 0
        self._told = _Told(plan.offset + (plan.limit or 0))

    def flush(self) -> None:
        (source,) = self.inputs
        before = self._lasting + len(self._told)
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
        rows = sorted(dict.fromkeys(source.rows()), key=order_of_use(self.variables))
        self._lasting = len(rows)
        self.always = self._cut(rows, 0)

    def kept(self) -> Sequence[tuple[int, Past]]:
        return ((0, self._told),)


class _Told(list[TimedRow]):
    """The first ``most`` rows, in the order they came."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, rows: Iterable[TimedRow]) -> None:
        self += islice(rows, max(self._most - len(self), 0))

    def forget(self, now: Instant) -> None:
        """Do nothing: rows that have been given out stay."""

    def happened(self) -> Iterator[TimedRow]:
        return iter(self)


def same_occurrence(
    names: Sequence[str], pairs: Iterable[tuple[str, str]]
) -> Callable[[TimedRow], bool]:
    """Make a test of whether labelled occurrences of the same triple are one occurrence."""
    places = slots_of(names)
    compared = [(places[one], places[other]) for one, other in pairs]

    def test(row: TimedRow) -> bool:
        return all(row[i][:3] != row[j][:3] or row[i] == row[j] for i, j in compared)

    return test


class _Members(AggregatedGroup):
    """The rows of one group in the order of their starts."""

    __slots__ = ("end", "rows")

    def __init__(self, columns: GroupColumns) -> None:
        super().__init__(columns)
        self.rows: deque[TimedRow] = deque()
        self.end: Instant = 0
        """The end of the row that came last, which is the latest."""


class TimedGroup(TimedNode):
    """Keeps the aggregates of each group: a row costs what its aggregates make of it.

    A row that started before others of its group is inserted before them, which moves these.
    ``fits`` tests a row's interval for the wanted length, ``longest`` is never shorter than that;
    None: all rows stay.
    """

    def __init__(
        self,
        plan: plans.GroupPlan,
        source: Node,
        columns: Sequence[AggregateColumn],
        fits: Callable[[TimedRow], bool] | None,
        longest: int | None,
    ) -> None:
        super().__init__((source,), plan.variables, plan.certain)
        slots = slots_of(source.variables)
        self._keys = len(plan.keys)
        self._fits = fits
        self._members = _Kept(key_of([slots[name] for name in plan.keys]), columns, longest)

    def flush(self) -> None:
        rows: Sequence[TimedRow] = self.inputs[0].added
        fits, take, touched = self._fits, self._members.take, dict[Any, _Members]()
        now = rows[0][1]
        for row in rows:
            if row[1] != now:
                self._give(touched, now)
                now = row[1]
                touched.clear()
            # A row that is too long by itself is in no group.
            if fits is None or fits(row):
                take(row, touched)
        self._give(touched, now)
        self._members.forget(now)

    def _give(self, touched: dict[Any, _Members], now: Instant) -> None:
        fits, many = self._fits, self._keys
        for key, group in touched.items():
            rows = group.rows
            if fits is not None:
                while not fits((rows[0][0], now)):
                    group.take(rows.popleft(), -1)
            keys = (key,) if many == 1 else key if many else ()
            row: TimedRow = (rows[0][0], now, *keys, *map(call, group.results))
            self.added.append(row)

    def kept(self) -> Sequence[tuple[int, Past]]:
        return ((0, self._members),)


class _Kept:
    """The rows of all groups."""

    def __init__(
        self,
        key: Callable[[TimedRow], Any],
        columns: Sequence[AggregateColumn],
        longest: int | None,
    ) -> None:
        # In the order of their ends.
        self._groups: OrderedDict[Any, _Members] = OrderedDict()
        self._key = key
        self._columns = GroupColumns(columns)
        self._longest = longest

    def __len__(self) -> int:
        return sum(group.count for group in self._groups.values())

    def add(self, rows: Iterable[TimedRow]) -> None:
        for row in rows:
            self.take(row, {})

    def take(self, row: TimedRow, touched: dict[Any, _Members]) -> None:
        """Add a row, which ends no earlier than those that are there, and note its group."""
        key = self._key(row)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Members(self._columns)
        else:
            self._groups.move_to_end(key)
        touched[key] = group
        members = group.rows
        if members and row[0] < members[-1][0]:
            insort_right(members, row, key=_start)
        else:
            # The one that ends last has mostly started last, too.
            members.append(row)
        group.end = row[1]
        group.take(row, 1)

    def forget(self, now: Instant) -> None:
        """Forget groups whose rows cannot be in a group with one that ends at ``now``."""
        if self._longest is None:
            return
        groups, horizon = self._groups, now - self._longest
        while groups:
            key, group = next(iter(groups.items()))
            if group.end >= horizon:
                return
            del groups[key]

    def happened(self) -> Iterator[TimedRow]:
        everything = (row for each in self._groups.values() for row in each.rows)
        return iter(sorted(everything, key=ended))
