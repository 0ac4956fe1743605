"""Join and SEQ, EQUALS and their optional forms, OPTIONAL, MINUS and EXISTS over intervals.

What each keeps follows from the order of time: at the instant t all inputs end at t. So SEQ
keeps its left side only (nothing that comes on the left can precede what is there on the right),
EQUALS keeps nothing beyond the instant, and OPTIONAL keeps the side that is asked for.

Source: "EP-SPARQL", section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import rank_of
from sensorstream.network.intervals.node import (
    Kept,
    Memory,
    Sides,
    TimedNode,
    by_key,
    ended,
    order_of_use,
)
from sensorstream.network.intervals.plan import TimedRow
from sensorstream.network.operators.join import join_key
from sensorstream.network.rows import key_of, overlapping, slots_of
from sensorstream.sparql.scope import names_in
from sensorstream.sparql.values import FALSE, TRUE

Test = Callable[[TimedRow], bool]


class TimedJoin(TimedNode):
    """Solutions of both sides that agree, in the hull of their intervals."""

    def __init__(self, plan: timed.Join, left: TimedNode, right: TimedNode) -> None:
        super().__init__(plan, left, right)
        self._sides = sides = Sides(left, right)
        self._lefts = Kept(sides.left_key, plan.longest)
        self._rights = Kept(sides.right_key, plan.longest)
        # What can only meet what holds always need not be remembered.
        self._left_timeless, self._right_timeless = left.timeless, right.timeless
        self._lefts_always: dict[Any, list[TimedRow]] = {}
        self._rights_always: dict[Any, list[TimedRow]] = {}

    def flush(self) -> None:
        left, right = self.inputs
        sides = self._sides
        found: list[TimedRow] = []
        now = (left.added or right.added)[0][-1]
        self._lefts.forget(now)
        self._rights.forget(now)
        for row in left.added:
            at = sides.left_key(row)
            for others in (self._rights.at(at), self._rights_always.get(at, ())):
                self._join((row,), others, found)
        if not self._right_timeless:
            self._lefts.add(left.added)
        for row in right.added:
            at = sides.right_key(row)
            for others in (self._lefts.at(at), self._lefts_always.get(at, ())):
                self._join(others, (row,), found)
        if not self._left_timeless:
            self._rights.add(right.added)
        self.give(found)

    def _join(
        self, lefts: Iterable[TimedRow], rights: Iterable[TimedRow], found: list[TimedRow]
    ) -> None:
        agree, hull = self._sides.agree, self._sides.hull
        rights = list(rights)
        for left in lefts:
            if len(rights) > 1:
                self.meter.take(len(rights))
            found += [hull(left, r) for r in rights if agree is None or agree(left, r)]

    def renew(self) -> None:
        left, right = self.inputs
        self._lefts_always = by_key(left.always, self._sides.left_key)
        self._rights_always = by_key(right.always, self._sides.right_key)
        self.always = []
        for at, rows in self._lefts_always.items():
            self._join(rows, self._rights_always.get(at, ()), self.always)

    def kept(self) -> Sequence[tuple[int, Kept]]:
        return ((0, self._lefts), (1, self._rights))


class TimedSeq(TimedNode):
    """The right starts strictly after the left has ended."""

    def __init__(
        self, plan: timed.Seq, left: TimedNode, right: TimedNode, test: Test | None
    ) -> None:
        super().__init__(plan, left, right)
        self._sides = Sides(left, right)
        rank = rank_of(plan) if plan.unrestricted else None
        self._lefts = Kept(self._sides.left_key, plan.longest, rank=rank)
        self._test = test
        self._longest = plan.longest

    def flush(self) -> None:
        left, right = self.inputs
        kept = self._lefts
        kept.forget((left.added or right.added)[0][-1])
        if right.added:
            self.give(self._found(right.added))
        kept.add(left.added)

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        kept, key, hull = self._lefts, self._sides.right_key, self._sides.hull
        agree, test, longest = self._sides.agree, self._test, self._longest
        found: list[TimedRow] = []
        for right in rights:
            start, end = right[-2], right[-1]
            since = None if longest is None else end - longest
            for left in self.meter.through(list(kept.fitting(key(right), right))):
                if left[-1] >= start or (since is not None and left[-2] < since):
                    continue
                if agree is not None and not agree(left, right):
                    continue
                row = hull(left, right)
                if test is None or test(row):
                    found.append(row)
        return found

    def _fits(self, left: TimedRow, right: TimedRow) -> bool:
        agree, test, hull = self._sides.agree, self._test, self._sides.hull
        self.meter.take(1)
        return (agree is None or agree(left, right)) and (test is None or test(hull(left, right)))

    def kept(self) -> Sequence[tuple[int, Kept]]:
        return ((0, self._lefts),)


class RecentSeq(TimedSeq):
    """SEQ RECENT: with the left rows that ended last; of these, those that started last."""

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        hull = self._sides.hull
        found: list[TimedRow] = []
        for right in rights:
            latest: list[TimedRow] = []
            for left in reversed(self._lefts.before(self._sides.right_key(right), right[-2])):
                if latest and (left[-1] < latest[0][-1] or left[-2] < latest[0][-2]):
                    if left[-1] < latest[0][-1]:
                        break
                    continue
                if self._fits(left, right):
                    if latest and left[-2] > latest[0][-2]:
                        latest = []
                    latest.append(left)
            found += [hull(left, right) for left in latest]
        return found


class ChronologicalSeq(TimedSeq):
    """SEQ CHRONOLOGICAL: with the left row that ended first; a row of either side is used once.

    Rows of one interval are used in the order of their bindings, whatever the order of arrival.
    """

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        hull = self._sides.hull
        found: list[TimedRow] = []
        left_order, right_order = (order_of_use(each.variables) for each in self.inputs)
        for right in sorted(rights, key=right_order):
            key = self._sides.right_key(right)
            first: TimedRow | None = None
            for left in self._lefts.before(key, right[-2]):
                if first is not None and left[-1] > first[-1]:
                    break
                earlier = first is None or left_order(left) < left_order(first)
                if earlier and not self._lefts.is_used(key, left) and self._fits(left, right):
                    first = left
            if first is not None:
                self._lefts.use(key, first)
                found.append(hull(first, right))
        return found


class _Now:
    """The rows of the instant at work, by a key; O(1) a row."""

    def __init__(self, key: Callable[[TimedRow], Any]) -> None:
        self._key = key
        self._instant: Instant | None = None
        self._rows: dict[Any, list[TimedRow]] = {}

    def add(self, rows: Iterable[TimedRow]) -> None:
        for row in rows:
            if row[-1] != self._instant:
                self._instant, self._rows = row[-1], {}
            self._rows.setdefault((self._key(row), row[-2]), []).append(row)

    def like(self, key: Any, row: TimedRow) -> Iterable[TimedRow]:
        """The rows with a key and the interval of another row."""
        return self._rows.get((key, row[-2]), ()) if row[-1] == self._instant else ()


class TimedEquals(TimedNode):
    """Both sides have the same interval."""

    def __init__(self, plan: timed.Equals, left: TimedNode, right: TimedNode) -> None:
        super().__init__(plan, left, right)
        self._sides = sides = Sides(left, right)
        self._lefts, self._rights = _Now(sides.left_key), _Now(sides.right_key)

    def flush(self) -> None:
        left, right = self.inputs
        sides = self._sides
        found: list[TimedRow] = []
        for row in left.added:
            for other in self._rights.like(sides.left_key(row), row):
                self._join(row, other, found)
        self._lefts.add(left.added)
        for row in right.added:
            for other in self._lefts.like(sides.right_key(row), row):
                self._join(other, row, found)
        self._rights.add(right.added)
        self.give(found)

    def _join(self, left: TimedRow, right: TimedRow, found: list[TimedRow]) -> None:
        self.meter.take(1)
        agree = self._sides.agree
        if agree is None or agree(left, right):
            found.append(self._sides.hull(left, right))


class TimedOptional(TimedNode):
    """Each left row with the right rows that fit, or by itself if none does.

    All right rows of an instant are there when its left rows come: strata see to that
    (:mod:`.strata`).
    """

    def __init__(
        self, plan: timed.Optional, left: TimedNode, right: TimedNode, test: Test | None
    ) -> None:
        super().__init__(plan, left, right)
        self._sides = sides = Sides(left, right)
        self._pad = (None,) * (len(plan.variables) - len(left.variables))
        self._test = test
        self._operator = plan.operator
        self._ended = Kept(sides.right_key, plan.longest, last=True)
        self._now = _Now(sides.right_key)
        self._always: dict[Any, list[TimedRow]] = {}

    def flush(self) -> None:
        left, right = self.inputs
        ended, key, operator = self._ended, self._sides.left_key, self._operator
        ended.forget((left.added or right.added)[0][-1])
        found: list[TimedRow] = []
        if operator == "OPTIONALSEQ":
            for row in left.added:
                found += self._with(row, ended.before(key(row), row[-2]))
            ended.add(right.added)
        elif operator == "OPTIONAL":
            ended.add(right.added)
            for row in left.added:
                at = key(row)
                found += self._with(row, [*ended.at(at), *self._always.get(at, ())])
        else:
            self._now.add(right.added)
            for row in left.added:
                found += self._with(row, self._now.like(key(row), row))
        self.give(found)

    def _with(self, row: TimedRow, others: Iterable[TimedRow]) -> list[TimedRow]:
        agree, hull, test = self._sides.agree, self._sides.hull, self._test
        found: list[TimedRow] = []
        for other in others:
            self.meter.take(1)
            if agree is None or agree(row, other):
                joined = hull(row, other)
                if test is None or test(joined):
                    found.append(joined)
        return found or [(*row[:-2], *self._pad, *row[-2:])]

    def renew(self) -> None:
        """What holds always is neither before nor equal to anything."""
        left, right = self.inputs
        if self._operator == "OPTIONAL":
            self._always = by_key(right.always, self._sides.right_key)
        key, always = self._sides.left_key, self._always
        self.always = [f for row in left.always for f in self._with(row, always.get(key(row), ()))]

    def kept(self) -> Sequence[tuple[int, Kept]]:
        return () if self._operator == "EQUALSOPTIONAL" else ((1, self._ended),)


_Pair = Callable[[TimedRow, TimedRow], bool]
_NO_ROWS: Final[Sequence[TimedRow]] = ()


class _Ended:
    """Rows that have ended, one of those that look alike, by a key.

    What has ended stays so: of rows that agree in all that is asked of them one is enough, for
    ever.
    """

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
