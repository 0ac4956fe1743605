"""MINUS and EXISTS over intervals: whether something that agrees has ended by then.

What has ended stays so: of rows that agree in all that is asked of them one is enough, for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.node import Memory, Sides, TimedNode, by_key, ended
from sensorstream.network.intervals.plan import TimedRow
from sensorstream.network.operators.join import join_key
from sensorstream.network.rows import key_of, overlapping, slots_of
from sensorstream.sparql.scope import names_in
from sensorstream.sparql.values import FALSE, TRUE

_Pair = Callable[[TimedRow, TimedRow], bool]
_NO_ROWS: Final[Sequence[TimedRow]] = ()


class _Ended:
    """Rows that have ended, one of those that look alike, by a key."""

    def __init__(self, key: Callable[[TimedRow], Any], looks: Callable[[TimedRow], Any]) -> None:
        self._key = key
        self._looks = looks
        self._rows: dict[Any, dict[Any, TimedRow]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Iterable[TimedRow]) -> None:
        looks = self._looks
        for row in rows:
            alike = self._rows.setdefault(self._key(row), {})
            at = looks(row)
            if at not in alike:
                alike[at] = row
                self._size += 1

    def at(self, key: Any) -> Iterable[TimedRow]:
        alike = self._rows.get(key)
        return _NO_ROWS if alike is None else alike.values()

    def forget(self, now: int) -> None:
        """Nothing: it has ended for good."""

    def rows(self) -> Iterator[TimedRow]:
        everything = (row for alike in self._rows.values() for row in alike.values())
        return iter(sorted(everything, key=ended))


class TimedMatching(TimedNode):
    """MINUS and EXISTS: asks of each left row whether a right row matches that has ended by then.

    MINUS gives those that have none, EXISTS all of them and the answer. ``test`` is of the row that
    a left and a right row make together.
    """

    def __init__(
        self,
        plan: timed.Minus | timed.Mark,
        left: TimedNode,
        right: TimedNode,
        test: Callable[[TimedRow], bool] | None = None,
    ) -> None:
        super().__init__(plan, left, right)
        self._sides = sides = Sides(left, right)
        self._marks = isinstance(plan, timed.Mark)
        wanted, hull = set(left.variables), sides.hull
        self._test: _Pair | None = None
        if isinstance(plan, timed.Mark):
            wanted.update(*map(names_in, plan.conditions))
            if test is not None:
                self._test = lambda one, other: test(hull(one, other))
        else:
            keys, loose = join_key(left, right)
            if not keys:
                # Without a variable that both always bind, the domains may be disjoint.
                self._test = (
                    overlapping(left.variables, right.variables, loose) if loose else _never
                )
        places = [place for name, place in slots_of(right.variables).items() if name in wanted]
        self._rights = _Ended(sides.right_key, key_of(places))
        self._always: dict[Any, list[TimedRow]] = {}

    def _matched(self, row: TimedRow, kept: Iterable[TimedRow]) -> bool:
        at, agree, test = self._sides.left_key(row), self._sides.agree, self._test
        for rows in (kept, self._always.get(at, _NO_ROWS)):
            for other in rows:
                self.meter.take(1)
                if (agree is None or agree(row, other)) and (test is None or test(row, other)):
                    return True
        return False

    def _given(self, row: TimedRow, matched: bool) -> list[TimedRow]:
        """What is given out for a left row."""
        if self._marks:
            return [(*row[:-2], TRUE if matched else FALSE, *row[-2:])]
        return [] if matched else [row]

    def flush(self) -> None:
        left, right = self.inputs
        rights, key = self._rights, self._sides.left_key
        rights.add(right.added)
        found: list[TimedRow] = []
        for row in left.added:
            found += self._given(row, self._matched(row, rights.at(key(row))))
        self.give(found)

    def renew(self) -> None:
        left, right = self.inputs
        self._always = by_key(right.always, self._sides.right_key)
        # What happens makes no difference to what holds always.
        self.always = [
            found for row in left.always for found in self._given(row, self._matched(row, ()))
        ]

    def kept(self) -> Sequence[tuple[int, Memory]]:
        return ((1, self._rights),)


def _never(_left: TimedRow, _right: TimedRow) -> bool:
    return False
