"""Operators over one input, and UNION; most of them remember nothing."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sensorstream.model.terms import Literal, Term
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import ConstantPlan, Plan
from sensorstream.network.rows import Bag, Row, cancelled, compiled, net, rearranged
from sensorstream.sparql.algebra import Variable

_LONG: Final = 100
"""Characters of a text that count as a row."""


class ConstantOperator(Node):
    """Rows that never change: VALUES, and the one empty solution."""

    def __init__(self, plan: ConstantPlan) -> None:
        super().__init__((), plan.variables, plan.certain)
        self._rows = plan.rows

    def flush(self) -> None:
        """Do nothing: the rows never change."""

    def rows(self) -> Iterable[Row]:
        return self._rows


class RowByRow(Node):
    """FILTER, SELECT, the ends of a path: each row gives its row, or none, by itself.

    ``given`` makes the rows, nothing is remembered. ``computes``: it evaluates an expression for
    each row, and different rows stay different.
    """

    def __init__(
        self,
        source: Node,
        variables: Sequence[str],
        given: Callable[[Iterable[Row]], Iterable[Row]],
        *,
        computes: bool = False,
        certain: Iterable[str] | None = None,
    ) -> None:
        """Make it; without ``certain``, its variables are certain if they are so in the source."""
        known = source.certain.intersection(variables) if certain is None else certain
        super().__init__((source,), variables, known)
        self._given = given
        self._computes = computes

    def flush(self) -> None:
        (source,) = self.inputs
        added, removed = source.added, source.removed
        through = self.meter.through if self._computes else iter
        if added:
            self.added += self._given(through(added))
        if removed:
            self.removed += self._given(through(removed))

    @property
    def apart(self) -> bool:
        return super().apart or (self._computes and self.inputs[0].apart)

    def expected(self) -> int:
        return self.inputs[0].expected()

    def rows(self) -> Iterable[Row]:
        return self._given(self.inputs[0].rows())


class ExtendOperator(RowByRow):
    """BIND and SELECT expressions: each row with one more value, unbound where it is an error."""

    def __init__(self, source: Node, name: str, value: Callable[[Row], Term | None]) -> None:
        super().__init__(source, (*source.variables, name), self._extended, computes=True)
        self._value = value

    def _extended(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            value = self._value(row)
            if type(value) is Literal and len(value.lexical) > _LONG:
                # The text is kept in memory with the row.
                self.meter.take(len(value.lexical) // _LONG)
            yield (*row, value)


def ends_of(
    wanted: tuple[Variable | Term, Variable | Term],
) -> Callable[[Iterable[Row]], list[Row]]:
    """Make a function that selects pairs whose ends are the constants wanted, or equal."""
    first, second = wanted
    tests, cells = list[str](), list[str]()
    for end, cell in ((first, "r[0]"), (second, "r[1]")):
        if not isinstance(end, Variable):
            tests.append(f"{cell} == {'a' if cell == 'r[0]' else 'b'}")
        elif not cells or first != second:
            cells.append(cell)
        else:
            tests.append("r[0] == r[1]")
    row = f"({''.join(f'{each}, ' for each in cells)})"
    condition = f" if {' and '.join(tests)}" if tests else ""
    made = compiled(f"lambda a, b: lambda rows: [{row} for r in rows{condition}]")
    return made(first, second)  # type: ignore[no-any-return]


class UnionOperator(Node):
    """The rows of every input; where an input lacks a variable it is unbound."""

    def __init__(self, plan: Plan, inputs: Sequence[Node]) -> None:
        super().__init__(inputs, plan.variables, plan.certain)
        self._rearrange = [rearranged(each.variables, plan.variables) for each in inputs]

    def flush(self) -> None:
        for source, rearrange in zip(self.inputs, self._rearrange, strict=True):
            if source.added:
                self.added += rearrange(source.added)
            if source.removed:
                self.removed += rearrange(source.removed)

    def expected(self) -> int:
        return sum(each.expected() for each in self.inputs)

    def rows(self) -> Iterator[Row]:
        for source, rearrange in zip(self.inputs, self._rearrange, strict=True):
            yield from rearrange(source.rows())


class DistinctOperator(Node):
    """DISTINCT: each row once; remembers how often it occurs."""

    def __init__(self, source: Node) -> None:
        super().__init__((source,), source.variables, source.certain)
        self._counts: Bag = {}

    def flush(self) -> None:
        (source,) = self.inputs
        counts = self._counts
        if not source.removed:
            for row in source.added:
                if row in counts:
                    counts[row] += 1
                else:
                    counts[row] = 1
                    self.added.append(row)
            return
        for row, weight in net(source.added, source.removed).items():
            before = counts.get(row, 0)
            after = before + weight
            if after:
                counts[row] = after
                if not before:
                    self.added.append(row)
            else:
                del counts[row]
                self.removed.append(row)

    def load(self) -> None:
        for row in self.inputs[0].rows():
            self._counts[row] = self._counts.get(row, 0) + 1

    def rows(self) -> Iterable[Row]:
        return self._counts

    def size(self) -> int:
        return len(self._counts)


class SliceOperator(Node):
    """LIMIT and OFFSET, with ORDER BY where there is one: a part of the rows in order.

    Keeps its input in order; the output changes by O(limit) per instant. ``key`` gives the values
    by which rows are ordered. Rows that are equal in it are in the order of their terms, so that
    the same rows always give the same slice.
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
            self.added, self.removed = cancelled(list(shown), self._shown)
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


def _position(entry: tuple[Any, tuple[str, ...], Row]) -> tuple[Any, tuple[str, ...]]:
    return entry[0], entry[1]
