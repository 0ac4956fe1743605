"""Join and SEQ, EQUALS and their optional forms, OPTIONAL, MINUS and EXISTS over intervals.

The memory of each follows from the order of time: at the instant t all inputs end at t. So SEQ
keeps its left side only (a left row that comes later cannot precede a right one), EQUALS keeps
nothing beyond the instant, and OPTIONAL keeps its optional side.

Source: "EP-SPARQL", section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_expressions import rank_of
from sensorstream.network.intervals.interval_node import (
    Kept,
    Lasting,
    Present,
    TimedNode,
    by_instant,
    ended,
    order_of_use,
)
from sensorstream.network.node import Node, Past
from sensorstream.network.operators.join import JoinOperator, Sides
from sensorstream.network.operators.matching import MatchTest
from sensorstream.network.plan import nodes as plans
from sensorstream.network.rows import TIMES, TimedRow, key_of, slots_of
from sensorstream.sparql.algebra import Consumption
from sensorstream.sparql.variable_scope import names_in

Test = Callable[[TimedRow], bool]


class TimedJoin(TimedNode, JoinOperator):
    """Solutions of both sides that agree, in the hull of their intervals; of EQUALS, in the same.

    To EQUALS, what holds always has no interval.
    """

    def __init__(self, plan: plans.JoinPlan | plans.EqualsPlan, left: Node, right: Node) -> None:
        self._equal = isinstance(plan, plans.EqualsPlan)
        # Rows that only meet what holds always need not be remembered.
        idle = {left: plan.left.is_timeless, right: plan.right.is_timeless}
        self._sides_kept: list[Lasting] = []

        def memory(key: Callable[[TimedRow], Any], other: Node) -> Lasting:
            made: Lasting = Present(key)
            if isinstance(plan, plans.JoinPlan):
                made = Kept(key, plan.longest, idle=idle[other])
            self._sides_kept.append(made)
            return made

        super().__init__(left, right, plan.variables, TIMES if self._equal else (), memory)

    def flush(self) -> None:
        left, right = self.inputs
        for now, lefts, rights in by_instant(left.added, right.added):
            found: list[TimedRow] = []
            for side in self._sides_kept:
                side.forget(now)
            if lefts:
                self._join(lefts, self._of_left, found)
                self._left.update(lefts, ())
            if rights:
                self._join(rights, self._of_right, found)
                self._right.update(rights, ())
            self.give(found)

    def renew(self) -> None:
        if self._equal:
            return
        for side, source in zip(self._sides_kept, self.inputs, strict=True):
            side.renew(source.rows())
        lefts, rights = (side.always for side in self._sides_kept)
        joined = self._of_left[2]
        found: list[TimedRow] = []
        for at in [at for at in lefts if at in rights]:
            for left in lefts[at]:
                self.meter.take(len(rights[at]))
                found += joined(left, rights[at])
        self.always = list(dict.fromkeys(found))

    def kept(self) -> Sequence[tuple[int, Past]]:
        return () if self._equal else tuple(enumerate(self._sides_kept))


class TimedSeq(TimedNode):
    """SEQ: the right starts strictly after the left has ended."""

    def __init__(self, plan: plans.SeqPlan, left: Node, right: Node, test: Test | None) -> None:
        super().__init__((left, right), plan.variables, plan.certain)
        sides = Sides(left, right)
        self._right_key, self._joined = sides.right_key, sides.joined(backward=True)
        rank = rank_of(plan) if plan.unrestricted else None
        self._lefts = Kept(sides.left_key, plan.longest, rank=rank)
        self._test = test
        self._longest = plan.longest

    def flush(self) -> None:
        left, right = self.inputs
        kept = self._lefts
        for now, lefts, rights in by_instant(left.added, right.added):
            kept.forget(now)
            if rights:
                self.give(self._found(rights))
            kept.add(lefts)

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        kept, key, longest = self._lefts, self._right_key, self._longest
        found: list[TimedRow] = []
        for right in rights:
            if not (near := kept.fitting(key(right), right)):
                continue
            start, end = right[0], right[1]
            since = None if longest is None else end - longest
            lefts = [
                left
                for left in self.meter.through(near)
                if left[1] < start and (since is None or left[0] >= since)
            ]
            if lefts:
                joined = self._joined(right, lefts)
                found += joined if self._test is None else filter(self._test, joined)
        return found

    def _fits(self, left: TimedRow, right: TimedRow) -> bool:
        self.meter.take(1)
        return any(map(self._test or bool, self._joined(right, (left,))))

    def kept(self) -> Sequence[tuple[int, Past]]:
        return ((0, self._lefts),)


class RecentSeq(TimedSeq):
    """SEQ RECENT: with the left rows that ended last; of these, those that started last."""

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        found: list[TimedRow] = []
        for right in rights:
            latest: list[TimedRow] = []
            for left in reversed(self._lefts.before(self._right_key(right), right[0])):
                if latest and (left[1] < latest[0][1] or left[0] < latest[0][0]):
                    if left[1] < latest[0][1]:
                        break
                    continue
                if self._fits(left, right):
                    if latest and left[0] > latest[0][0]:
                        latest = []
                    latest.append(left)
            found += self._joined(right, latest)
        return found


class ChronologicalSeq(TimedSeq):
    """SEQ CHRONOLOGICAL: with the left row that ended first; a row of either side is used once.

    Rows of one interval are used in the order of their bindings, whatever the order of arrival.
    """

    def _found(self, rights: Iterable[TimedRow]) -> list[TimedRow]:
        found: list[TimedRow] = []
        left_order, right_order = (order_of_use(each.variables) for each in self.inputs)
        for right in sorted(rights, key=right_order):
            key = self._right_key(right)
            first: TimedRow | None = None
            for left in self._lefts.before(key, right[0]):
                if first is not None and left[1] > first[1]:
                    break
                earlier = first is None or left_order(left) < left_order(first)
                if earlier and not self._lefts.is_used(key, left) and self._fits(left, right):
                    first = left
            if first is not None:
                self._lefts.use(key, first)
                found += self._joined(right, (first,))
        return found


SEQ: Final[dict[Consumption, type[TimedSeq]]] = {
    Consumption.UNRESTRICTED: TimedSeq,
    Consumption.RECENT: RecentSeq,
    Consumption.CHRONOLOGICAL: ChronologicalSeq,
}


class _Ended(Lasting):
    """Rows that have ended, by a key; of rows that tests cannot tell apart, one stays."""

    def __init__(self, key: Callable[[TimedRow], Any], looks: Callable[[TimedRow], Any]) -> None:
        super().__init__(key)
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

    def at(self, key: Any) -> Sequence[TimedRow]:
        alike, always = self._rows.get(key), self.always.get(key)
        return [*(() if alike is None else alike.values()), *(always or ())]

    def forget(self, now: Instant) -> None:
        """Do nothing: a row that has ended stays so."""

    def happened(self) -> Iterator[TimedRow]:
        everything = (row for alike in self._rows.values() for row in alike.values())
        return iter(sorted(everything, key=ended))


class TimedMatching(TimedNode):
    """OPTIONAL and its forms in time, MINUS and EXISTS: left rows with what has ended by then.

    All right rows of an instant come before its left rows, by strata (:mod:`.query_strata`).
    """

    def __init__(
        self,
        plan: plans.LeftJoinPlan | plans.MinusPlan | plans.Mark,
        left: Node,
        right: Node,
        question: MatchTest,
    ) -> None:
        super().__init__((left, right), plan.variables, plan.certain)
        self._question = question
        self._left_key = question.sides.left_key
        self._operator = plan.operator if isinstance(plan, plans.LeftJoinPlan) else ""
        self._rights: Lasting
        self._before: Kept | None = None
        right_key = question.sides.right_key
        if isinstance(plan, plans.LeftJoinPlan):
            kept = Kept(right_key, plan.longest, last=True)
            self._rights = kept if plan.remembers else Present(right_key)
            self._before = kept if plan.operator == "OPTIONALSEQ" else None
        else:
            asked = plan.conditions if isinstance(plan, plans.Mark) else ()
            wanted = set(left.variables).union(*map(names_in, asked)).difference(TIMES)
            places = [place for name, place in slots_of(right.variables).items() if name in wanted]
            self._rights = _Ended(right_key, key_of(places))

    def flush(self) -> None:
        left, right = self.inputs
        kept, before = self._rights, self._before
        for now, lefts, rights in by_instant(left.added, right.added):
            kept.forget(now)
            if before is None:
                kept.add(rights)
            found: list[TimedRow] = []
            for row in lefts:
                at = self._left_key(row)
                found += self._given(
                    row, kept.at(at) if before is None else before.before(at, row[0])
                )
            if before is not None:
                kept.add(rights)
            self.give(found)

    def _given(self, row: TimedRow, others: Iterable[TimedRow]) -> list[TimedRow]:
        question, test = self._question, self._question.test
        matches: list[TimedRow] = []
        for other in others:
            self.meter.take(1)
            if test is None or test(row, other):
                matches.append(other)
                if question.joined is None:
                    # The first match shows that there is one.
                    break
        return question.given(row, matches)

    def renew(self) -> None:
        left, right = self.inputs
        if self._operator in ("", "OPTIONAL"):
            # Rows that hold always are neither before nor equal to any.
            self._rights.renew(right.rows())
        # Rows that happen make no difference to those that hold always.
        key, always = self._left_key, self._rights.always
        found = (self._given(row, always.get(key(row), ())) for row in left.rows())
        self.always = list(dict.fromkeys(each for rows in found for each in rows))

    def kept(self) -> Sequence[tuple[int, Past]]:
        return () if self._operator == "EQUALSOPTIONAL" else ((1, self._rights),)
