"""Finds the firings of rules: the events that their pattern takes, for each event of the trigger.

Rules that differ only in tests of single events (``?v > 30``) run together as *members* of one
matcher, which joins their events with those taken before once for all. Conditions decide which
events are candidates, before the first or last of them is taken. All candidates of the first or
last moment are taken. A consumed event is gone from the next moment on. So nothing depends on the
order in which the events of one moment come.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from typing import Final, TypeAlias

from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Instant
from sensorstream.network.aggregates import AggregationKind, kind_of
from sensorstream.network.budget import Budget, Meter
from sensorstream.network.expressions.expression_functions import Value, value_of
from sensorstream.network.intervals.interval_node import Lane
from sensorstream.network.rows import Row, instantiated, slots_of
from sensorstream.network.selection.event_store import EventRows, key_of
from sensorstream.network.selection.member_tests import Members, MemberTests, Test, test_of_all
from sensorstream.network.selection.running_rules import RuleMember
from sensorstream.network.selection.selection_plan import (
    Events,
    EventScope,
    RulePart,
    own_and_cross,
)
from sensorstream.sparql.algebra import Aggregate, Comparison, Expression, Variable
from sensorstream.sparql.dotr.dotr_syntax import Pick, TimedRule
from sensorstream.sparql.walk import nodes

Found: TypeAlias = tuple[Row, tuple[Instant, ...], Members]
"""The bound values, the times of the events taken, and the rules that take them."""
_PREFIX: Final = "urn:dotr:"
_FIRST: Final = (0,)
"""Absences and aggregates are the same for all members."""
StoreOf: TypeAlias = Callable[[Events, Sequence[int]], EventRows]
"""Gives the store of a label, by its events and the places they are looked up by."""


@frozen
class MatchedRule:
    """A firing: the values of ``with``, the bound values, and the times of the events."""

    values: Row
    bound: Row
    times: tuple[Instant, ...]
    members: Members


GraphsOf: TypeAlias = Callable[[MatchedRule, Sequence[Literal]], Iterator[Row]]
"""Makes a row of each rule that fires, from a firing and their names: name, terms of triples."""


@frozen
class Candidates:
    """The events of a label that fit the bound values."""

    label: str
    store: EventRows
    keys: tuple[int, ...]
    own: MemberTests
    cross: Test | None
    """A test of the bound values together with an event."""
    scope: EventScope

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

    def wanted(self, row: Row) -> bool:
        """Whether an event may be a candidate of some member."""
        return bool(self.own.passed(row))

    def lanes(self, bound: Row) -> Sequence[Lane]:
        """The lanes that have its candidates."""
        return self.store.lanes(key_of([bound[place] for place in self.keys]))


class Matcher:
    """Runs rules of one likeness; ``store_of`` gives the events of their labels.

    Rules with aggregates or absences are together only if they have seen the same moments.
    """

    def __init__(self, members: Sequence[RuleMember], store_of: StoreOf, budget: Budget) -> None:
        patterns = [each.pattern for each in members]
        pattern = patterns[0]
        rule = pattern.rule
        self.pattern = pattern
        self.members = members
        self.names = [Literal(each.rule.name) for each in patterns]
        self.graphs = maker(rule)
        self.rulesets = list(dict.fromkeys(each.ruleset for each in members))
        # Rules of several texts share the limit of all of them.
        self._meter = Meter(budget)
        trigger = pattern.trigger
        names = list(trigger.variables)
        self._accepts = MemberTests(
            [own_and_cross(each.trigger)[0] for each in patterns], trigger.variables
        )
        self.candidates: list[Candidates] = []
        self._taken: list[tuple[Pick, Candidates]] = []
        self._later: list[tuple[Candidates, Callable[[Iterable[Row]], Row] | None]] = []
        # The columns of the variables of each label that is taken.
        self._columns: list[slice] = []
        for number, part in enumerate(pattern.parts):
            alike = [each.parts[number].events for each in patterns]
            candidates = self._candidates(part, alike, names, store_of)
            self.candidates.append(candidates)
            if part.pick is not None:
                own = part.events.variables
                self._columns.append(slice(len(names), len(names) + len(own)))
                names += own
                self._taken.append((part.pick, candidates))
            elif part.aggregate is None:
                self._later.append((candidates, None))
            else:
                self._later.append(
                    (candidates, _aggregation(part.aggregate, part.events.variables))
                )
                names.append(part.variable)
        self._consumes = [
            place for place, (_, each) in enumerate(self._taken) if each.label in rule.consumed
        ]
        self._holds = test_of_all(pattern.conditions, names)
        slots = slots_of(names)
        self._values: list[Value] = [value_of(value, slots) for _, value in rule.values]
        self._consumed = [each.ruleset.consumed[each.number] for each in members]
        since = [each.ruleset.since for each in members]
        self._since = since if any(each is not None for each in since) else None

    def _candidates(
        self, part: RulePart, alike: Sequence[Events], names: Sequence[str], store_of: StoreOf
    ) -> Candidates:
        events = part.events
        cross = own_and_cross(events)[1]
        keys, places = list[int](), list[int]()
        for test in cross:
            if (pair := _equality(test, names, events.variables)) is not None:
                keys.append(pair[0])
                places.append(pair[1])
        return Candidates(
            events.label,
            store_of(events, places),
            tuple(keys),
            MemberTests([own_and_cross(each)[0] for each in alike], events.variables),
            test_of_all(cross, (*names, *events.variables)),
            part.scope,
        )

    def accepts(self, row: Row) -> bool:
        """Whether an event of the trigger's selector makes some rule look for others."""
        return bool(self._accepts.passed(row))

    def firings(self, row: Row, time: Instant) -> list[MatchedRule]:
        """The firings by an event of the trigger's selector; raises Overrun beyond the limits."""
        members = self._accepts.passed(row)
        if not members:
            return []
        found: list[Found] = [(row, (time,), members)]
        for pick, candidates in self._taken:
            found = [one for each in found for one in self._take(each, candidates, pick)]
            if not found:
                return []
            # The limit counts for each text.
            rows = sum(len(each[2]) for each in found)
            self._meter.take(-(-rows // len(self.rulesets)))
        firings = []
        for row, times, members in found:
            bound = self._completed(row, times)
            if bound is not None:
                values = tuple([value(bound) for value in self._values])
                firings.append(MatchedRule(values, bound, times, sorted(members)))
        return firings

    def _take(self, found: Found, candidates: Candidates, pick: Pick) -> Iterator[Found]:
        """Add each candidate, or all of the first or last moment that has any."""
        bound, times, members = found
        first, last = candidates.span(times)
        label = candidates.label if candidates.label in self.pattern.rule.consumed else None
        lanes = [
            self._events(lane, first, last, latest=pick is Pick.LAST)
            for lane in candidates.lanes(bound)
        ]
        at = itemgetter(0)
        events = (
            lanes[0] if len(lanes) == 1 else heapq.merge(*lanes, key=at, reverse=pick is Pick.LAST)
        )
        for time, moment in groupby(events, at):
            taking: set[int] = set()
            for event in moment:
                row = event[1]
                fit = candidates.fitting(row, bound, members)
                if fit and label is not None:
                    fit = [each for each in fit if (label, event) not in self._consumed[each]]
                if fit and self._since is not None:
                    fit = self._seeing(fit, time)
                if fit:
                    yield bound + row, (*times, time), fit
                    taking.update(fit)
            if pick is not Pick.EACH and taking:
                if len(taking) == len(members):
                    return
                members = [each for each in members if each not in taking]

    def _seeing(self, members: Members, time: Instant) -> Members:
        """The members that were running at a moment."""
        assert self._since is not None
        return [m for m in members if (since := self._since[m]) is None or time >= since]

    def _events(
        self, lane: Lane, first: Instant, last: Instant, *, latest: bool
    ) -> Iterator[tuple[Instant, Row]]:
        span = lane.span(first, last)
        for place in self._meter.through(span[::-1] if latest else span):
            row = lane.rows[place]
            yield row[1], row[2:]

    def _completed(self, bound: Row, times: tuple[Instant, ...]) -> Row | None:
        """The bound values with those of aggregates; None: something forbids it."""
        for candidates, aggregation in self._later:
            rows = self._scope(bound, times, candidates)
            if aggregation is not None:
                bound += aggregation(rows)
            elif next(rows, None) is not None:
                return None
        return bound if self._holds is None or self._holds(bound) else None

    def _scope(
        self, bound: Row, times: tuple[Instant, ...], candidates: Candidates
    ) -> Iterator[Row]:
        first, last = candidates.span(times)
        if self._since is not None and (since := self._since[0]) is not None:
            first = max(first, since)
        for lane in candidates.lanes(bound):
            rows = lane.rows
            for place in self._meter.through(lane.span(first, last)):
                row = rows[place][2:]
                if candidates.fitting(row, bound, _FIRST):
                    yield row

    def consume(self, firings: Iterable[MatchedRule], now: Instant) -> None:
        """Consume the events of firings at the end of a moment."""
        if not self._consumes:
            return
        for firing in firings:
            for place in self._consumes:
                event = (firing.times[place + 1], firing.bound[self._columns[place]])
                for member in firing.members:
                    self._consumed[member][self._taken[place][1].label, event] = None
            for member in firing.members:
                self._consumed[member].forget(now)


def _equality(test: Expression, names: Sequence[str], own: Sequence[str]) -> tuple[int, int] | None:
    """The places of the two sides of an equality: in the bound values, and in the event."""
    if not isinstance(test, Comparison) or test.operator != "=":
        return None
    for one, other in ((test.left, test.right), (test.right, test.left)):
        if not isinstance(one, Variable) or not isinstance(other, Variable):
            continue
        if one.name in names and other.name in own:
            return names.index(one.name), own.index(other.name)
    return None


def _aggregation(aggregate: Aggregate, names: Sequence[str]) -> Callable[[Iterable[Row]], Row]:
    kind: AggregationKind = kind_of(aggregate)
    value: Callable[[Row], object] = lambda row: row  # noqa: E731
    if aggregate.expression is not None:
        value = value_of(aggregate.expression, slots_of(names))

    def aggregated(rows: Iterable[Row]) -> Row:
        state = kind.make()
        for row in rows:
            state.take(value(row), 1)
        return (kind.result(state),)

    return aggregated


def maker(rule: TimedRule) -> GraphsOf:
    """Make a function from a firing to the graphs of the rules that fire together.

    Identifiers and blank nodes are named after the firing: a replay names them again alike. What is
    no triple (an unbound end, a literal as subject) is left out.
    """

    def named(label: BlankNode, row: Row) -> Term:
        if label in rule.identifiers:
            return IRI(f"{_PREFIX}{row[-1]}-{label[5:]}")
        return BlankNode(f"_:d{row[-1]}-{label[2:]}")

    triples = instantiated(rule.template, [name for name, _ in rule.values], named=named)
    is_plain = not any(nodes(rule.template, BlankNode))

    def graphs(firing: MatchedRule, names: Sequence[Literal]) -> Iterator[Row]:
        values = firing.values
        rows = [values] * len(names) if is_plain else _coded(firing, names)
        found = triples(rows)
        # The number of triples depends on the values alone.
        size = len(found) // len(names)
        for number, name in enumerate(names if size else ()):
            yield (name, *chain.from_iterable(found[number * size : (number + 1) * size]))

    return graphs


def _coded(firing: MatchedRule, names: Sequence[Literal]) -> Iterator[Row]:
    """The values of a firing for each rule, with a code of both."""
    digest = _digest(firing)
    for name in names:
        mine = digest.copy()
        mine.update(name.lexical.encode())
        yield (*firing.values, IRI(mine.hexdigest()))


def _digest(firing: MatchedRule) -> blake2b:
    """A hash of the bound values and times, to which the name of the rule is to be added."""
    terms = ["" if each is None else each.n3 for each in firing.bound]
    return blake2b("\x00".join((repr(firing.times), *terms, "")).encode(), digest_size=12)
