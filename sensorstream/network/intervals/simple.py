"""SELECT, UNION and LIMIT over intervals, and what holds always."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.node import Telling, TimedNode, order_of_use
from sensorstream.network.node import Node, Past
from sensorstream.network.operators.simple import RowByRow, Union
from sensorstream.network.plan import nodes as plans
from sensorstream.network.rows import TimedRow, slots_of


class TimedProject(Telling, RowByRow):
    """SELECT: rows that become equal are one solution."""


class TimedUnion(Telling, Union):
    """The rows of all inputs; where one lacks a variable it is unbound."""

    def describe(self) -> str:
        return "UNION"


class TimedFirst(TimedNode):
    """LIMIT and OFFSET: those of all rows that end first, since what comes later changes nothing.

    What holds always comes before all that happens. Solutions that end together are taken in the
    order of their starts, and then of their bindings by name. It remembers as many as decide which
    of the later ones are wanted.
    """

    def __init__(self, plan: plans.Slice, source: Node) -> None:
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
    """The first so many rows, in the order they came."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, rows: Iterable[TimedRow]) -> None:
        self += islice(rows, max(self._most - len(self), 0))

    def forget(self, now: Instant) -> None:
        """Nothing: they have been told."""

    def happened(self) -> Iterator[TimedRow]:
        return iter(self)


def same_occurrence(
    names: Sequence[str], pairs: Iterable[tuple[str, str]]
) -> Callable[[TimedRow], bool]:
    """Whether the labelled occurrences that are of the same triple are one occurrence."""
    places = slots_of(names)
    compared = [(places[one], places[other]) for one, other in pairs]

    def test(row: TimedRow) -> bool:
        return all(row[i][:3] != row[j][:3] or row[i] == row[j] for i, j in compared)

    return test
