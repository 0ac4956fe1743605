"""OPTIONAL, MINUS and EXISTS: what becomes of a left row depends on whether the right matches.

All three count, for each left row, how many right rows match it, and act when that count
leaves or reaches zero (SPARQL 1.1, sections 18.5 LeftJoin and Minus, 17.4.1.4 EXISTS).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sensorstream.network.node import Node
from sensorstream.network.operators.join import Memory, join_key
from sensorstream.network.rows import (
    Bag,
    Row,
    compatible,
    key_of,
    merged,
    net,
    overlapping,
    slots_of,
)
from sensorstream.sparql.values import FALSE, TRUE

Condition = Callable[[Row], bool]


class Matching(Node):
    """Keeps both sides by what they share, and the number of matches of each left row."""

    def __init__(
        self,
        left: Node,
        right: Node,
        variables: Sequence[str],
        certain: frozenset[str],
        test: Callable[[Row, Row], bool] | None,
        alone: Row | None = None,
        together: Row | None = None,
    ) -> None:
        """``alone``: what a left row has more without a match, ``together``: with any, once.

        None: it gives nothing then.
        """
        super().__init__((left, right), variables, certain)
        self._more = (alone, together)
        keys, loose = join_key(left, right)
        lefts, rights = slots_of(left.variables), slots_of(right.variables)
        self._left_key = key_of([lefts[name] for name in keys])
        self._right_key = key_of([rights[name] for name in keys])
        self._left = Memory(self._left_key)
        self._right = Memory(self._right_key)
        self._matches: Bag = {}
        agree = compatible(left.variables, right.variables, loose)
        tests = [each for each in (agree, test) if each is not None]
        self._test: Callable[[Row, Row], bool] | None = None
        if tests:
            self._test = tests[0] if len(tests) == 1 else _both(*tests)

    def _alone(self, row: Row) -> Row | None:
        more = self._more[0]
        return None if more is None else row + more

    def _together(self, row: Row) -> Row | None:
        more = self._more[1]
        return None if more is None else row + more

    def _pairs(self, left: Row, right: Bag) -> list[Row]:
        """What a left row gives together with each matching right row."""
        return []

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

    def flush(self) -> None:
        left, right = self.inputs
        if left.added or left.removed:
            self._left_changed(net(left.added, left.removed))
            self._left.update(left.added, left.removed)
        if right.added or right.removed:
            change = net(right.added, right.removed)
            # What comes is counted before what goes: a row that keeps a match says nothing.
            for sign in (1, -1):
                for row, weight in change.items():
                    if weight * sign > 0:
                        self._right_changed(row, weight)
            self._right.update(right.added, right.removed)

    def _left_changed(self, change: Bag) -> None:
        for row, weight in change.items():
            found = self._matching(row)
            out = self.added if weight > 0 else self.removed
            once = self._together(row) if found else self._alone(row)
            rows = self._pairs(row, found) if found else []
            if once is not None:
                rows.append(once)
            for _ in range(abs(weight)):
                out += rows
            if weight > 0:
                if found and row not in self._matches:
                    self._matches[row] = sum(found.values())
            elif self._left.bag(self._left_key(row)).get(row, 0) == -weight:
                self._matches.pop(row, None)

    def _right_changed(self, right: Row, weight: int) -> None:
        test, matches = self._test, self._matches
        key = self._right_key(right)
        lefts = self._left.bag(key)
        if (ways := self._left.count(key)) > 1:
            self.meter.take(ways)
        for left, count in lefts.items():
            if test is not None and not test(left, right):
                continue
            before = matches.get(left, 0)
            after = before + weight
            pairs = self._pairs(left, {right: abs(weight)})
            out = self.added if weight > 0 else self.removed
            if pairs:
                for _ in range(count):
                    out += pairs
            if before and after:
                matches[left] = after
                continue
            alone, together = self._alone(left), self._together(left)
            if after:
                matches[left] = after
                gone, come = alone, together
            else:
                del matches[left]
                gone, come = together, alone
            if gone is not None:
                self.removed += [gone] * count
            if come is not None:
                self.added += [come] * count

    def load(self) -> None:
        left, right = self.inputs
        self._right.update(right.rows(), ())
        self._left.update(left.rows(), ())
        for row in self._left.rows():
            if row not in self._matches and (found := self._matching(row)):
                self._matches[row] = sum(found.values())

    def rows(self) -> Iterator[Row]:
        for row in self._left.rows():
            if row in self._matches:
                yield from self._pairs(row, self._matching(row))
                once = self._together(row)
            else:
                once = self._alone(row)
            if once is not None:
                yield once

    def size(self) -> int:
        return len(self._left) + len(self._right)


class LeftJoin(Matching):
    """OPTIONAL; ``condition`` tests a joined row."""

    def __init__(
        self, left: Node, right: Node, condition: Condition | None = None, text: str = ""
    ) -> None:
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))
        _, loose = join_key(left, right)
        merge = merged(left.variables, right.variables, variables, loose)
        test = None if condition is None else _of_joined(condition, merge)
        pad = (None,) * (len(variables) - len(left.variables))
        super().__init__(left, right, variables, left.certain, test, alone=pad)
        self._merge = merge
        self._text = text

    def _pairs(self, left: Row, right: Bag) -> list[Row]:
        if all(count == 1 for count in right.values()):
            return self._merge(left, right)
        return self._merge(left, [row for row, count in right.items() for _ in range(count)])

    def describe(self) -> str:
        keys, loose = join_key(*self.inputs)
        on = ", ".join(f"?{name}" for name in (*keys, *loose))
        text = f"LeftJoin on {on}" if on else "LeftJoin"
        return f"{text} if {self._text}" if self._text else text


class Minus(Matching):
    """MINUS: left rows that agree with no right row they share a bound variable with."""

    def __init__(self, left: Node, right: Node) -> None:
        keys, loose = join_key(left, right)
        test: Callable[[Row, Row], bool] | None = None
        if not keys:
            # Without a variable that both always bind, the domains may be disjoint.
            test = overlapping(left.variables, right.variables, loose) if loose else _never
        super().__init__(left, right, left.variables, left.certain, test, alone=())

    def describe(self) -> str:
        keys, loose = join_key(*self.inputs)
        return f"Minus on {', '.join(f'?{name}' for name in (*keys, *loose))}"


class Mark(Matching):
    """EXISTS: each left row with one more variable, that says whether the right matches it.

    ``condition`` tests a joined row: the filters of the pattern that speak of outer variables.
    """

    def __init__(
        self,
        left: Node,
        right: Node,
        flag: str,
        condition: Condition | None = None,
    ) -> None:
        everything = tuple(dict.fromkeys((*left.variables, *right.variables)))
        _, loose = join_key(left, right)
        test = None
        if condition is not None:
            merge = merged(left.variables, right.variables, everything, loose)
            test = _of_joined(condition, merge)
        variables, certain = (*left.variables, flag), left.certain | {flag}
        super().__init__(left, right, variables, certain, test, alone=(FALSE,), together=(TRUE,))

    def describe(self) -> str:
        return f"Mark ?{self.variables[-1]} where a match exists"


def _of_joined(
    condition: Condition, merge: Callable[[Row, list[Row]], list[Row]]
) -> Callable[[Row, Row], bool]:
    def test(left: Row, right: Row) -> bool:
        rows = merge(left, [right])
        return bool(rows) and condition(rows[0])

    return test


def _both(
    first: Callable[[Row, Row], bool], second: Callable[[Row, Row], bool]
) -> Callable[[Row, Row], bool]:
    return lambda left, right: first(left, right) and second(left, right)


def _never(_left: Row, _right: Row) -> bool:
    return False
