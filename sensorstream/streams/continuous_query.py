"""A continuous query while it runs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, TypeVar

from sensorstream.model.schedules import Multiples
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_state import (
    KeptRow,
    flat,
    keep_rows,
    kept_rows,
    row_of,
    timed_operators,
)
from sensorstream.network.node import Node, operators
from sensorstream.network.operators.delayed_groups import DelayedOperator
from sensorstream.network.ordering import order_of
from sensorstream.network.plan.nodes import Anew, Plan
from sensorstream.network.plan.plan_text import plan_text
from sensorstream.network.rows import Row, TimedRow, cancelled, instantiated, shown, slots_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query
from sensorstream.streams.patterns_in_time import Constructed
from sensorstream.streams.query_report import Report, RowOperation, Sink
from sensorstream.streams.query_shape import Schedule
from sensorstream.streams.query_state import QueryState
from sensorstream.streams.stream_window import StreamWindow

_ADDED: Final = RowOperation.ADDED
_Told = TypeVar("_Told")
LATEST: Final = 100
"""The number of solutions of a pattern in time that are kept as its result."""


class ContinuousQuery:
    """Gathers the changes of an operator's output until it is time to report them."""

    closing: Final = True

    def __init__(
        self,
        name: str,
        text: str,
        query: Query,
        root: Node,
        windows: Sequence[StreamWindow],
        schedule: Schedule,
        sink: Sink,
        plan: Plan,
    ) -> None:
        self.name = name
        self.text = text
        self.query = query
        self.root = root
        self.windows = tuple(windows)
        self.streams = tuple(dict.fromkeys(window.stream for window in windows))
        """The streams that its windows see."""
        self.schedule = schedule
        self._at_changes = schedule.kind in (algebra.ReportKind.INSTANT, algebra.ReportKind.CHANGE)
        self._at_steps = self._at_changes or schedule.kind is algebra.ReportKind.WINDOW_CLOSE
        self.plan = plan
        self.due: Instant | None = None
        """The next report by time."""
        self.reports = 0
        self.last_report: Instant | None = None
        self.on_change: Callable[[], None] | None = None
        self.number = 0
        """Its place in the order of registration."""
        self._sink = sink
        self._added: list[Row] = []
        self._removed: list[Row] = []
        # True if the two are known to share no row.
        self._cancelled = True
        # The last solutions of a pattern in time: those before are over.
        self._latest: deque[TimedRow] = deque(maxlen=LATEST)
        self._arrived = 0
        self._computed = self._steps()
        self._period_is_over = False
        form = query.form
        self._triples = None
        self._constructed: Counter[Triple] = Counter()
        self.timed = root.timed
        """Whether its rows have an interval."""
        self.follows_ends = self.timed
        """Whether it may report until all intervals that have begun are over."""
        if isinstance(form, algebra.Construct) and not self.timed:
            self._triples = instantiated(form.template, root.variables)
            self._constructed.update(self._triples(root.rows()))
        self.timed_triples: Callable[[Iterable[TimedRow]], list[Constructed]] | None = None
        """What a CONSTRUCT query makes of solutions with intervals."""
        self._key = _order(query, root)
        self._answer: bool | None = None

    @property
    def reason(self) -> str:
        """Why the query is evaluated anew instead of kept in step; empty if it is kept."""
        return self.plan.reason if isinstance(self.plan, Anew) else ""

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables of its rows, in order."""
        return shown(self.root.variables)

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        """The operator's output has changed."""
        first = not self._added and not self._removed
        self._cancelled = first and self.root.apart
        self._added += added
        self._removed += removed
        if self.on_change is not None:
            self.on_change()

    def start(self, now: Instant | None) -> None:
        """Time begins, or the query does: its first report by time is the next multiple."""
        period = self.schedule.period
        if period is not None and now is not None:
            self.due = Multiples(period).after(now - 1)

    def arrived(self, triples: int) -> None:
        """Count triples that came into its windows, once, however many windows hold them."""
        self._arrived += triples

    def elapse(self, time: Instant) -> None:
        """The time of its next report has come."""
        assert self.schedule.period is not None
        self.due = time + self.schedule.period
        self._period_is_over = True

    def skip(self, time: Instant) -> None:
        """Let the next report by time be the last one before a time, if there are several."""
        period = self.schedule.period
        if self.due is not None and period is not None and self.due < time:
            self.due = Multiples(period).last(time - 1)

    @property
    def closes(self) -> Instant | None:
        """The last of the next window steps and the next report by time."""
        dues = [self.due, *(window.stream.closes for window in self.windows)]
        return max((each for each in dues if each is not None), default=None)

    @property
    def next_report(self) -> Instant | None:
        """The time of the next report without an event; None: only an event causes one."""
        if self.schedule.kind is algebra.ReportKind.PERIOD:
            return self.due
        moves = [window.moves for window in self.windows]
        moves += [each.due for each in self._delays()]
        return min((each for each in moves if each is not None), default=None)

    @property
    def tells_at_step(self) -> bool:
        """Whether the step of a window makes it report, even if nothing else happens."""
        if not self._at_steps:
            return False
        self._cancel()
        if self._added or self._removed:
            return True
        whole = self.schedule.relation is algebra.Relation.RSTREAM
        if isinstance(self.query.form, algebra.Ask):
            return whole or self._answer is None
        return whole and next(iter(self.root.rows()), None) is not None

    def is_due(self) -> bool:
        """Whether the instant that ends now is due for a report; call it once an instant."""
        closed = False
        if self.streams:
            steps = self._steps()
            closed = steps > self._computed
            self._computed = steps
        if self._at_changes:
            self._cancel()
            return closed or bool(self._added or self._removed)
        over, self._period_is_over = self._period_is_over, False
        match self.schedule.kind:
            case algebra.ReportKind.PERIOD:
                return over
            case algebra.ReportKind.TRIPLES:
                assert self.schedule.triples is not None
                enough = self._arrived >= self.schedule.triples
                self._arrived %= self.schedule.triples
                return enough
        return closed

    def _steps(self) -> int:
        """The number of steps at which its windows have been computed."""
        return sum(stream.computed for stream in self.streams) if self.streams else 0

    @property
    def pending(self) -> bool:
        """Whether it would report if the present instant ended now."""
        self._cancel()
        triples = self.schedule.triples
        return (
            bool(self._added or self._removed)
            or self._period_is_over
            or (triples is not None and self._arrived >= triples)
            or self._steps() > self._computed
        )

    def state(self, pending: bool) -> QueryState:
        """The data that :meth:`restore` needs."""
        self._cancel()
        return QueryState(
            self.due,
            self.reports,
            self.last_report,
            () if self.timed else tuple(self._added),
            tuple(self._removed),
            self._arrived,
            self._computed,
            self._answer,
            None if self.timed else self.root.state(),
            pending,
            kept_rows(self.root),
            _at_rest(self._added if self.timed else ()),
            latest=_at_rest(self._latest),
            layout=self.layout,
            delays=tuple(tuple(each.later_changes()) for each in self._delays()),
        )

    @cached_property
    def layout(self) -> str:
        """The layout of the rows in its state; see :func:`layout_of`."""
        return layout_of(self.root, self.plan)

    def _delays(self) -> list[DelayedOperator]:
        """Its delayed groups, in an order that is the same after a restart."""
        return [each for each in operators(self.root) if isinstance(each, DelayedOperator)]

    def restore_delays(self, state: QueryState) -> None:
        """Let delayed groups go on from a state; the network settles before :meth:`restore`."""
        delays = self._delays()
        readable = state.layout == self.layout
        known = state.delays if readable else ((),) * len(delays)
        for each, changes in zip(delays, known, strict=True):
            each.await_changes(changes)

    def restore(self, state: QueryState) -> bool:
        """Continue from a state; windows and graphs must be as they were then.

        Returns False if the rows come from other operators (another build): they are left out, and
        the query continues with an empty memory.
        """
        self.due = state.due
        self.reports = state.reports
        self.last_report = state.last_report
        self._added, self._removed = [], []
        self._arrived = state.arrived
        self._computed = state.computed
        self._answer = state.answer
        readable = state.layout == self.layout
        if readable:
            self._restore_rows(state)
        if self._triples is not None:
            # The rows reported so far: the present result without the changes not yet reported.
            counts = Counter(self._triples(self.root.rows()))
            counts.subtract(self._triples(self._added))
            counts.update(self._triples(self._removed))
            self._constructed = +counts
        return readable

    def _restore_rows(self, state: QueryState) -> None:
        self._added, self._removed = list(state.added), list(state.removed)
        self._cancelled = False
        if state.operator is not None:
            self.root.restore(state.operator)
        if self.timed:
            keep_rows(self.root, state.kept)
            self._added = [row_of(each, self.root.variables) for each in state.unreported]
            self._latest.extend(row_of(each, self.root.variables) for each in state.latest)

    def _cancel(self) -> None:
        """Drop rows that came and went since the last report: they are no change."""
        if not self._cancelled:
            self._added, self._removed = cancelled(self._added, self._removed)
            self._cancelled = True

    def result(self) -> list[Row]:
        """The whole result as it is now, in the order the query asks for.

        For a pattern in time: the last :data:`LATEST` solutions that were reported.
        """
        rows: list[Row] = list(self._latest if self.timed else self.root.rows())
        if self._key is not None:
            rows.sort(key=self._key)
        return [row[2:] for row in rows] if self.timed else rows

    def graph(self) -> list[Triple]:
        """The graph that a CONSTRUCT query makes of :meth:`result`."""
        if self.timed_triples is not None:
            made = self.timed_triples(self._latest)
            return list(dict.fromkeys(triple for triple, _, _ in made))
        if self._triples is None:
            return []
        return list(dict.fromkeys(self._triples(self.root.rows())))

    def instants(self) -> list[tuple[Instant, list[TimedRow]]]:
        """Take out the unreported solutions of a pattern in time, by their ends."""
        added: list[TimedRow] = self._added
        self._added = []
        found: list[tuple[Instant, list[TimedRow]]] = []
        for row in added:
            if found and found[-1][0] == row[1]:
                found[-1][1].append(row)
            else:
                found.append((row[1], [row]))
        return found

    def report(self, time: Instant) -> None:
        """Report what the relation asks for; an empty report is not made."""
        self._cancel()
        added, removed = self._added, self._removed
        self._added, self._removed = [], []
        if self.timed:
            found = self.of_intervals(time, added)
        elif isinstance(self.query.form, algebra.Ask):
            found = self._of_answer(time)
        elif self._triples is not None:
            found = self._of_graph(time, self._triples(added), self._triples(removed))
        else:
            found = self._of_rows(time, added, removed)
        self.tell(time, found)

    def tell(self, time: Instant, found: Sequence[Report]) -> None:
        """Give out what it reports at a time."""
        if found:
            self.reports += 1
            self.last_report = time
        for each in found:
            self._sink(each)

    def of_intervals(self, time: Instant, added: list[TimedRow]) -> list[Report]:
        """Solutions with their intervals; the triples made of them, by interval."""
        if not added:
            return []
        if self._key is not None:
            added.sort(key=self._key)
        self._latest.extend(added)
        if self.timed_triples is None:
            rows = [row[2:] for row in added]
            intervals = [row[:2] for row in added]
            return [Report(self.name, time, _ADDED, self.variables, rows, None, None, intervals)]
        made: dict[tuple[Instant, Instant], list[Triple]] = {}
        for triple, start, end in self.timed_triples(added):
            made.setdefault((start, end), []).append(triple)
        return [
            Report(self.name, time, _ADDED, triples=triples, intervals=(interval,))
            for interval, triples in made.items()
        ]

    def _of_rows(self, time: Instant, added: list[Row], removed: list[Row]) -> list[Report]:
        told = self._told(added, removed, self.result)
        if added and self._key is not None:
            added.sort(key=self._key)
        return [Report(self.name, time, how, self.variables, rows) for how, rows in told]

    def _of_graph(self, time: Instant, added: list[Triple], removed: list[Triple]) -> list[Report]:
        counts = self._constructed
        before = {triple: triple in counts for triple in (*added, *removed)}
        counts.update(added)
        counts.subtract(removed)
        come = [t for t, was in before.items() if not was and counts[t] > 0]
        gone = [t for t, was in before.items() if was and counts[t] <= 0]
        for triple in before:
            if counts[triple] <= 0:
                del counts[triple]
        told = self._told(come, gone, lambda: list(counts))
        return [Report(self.name, time, how, triples=triples) for how, triples in told]

    def _told(
        self, come: list[_Told], gone: list[_Told], whole: Callable[[], list[_Told]]
    ) -> list[tuple[RowOperation, list[_Told]]]:
        """The rows that the relation reports; at a step an empty result is not repeated."""
        relation = self.schedule.relation
        if relation is algebra.Relation.RSTREAM:
            result = whole()
            news = result or come or gone or not self._at_steps
            return [(RowOperation.RESULT, result)] if news else []
        found: list[tuple[RowOperation, list[_Told]]] = []
        if gone and relation is not algebra.Relation.ISTREAM:
            found.append((RowOperation.REMOVED, gone))
        if come and relation is not algebra.Relation.DSTREAM:
            found.append((_ADDED, come))
        return found

    def _of_answer(self, time: Instant) -> list[Report]:
        answer = next(iter(self.root.rows()), None) is not None
        if answer == self._answer and self.schedule.relation is not algebra.Relation.RSTREAM:
            return []
        self._answer = answer
        return [Report(self.name, time, RowOperation.RESULT, answer=answer)]


def _at_rest(rows: Iterable[TimedRow]) -> tuple[KeptRow, ...]:
    return tuple(KeptRow(0, 0, *flat(row)) for row in rows)


def _order(query: Query, root: Node) -> Callable[[Row], Any] | None:
    pattern = query.form.pattern
    while isinstance(pattern, algebra.Project | algebra.Distinct | algebra.Reduced | algebra.Slice):
        pattern = pattern.pattern
    if not isinstance(pattern, algebra.OrderBy):
        return None
    return order_of(pattern.conditions, slots_of(root.variables))


def layout_of(root: Node, plan: Plan) -> str:
    """The digest of a query's layout; equal where a state of one build can be read by another.

    A pattern in time depends on all its operators. The memory of a query over windows is derived
    again, so that only its delayed groups and the columns of its result matter.
    """
    if root.timed:
        return _digest(_operators(root))
    delays = (each.describe() for each in operators(root) if isinstance(each, DelayedOperator))
    return _digest((f"anew {isinstance(plan, Anew)}", " ".join(root.variables), *delays))


def layout_of_rules(plan: Plan) -> str:
    """The digest of the layout of rules over time; it depends on all their selectors."""
    return _digest(_parts(plan))


def _operators(root: Node) -> Iterator[str]:
    nodes = timed_operators(root)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    for node in nodes:
        inputs = [numbers[id(each)] for each in node.inputs]
        sides = [side for side, _ in node.kept()]
        yield f"of {inputs} keeps {sides} {' '.join(shown(node.variables))}"
        yield node.describe()


def _parts(plan: Plan, level: int = 0) -> Iterator[str]:
    yield f"{level} {plan_text(plan)}"
    yield " ".join(shown(plan.variables))
    for each in plan.inputs:
        yield from _parts(each, level + 1)


def _digest(lines: Iterable[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
