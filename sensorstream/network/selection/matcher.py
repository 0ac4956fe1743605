"""Finds what a rule fires on: the events that its pattern takes, for each event of its trigger.

Conditions decide which events are candidates, before the first or last of them is taken. Of
several candidates of the first or last moment all are taken. What is consumed is gone from the
next moment on. So nothing depends on the order in which the events of one moment come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.dotr.syntax import Pick
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Instant
from sensorstream.network.aggregates import Kind, kind_of
from sensorstream.network.budget import Meter
from sensorstream.network.expressions.expression_functions import Value, test_of, value_of
from sensorstream.network.rows import Row, slots_of
from sensorstream.network.selection.plan import Aggregated, Events, Part, Pattern, Scope, Taken
from sensorstream.network.selection.store import Lane, Store, key_of
from sensorstream.sparql.algebra import Comparison, Expression, Variable
from sensorstream.sparql.scope import names_in

Test: TypeAlias = Callable[[Row], bool]
Found: TypeAlias = tuple[Row, tuple[Instant, ...]]
"""What is bound so far, and the times of the events that are taken."""
StoreOf: TypeAlias = Callable[[Events, Sequence[int], int], Store]
"""The store of a label: its events, the places of what is asked for, how long they are needed."""


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule fires: the values of ``with``, and what it has bound, with the times of its events."""

    values: Row
    bound: Row
    times: tuple[Instant, ...]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """How to find the events of a label that fit what is bound."""

    label: str
    store: Store
    keys: tuple[int, ...]
    own: Test | None
    """A test of an event by itself."""
    cross: Test | None
    """A test of what is bound together with an event."""
    scope: Scope

    def span(self, times: Sequence[Instant]) -> tuple[Instant, Instant]:
        """The first and last time of the scope."""
        last = times[self.scope.end]
        start = self.scope.start
        return last - self.scope.length if start is None else times[start], last

    def fits(self, row: Row, bound: Row) -> bool:
        """Whether an event is a candidate."""
        own, cross = self.own, self.cross
        return (own is None or own(row)) and (cross is None or cross(bound + row))

    def lanes(self, bound: Row) -> Sequence[Lane]:
        """Where its candidates are."""
        return self.store.lanes(key_of([bound[place] for place in self.keys]))


class Matcher:
    """One rule while it runs; ``store_of`` gives it the events of its labels."""

    def __init__(self, pattern: Pattern, store_of: StoreOf, meter: Meter) -> None:
        rule = pattern.rule
        self.pattern = pattern
        self._meter = meter
        self._keeps = dict(pattern.keeps)
        trigger = pattern.trigger
        names = list(trigger.names)
        self._accepts = _test_of_all(trigger.tests, trigger.names)
        self.name = Literal(rule.name)
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
        for part in pattern.parts:
            candidates = self._candidates(part, names, store_of)
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
        self._holds = _test_of_all(pattern.conditions, names)
        slots = slots_of(names)
        self._values: list[Value] = [value_of(value, slots) for _, value in rule.values]
        self.consumed: dict[str, dict[tuple[Instant, Row], None]] = {
            label: {} for label in rule.consumed
        }
        self._spared = 0

    def _candidates(self, part: Part, names: Sequence[str], store_of: StoreOf) -> _Candidates:
        events = part.events
        own = [test for test in events.tests if names_in(test) <= set(events.names)]
        cross = [test for test in events.tests if test not in own]
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
            _test_of_all(own, events.names),
            _test_of_all(cross, (*names, *events.names)),
            part.scope,
        )

    def accepts(self, row: Row) -> bool:
        """Whether an event of the trigger's selector is one of the trigger."""
        return self._accepts is None or self._accepts(row)

    def firings(self, row: Row, time: Instant) -> list[Firing]:
        """What the rule fires on because of an event of its trigger.

        Raises:
            Overrun: that takes more than the limits.
        """
        found: list[Found] = [(row, (time,))]
        for pick, candidates in self._taken:
            take = self._each if pick is Pick.EACH else self._ends
            found = [one for each in found for one in take(each, candidates, pick)]
            if not found:
                return []
            self._meter.take(len(found))
        firings = []
        for each in found:
            bound = self._completed(*each)
            if bound is not None:
                values = tuple([value(bound) for value in self._values])
                firings.append(Firing(values, bound, each[1]))
        return firings

    def _each(self, found: Found, candidates: _Candidates, _: Pick) -> Iterator[Found]:
        bound, times = found
        first, last = candidates.span(times)
        gone = self.consumed.get(candidates.label)
        for lane in candidates.lanes(bound):
            rows = lane.rows
            for place in self._meter.through(lane.span(first, last)):
                row = rows[place]
                if gone and (lane.times[place], row) in gone:
                    continue
                if candidates.fits(row, bound):
                    yield bound + row, (*times, lane.times[place])

    def _ends(self, found: Found, candidates: _Candidates, pick: Pick) -> list[Found]:
        """With all candidates of the first, or of the last, moment that has any."""
        bound, times = found
        first, last = candidates.span(times)
        gone = self.consumed.get(candidates.label)
        earliest = pick is Pick.FIRST
        at: Instant | None = None
        rows: list[Row] = []
        for lane in candidates.lanes(bound):
            span = lane.span(first, last)
            for place in self._meter.through(span if earliest else span[::-1]):
                time, row = lane.times[place], lane.rows[place]
                if at is not None and (time > at if earliest else time < at):
                    break
                if (gone and (time, row) in gone) or not candidates.fits(row, bound):
                    continue
                if time != at:
                    at, rows = time, []
                rows.append(row)
        return [] if at is None else [(bound + row, (*times, at)) for row in rows]

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
                if candidates.fits(rows[place], bound):
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


def _test_of_all(conditions: Sequence[Expression], names: Sequence[str]) -> Test | None:
    slots = slots_of(names)
    tests = [test_of(each, slots) for each in conditions]
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)


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
        for row in rows:
            state.take(value(row), 1)
        return (kind.result(state),)

    return aggregated
