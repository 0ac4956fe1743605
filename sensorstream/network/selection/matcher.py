"""Finds what rules fire on: the events that their pattern takes, for each event of the trigger.

Rules that differ only in tests of single events (``?v > 30``) run together as *members* of one
matcher: what their events have in common with those taken before is found once for all.
Conditions decide which events are candidates, before the first or last of them is taken. Of
several candidates of the first or last moment all are taken. What is consumed is gone from the
next moment on. So nothing depends on the order in which the events of one moment come.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Pick
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Instant
from sensorstream.network.aggregates import Kind, kind_of
from sensorstream.network.budget import Meter
from sensorstream.network.expressions.expression_functions import Value, value_of
from sensorstream.network.rows import Row, slots_of
from sensorstream.network.selection.event_tests import Test, test_of_all
from sensorstream.network.selection.plan import Aggregated, Events, Part, Pattern, Scope, Taken
from sensorstream.network.selection.store import Lane, Store, key_of
from sensorstream.sparql.algebra import Comparison, Expression, Variable
from sensorstream.sparql.scope import names_in

Members: TypeAlias = Sequence[int]
"""The numbers of rules of a matcher."""
Found: TypeAlias = tuple[Row, tuple[Instant, ...], Members]
"""What is bound so far, the times of the events that are taken, and the rules that take them."""
_FIRST: Final = (0,)
"""Absences and aggregates are the same for all members."""
StoreOf: TypeAlias = Callable[[Events, Sequence[int], int], Store]
"""The store of a label: its events, the places of what is asked for, how long they are needed."""


@dataclass(frozen=True, slots=True)
class Firing:
    """Rules fire: the values of ``with``, and what is bound, with the times of the events."""

    values: Row
    bound: Row
    times: tuple[Instant, ...]
    members: Members


class _Own:
    """The tests that each member makes of an event by itself."""

    __slots__ = ("_common", "_tests")

    def __init__(self, tests: Sequence[Sequence[Expression]], names: Sequence[str]) -> None:
        common = [each for each in tests[0] if all(each in others for others in tests)]
        self._common = test_of_all(common, names)
        rest = [test_of_all([t for t in each if t not in common], names) for each in tests]
        self._tests = rest if any(rest) else None

    def passed(self, row: Row, members: Members) -> Members:
        """The members of which all tests are true."""
        if self._common is not None and not self._common(row):
            return ()
        tests = self._tests
        if tests is None:
            return members
        return [each for each in members if (test := tests[each]) is None or test(row)]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """How to find the events of a label that fit what is bound."""

    label: str
    store: Store
    keys: tuple[int, ...]
    own: _Own
    cross: Test | None
    """A test of what is bound together with an event."""
    scope: Scope

    def span(self, times: Sequence[Instant]) -> tuple[Instant, Instant]:
        """The first and last time of the scope."""
        last = times[self.scope.end]
        start = self.scope.start
        return last - self.scope.length if start is None else times[start], last

    def fitting(self, row: Row, bound: Row, members: Members) -> Members:
        """The members for which an event is a candidate."""
        if self.cross is not None and not self.cross(bound + row):
            return ()
        return self.own.passed(row, members)

    def lanes(self, bound: Row) -> Sequence[Lane]:
        """Where its candidates are."""
        return self.store.lanes(key_of([bound[place] for place in self.keys]))


def likeness(pattern: Pattern) -> Hashable:
    """What rules have in common that run together.

    They may differ in their names, and in tests of single events that they take. A rule that
    consumes events runs alone.
    """
    rule = pattern.rule
    return (
        rule.mode,
        rule.template,
        rule.identifiers,
        rule.values,
        rule.name if rule.consumed else None,
        _shape(pattern.trigger),
        tuple(
            (part.pick, _shape(part.events), part.scope) if isinstance(part, Taken) else part
            for part in pattern.parts
        ),
        pattern.conditions,
        pattern.keeps,
    )


def _shape(events: Events) -> Hashable:
    cross = tuple(_own_and_cross(events)[1])
    return events.label, events.solutions, events.pattern, events.names, cross


def _own_and_cross(events: Events) -> tuple[list[Expression], list[Expression]]:
    """The tests of an event by itself, and those together with what was taken before."""
    own = [test for test in events.tests if names_in(test) <= set(events.names)]
    return own, [test for test in events.tests if test not in own]


class Matcher:
    """Rules of one likeness while they run; ``store_of`` gives the events of their labels."""

    def __init__(self, patterns: Sequence[Pattern], store_of: StoreOf, meter: Meter) -> None:
        pattern = patterns[0]
        rule = pattern.rule
        self.pattern = pattern
        self._meter = meter
        self._keeps = dict(pattern.keeps)
        self._members = range(len(patterns))
        trigger = pattern.trigger
        names = list(trigger.names)
        self._accepts = _Own([each.trigger.tests for each in patterns], trigger.names)
        self.names = [Literal(each.rule.name) for each in patterns]
        self.stores: list[Store] = []
        self._taken: list[tuple[Pick, _Candidates]] = []
        self._later: list[tuple[_Candidates, Callable[[Iterable[Row]], Row] | None]] = []
        self._consumes = [
            place
            for place, part in enumerate(each for each in pattern.parts if isinstance(each, Taken))
            if part.events.label in rule.consumed
        ]
        # The places of the variables of each label that can be consumed.
        self._columns: dict[int, slice] = {}
        for number, part in enumerate(pattern.parts):
            alike = [each.parts[number].events for each in patterns]
            candidates = self._candidates(part, alike, names, store_of)
            if isinstance(part, Taken):
                own = part.events.names
                self._columns[len(self._taken)] = slice(len(names), len(names) + len(own))
                names += own
                self._taken.append((part.pick, candidates))
            elif isinstance(part, Aggregated):
                self._later.append((candidates, _aggregation(part, names)))
                names.append(part.variable)
            else:
                self._later.append((candidates, None))
        self._holds = test_of_all(pattern.conditions, names)
        slots = slots_of(names)
        self._values: list[Value] = [value_of(value, slots) for _, value in rule.values]
        self.consumed: dict[str, dict[tuple[Instant, Row], None]] = {
            label: {} for label in rule.consumed
        }
        self._spared = 0

    def _candidates(
        self, part: Part, alike: Sequence[Events], names: Sequence[str], store_of: StoreOf
    ) -> _Candidates:
        events = part.events
        cross = _own_and_cross(events)[1]
        keys, places = list[int](), list[int]()
        for test in cross:
            if (pair := _equality(test, names, events.names)) is not None:
                keys.append(pair[0])
                places.append(pair[1])
        store = store_of(events, places, self._keeps[events.label])
        self.stores.append(store)
        return _Candidates(
            events.label,
            store,
            tuple(keys),
            _Own([_own_and_cross(each)[0] for each in alike], events.names),
            test_of_all(cross, (*names, *events.names)),
            part.scope,
        )

    def firings(self, row: Row, time: Instant) -> list[Firing]:
        """What rules fire on because of an event of the trigger's selector.

        Raises:
            Overrun: that takes more than the limits.
        """
        members = self._accepts.passed(row, self._members)
        if not members:
            return []
        found: list[Found] = [(row, (time,), members)]
        for pick, candidates in self._taken:
            found = [one for each in found for one in self._take(each, candidates, pick)]
            if not found:
                return []
            self._meter.take(sum(len(each[2]) for each in found))
        firings = []
        for row, times, members in found:
            bound = self._completed(row, times)
            if bound is not None:
                values = tuple([value(bound) for value in self._values])
                firings.append(Firing(values, bound, times, members))
        return firings

    def _take(self, found: Found, candidates: _Candidates, pick: Pick) -> Iterator[Found]:
        """With each candidate, or with all of the first or last moment that has any."""
        bound, times, members = found
        first, last = candidates.span(times)
        gone = self.consumed.get(candidates.label)
        lanes = [
            self._events(lane, first, last, latest=pick is Pick.LAST)
            for lane in candidates.lanes(bound)
        ]
        at = itemgetter(0)
        events = (
            lanes[0] if len(lanes) == 1 else heapq.merge(*lanes, key=at, reverse=pick is Pick.LAST)
        )
        for time, moment in groupby(events, at):
            taking = set[int]()
            for event in moment:
                row = event[1]
                if gone and event in gone:
                    continue
                fit = candidates.fitting(row, bound, members)
                if fit:
                    yield bound + row, (*times, time), fit
                    taking.update(fit)
            if pick is not Pick.EACH and taking:
                members = [each for each in members if each not in taking]
                if not members:
                    return

    def _events(
        self, lane: Lane, first: Instant, last: Instant, *, latest: bool
    ) -> Iterator[tuple[Instant, Row]]:
        span = lane.span(first, last)
        for place in self._meter.through(span[::-1] if latest else span):
            yield lane.times[place], lane.rows[place]

    def _completed(self, bound: Row, times: tuple[Instant, ...]) -> Row | None:
        """What is bound, with the values of aggregates; None: something forbids it."""
        for candidates, aggregation in self._later:
            rows = self._scope(bound, times, candidates)
            if aggregation is not None:
                bound += aggregation(rows)
            elif next(rows, None) is not None:
                return None
        return bound if self._holds is None or self._holds(bound) else None

    def _scope(
        self, bound: Row, times: tuple[Instant, ...], candidates: _Candidates
    ) -> Iterator[Row]:
        first, last = candidates.span(times)
        for lane in candidates.lanes(bound):
            rows = lane.rows
            for place in self._meter.through(lane.span(first, last)):
                if candidates.fitting(rows[place], bound, _FIRST):
                    yield rows[place]

    def consume(self, firings: Iterable[Firing], now: Instant) -> None:
        """The moment is over: what its firings consume is gone."""
        for firing in firings:
            for place in self._consumes:
                event = (firing.times[place + 1], firing.bound[self._columns[place]])
                self.consumed[self._taken[place][1].label][event] = None
        if sum(map(len, self.consumed.values())) > 2 * self._spared + 16:
            for label, gone in self.consumed.items():
                oldest = now - self._keeps[label]
                self.consumed[label] = {each: None for each in gone if each[0] >= oldest}
            self._spared = sum(map(len, self.consumed.values()))


def _equality(test: Expression, names: Sequence[str], own: Sequence[str]) -> tuple[int, int] | None:
    """The places of the two sides of an equality, in what is bound and in the event."""
    if not isinstance(test, Comparison) or test.operator != "=":
        return None
    for one, other in ((test.left, test.right), (test.right, test.left)):
        if not isinstance(one, Variable) or not isinstance(other, Variable):
            continue
        if one.name in names and other.name in own:
            return names.index(one.name), own.index(other.name)
    return None


def _aggregation(part: Aggregated, names: Sequence[str]) -> Callable[[Iterable[Row]], Row]:
    kind: Kind = kind_of(part.aggregate)
    expression = part.aggregate.expression
    value: Callable[[Row], object] = lambda row: row  # noqa: E731
    if expression is not None:
        value = value_of(expression, slots_of(part.events.names))

    def aggregated(rows: Iterable[Row]) -> Row:
        state = kind.make()
        state.take(map(value, rows), 1)
        return (kind.result(state),)

    return aggregated
