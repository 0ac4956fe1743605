"""The alerts of continuous queries with ALERT: one for each solution, until that is gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from sensorstream.model.events import Alert, Cleared
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import Literal, Term
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_planner import is_in_time
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import AlertClause, Relation
from sensorstream.sparql.dotr.dotr_syntax import TimedRule
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.selection_rules import RunningRules, values_of

KIND: Final = "query"
"""The kind of these alerts; their ``rule`` is the name of the query."""
MOST: Final = 1000
"""Alerts that one query raises at one time; a last one says how many more there would be."""
Found: TypeAlias = tuple[str, Instant]
"""The id of the alerts that a query raises when it begins, and their time."""
_HOLE: Final = re.compile(r"\{\?(\w+)\}")


@frozen
class SolutionCounts:
    """The present numbers of solutions of a query by key."""

    query: str
    keys: Mapping[str, int]


@mutable
class _Alerting:
    """The ALERT clauses of a text; by rule over time, or by None for a query."""

    clauses: Mapping[str | None, AlertClause]
    relation: Relation | None
    rules: Mapping[str, TimedRule] = field(default_factory=dict)
    keys: Counter[str] = field(default_factory=Counter)


class QueryAlerts:
    """The alerts of the queries of one engine.

    A new solution raises one, and so does a graph that a rule over time makes; a solution in a
    whole result (RSTREAM) raises it again each time; with DSTREAM a removed one raises it. Without
    such a word the alert of a key ends when the last solution with that key has gone; those of
    rules over time end with their text only.
    """

    def __init__(self) -> None:
        self._alerting: dict[str, _Alerting] = {}
        self._told: list[tuple[str, Report]] = []
        # Alerts that end with their queries, by query and key, until an outcome tells of it.
        self._over: list[tuple[str, str | None]] = []

    def begin(self, running: ContinuousQuery, found: Found | None = None) -> None:
        """Begin with a query, maybe in place of one of its name. Solutions that it finds already
        raise nothing, but with ``found`` they do, unless their alert is open. Open alerts of the
        replaced query go on if the new one says when they end, and finds them.
        """
        query, name = running.query, running.name
        before = self._alerting.pop(name, None)
        if isinstance(running, RunningRules):
            self._end(name, before)
            clauses: dict[str | None, AlertClause] = {
                each.name: each.alert for each in running.rules.values() if each.alert is not None
            }
            if clauses:
                self._alerting[name] = _Alerting(clauses, Relation.ISTREAM, running.rules)
            return
        if query.alert is None:
            self._end(name, before)
            return
        # What a pattern in time finds is over when it is found.
        relation = Relation.ISTREAM if is_in_time(query) else running.schedule.relation
        self._alerting[name] = alerting = _Alerting({None: query.alert}, relation)
        news: list[Row] = []
        if relation is None:
            known = before.keys if before is not None and before.relation is None else ()
            for row in running.result():
                values = dict(zip(running.root.variables, row, strict=False))
                key = _key(query.alert, values)
                if found is None or key in known:
                    alerting.keys[key] += 1
                else:
                    news.append(row)
        if found is not None and news:
            told = Report(name, found[1], RowOperation.ADDED, running.variables, news)
            self._told.append((found[0], told))
        if before is not None and before.relation is None and relation is None:
            # What is told now is not counted yet; it was not open before.
            self._over += ((name, key) for key in before.keys if key not in alerting.keys)
        else:
            self._end(name, before)

    def end(self, name: str) -> None:
        """End a query and its open alerts."""
        self._end(name, self._alerting.pop(name, None))

    def lose(self, name: str) -> None:
        """End the open alerts of a query that cannot run any more after a restart."""
        self._alerting.pop(name, None)
        self._over.append((name, None))

    def _end(self, name: str, alerting: _Alerting | None) -> None:
        if alerting is not None:
            self._over.append((name, None))

    @property
    def ending(self) -> bool:
        """Whether :meth:`over` has something to tell."""
        return bool(self._over)

    def over(self, message: str, time: Instant, place: int) -> tuple[Cleared, ...]:
        """The alerts that have ended with their queries since the last call."""
        over, self._over = self._over, []
        return tuple(Cleared(name, KIND, key, time, message, place) for name, key in over)

    def take(self, id: str, report: Report) -> None:
        """Take a report; ``id`` is its id."""
        alerting = self._alerting.get(report.query)
        if alerting is not None and report.rule in alerting.clauses:
            self._told.append((id, report))

    def raised(self, message: str, raised: int) -> tuple[tuple[Alert, ...], tuple[Cleared, ...]]:
        """The alerts and ends from the reports since the last call, in order. ``message`` is the
        entry at which they were reported; ``raised`` how many alerts of rules it raised before.
        """
        if not self._told:
            return (), ()
        alerts: list[Alert] = []
        cleared: list[Cleared] = []
        told, self._told = self._told, []
        for (name, time), group in groupby(told, lambda each: (each[1].query, each[1].time)):
            alerting = self._alerting.get(name)
            if alerting is None:
                continue
            gone: dict[str, None] = {}
            instant = list(group)
            for _, report in instant if alerting.relation is None else ():
                gone.update(_count(alerting, report))
            for key in gone:
                if alerting.keys[key] <= 0:
                    del alerting.keys[key]
                    place = raised + len(alerts)
                    cleared.append(Cleared(name, KIND, key, time, message, place))
            alerts += _alerts(alerting, instant, message)
        return tuple(alerts), tuple(cleared)

    def state(self) -> tuple[SolutionCounts, ...]:
        return tuple(
            SolutionCounts(name, dict(each.keys))
            for name, each in self._alerting.items()
            if each.keys
        )

    def restore(self, state: Sequence[SolutionCounts]) -> None:
        """Go on from a state; the queries run already."""
        keys = {each.query: each.keys for each in state}
        for name, alerting in self._alerting.items():
            alerting.keys = Counter(keys.get(name, {}))


def _count(alerting: _Alerting, report: Report) -> Iterator[tuple[str, None]]:
    """Count the solutions by key; gives the keys of those that went."""
    weight = -1 if report.operation is RowOperation.REMOVED else 1
    for values in _solutions(alerting, report):
        key = _key(alerting.clauses[report.rule], values)
        alerting.keys[key] += weight
        if weight < 0:
            yield key, None


def _alerts(
    alerting: _Alerting, told: Sequence[tuple[str, Report]], message: str
) -> Iterator[Alert]:
    known: set[str] = set()
    more = 0
    going = alerting.relation is Relation.DSTREAM
    for told_id, report in told:
        if (report.operation is RowOperation.REMOVED) is not going:
            continue
        clause = alerting.clauses[report.rule]
        for number, values in enumerate(_solutions(alerting, report), 1):
            key = _key(clause, values)
            if len(alerting.clauses) > 1:
                key = f"{report.rule}: {key}"
            if key in known:
                continue
            known.add(key)
            if len(known) > MOST:
                more += 1
                continue
            text = _filled(clause.text, values)
            yield _alert(f"{told_id}-{number}", report, clause.severity, text, key, message)
    if more:
        told_id, last = told[-1]
        text = f"{more} more solutions raise no alert: at most {MOST} do at one time"
        severity = alerting.clauses[last.rule].severity
        yield _alert(f"{told_id}-more", last, severity, text, "", message)


def _alert(id: str, report: Report, severity: str, text: str, key: str, message: str) -> Alert:
    return Alert(id, report.query, KIND, severity, text, key, report.time, message)


def _solutions(alerting: _Alerting, report: Report) -> Iterator[Mapping[str, Term | None]]:
    if report.rule is not None:
        yield values_of(alerting.rules[report.rule].template, report.triples or ())
    for row in report.rows:
        yield dict(zip(report.variables, row, strict=False))


def _key(clause: AlertClause, values: Mapping[str, Term | None]) -> str:
    return _filled(clause.text if clause.key is None else clause.key, values)


def _filled(template: str, values: Mapping[str, Term | None]) -> str:
    """The text with the values of a solution; what is unbound is empty."""

    def value(match: re.Match[str]) -> str:
        term = values.get(match[1])
        if term is None:
            return ""
        return term.lexical if isinstance(term, Literal) else str(term)

    return _HOLE.sub(value, template)
