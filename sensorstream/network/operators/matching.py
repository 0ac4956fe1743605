"""OPTIONAL, MINUS and EXISTS: the output for a left row depends on whether the right matches.

All three count, for each left row, how many right rows match it, and act when that count leaves or
reaches zero (SPARQL 1.1, sections 18.5 LeftJoin and Minus, 17.4.1.4 EXISTS).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from sensorstream.model.frozen import frozen
from sensorstream.network.node import Node
from sensorstream.network.operators.join import Memory, Sides
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.rows import Bag, Row, net, repeated
from sensorstream.sparql.values import FALSE, TRUE

Condition = Callable[[Row], bool]
_Test = Callable[[Row, Row], bool]


@frozen
class MatchTest:
    """The test of a left row with right rows that agree with it, and the output for it.

    ``test`` is of both; None: any of them matches. The row is given out once with ``alone``
    appended if it has no match, with ``together`` if it has; None: it is not. ``joined`` gives the
    rows with its matches; None: there are none.
    """

    sides: Sides
    test: _Test | None
    alone: Row | None = None
    together: Row | None = None
    joined: Callable[[Row, Iterable[Row]], list[Row]] | None = None

    def given(self, row: Row, matches: Collection[Row]) -> list[Row]:
        """The output for a left row and all that match it."""
        rows = self.joined(row, matches) if self.joined is not None and matches else []
        more = self.together if matches else self.alone
        return rows if more is None else [*rows, row + more]


def optional(sides: Sides, alone: Row, condition: Condition | None = None) -> MatchTest:
    """OPTIONAL; ``condition`` tests a joined row."""
    test = _both(sides.agree(), _of_joined(condition, sides))
    return MatchTest(sides, test, alone, None, sides.joined())


def minus(sides: Sides) -> MatchTest:
    """MINUS: left rows that agree with no right row they share a bound variable with."""
    return MatchTest(sides, _both(sides.agree(), sides.overlap()), ())


def mark(sides: Sides, condition: Condition | None) -> MatchTest:
    """EXISTS: the left rows with one more variable: whether the right matches.

    ``condition`` tests a joined row: the filters of the pattern on outer variables.
    """
    test = _both(sides.agree(), _of_joined(condition, sides))
    return MatchTest(sides, test, (FALSE,), (TRUE,))


class Matching(Node):
    """Keeps both sides by what they share, and the number of matches of each left row."""

    def __init__(self, plan: Plan, left: Node, right: Node, question: MatchTest) -> None:
        super().__init__((left, right), plan.variables, plan.certain)
        self._question = question
        self._test = question.test
        self._left_key, self._right_key = question.sides.left_key, question.sides.right_key
        self._left = Memory(self._left_key)
        self._right = Memory(self._right_key)
        self._matches: Bag = {}

    def _matching(self, left: Row) -> Bag:
        """The right rows that match a left row, with their counts."""
        key = self._left_key(left)
        bag = self._right.bag(key)
        if (ways := self._right.count(key)) > 1:
            self.meter.take(ways)
        test = self._test
        if test is None:
            return bag
        return {right: count for right, count in bag.items() if test(left, right)}

    def _given(self, left: Row, matches: Bag) -> list[Row]:
        found = [*repeated(matches)] if self._right.repeats else matches
        return self._question.given(left, found)

    def flush(self) -> None:
        left, right = self.inputs
        if left.added or left.removed:
            self._left_changed(net(left.added, left.removed))
            self._left.update(left.added, left.removed)
        if right.added or right.removed:
            change = net(right.added, right.removed)
            # Insertions first: a left row that keeps a match then gives out no change.
            for sign in (1, -1):
                for row, weight in change.items():
                    if weight * sign > 0:
                        self._right_changed(row, weight)
            self._right.update(right.added, right.removed)

    def _left_changed(self, change: Bag) -> None:
        for row, weight in change.items():
            found = self._matching(row)
            out = self.added if weight > 0 else self.removed
            rows = self._given(row, found)
            for _ in range(abs(weight)):
                out += rows
            if weight > 0:
                if found and row not in self._matches:
                    self._matches[row] = sum(found.values())
            elif self._left.times(row) == -weight:
                self._matches.pop(row, None)

    def _right_changed(self, right: Row, weight: int) -> None:
        test, matches, joined = self._test, self._matches, self._question.joined
        alone, together = self._question.alone, self._question.together
        key = self._right_key(right)
        lefts = self._left.bag(key)
        if (ways := self._left.count(key)) > 1:
            self.meter.take(ways)
        for left, count in lefts.items():
            if test is not None and not test(left, right):
                continue
            before = matches.get(left, 0)
            after = before + weight
            if joined is not None:
                out = self.added if weight > 0 else self.removed
                out += joined(left, (right,)) * (abs(weight) * count)
            if before and after:
                matches[left] = after
                continue
            if after:
                matches[left] = after
                gone, come = alone, together
            else:
                del matches[left]
                gone, come = together, alone
            if gone is not None:
                self.removed += [left + gone] * count
            if come is not None:
                self.added += [left + come] * count

    def load(self) -> None:
        left, right = self.inputs
        self._right.update(right.rows(), ())
        self._left.update(left.rows(), ())
        for row in self._left.rows():
            if row not in self._matches and (found := self._matching(row)):
                self._matches[row] = sum(found.values())

    def rows(self) -> Iterator[Row]:
        joins = self._question.joined is not None
        for row in self._left.rows():
            if joins and row in self._matches:
                yield from self._given(row, self._matching(row))
            else:
                yield from self._question.given(row, (row,) if row in self._matches else ())

    def size(self) -> int:
        return len(self._left) + len(self._right)


def _of_joined(condition: Condition | None, sides: Sides) -> _Test | None:
    if condition is None:
        return None
    joined = sides.joined()

    def test(left: Row, right: Row) -> bool:
        rows = joined(left, (right,))
        return bool(rows) and condition(rows[0])

    return test


def _both(first: _Test | None, second: _Test | None) -> _Test | None:
    if first is None or second is None:
        return first or second
    return lambda left, right: first(left, right) and second(left, right)
