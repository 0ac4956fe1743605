"""Streams in, reports out: the windows, the instants, and the queries over them.

Events come in order of time (the engine takes disorder out before). Time moves by the events, or by
:meth:`StreamProcessor.advance` when a stream is silent. Between two events every instant at which a
window is computed or drops something, or a report is due, is processed in order: reports do not
depend on when the next event comes.

An instant has these steps. Triples that expire at its time leave the windows. All events of that
time are taken in. When time moves on, the windows with a step at that time are computed, the
network settles, and each query that is due reports, once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from operator import attrgetter
from typing import Final

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.occurrences import StreamElement
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.frozen import frozen, mutable
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.network.agenda import MovedByTime
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.network.intervals.interval_expressions import IntervalTime
from sensorstream.network.network import Network
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.selection.instants import Instants
from sensorstream.sparql.algebra import ReportKind
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.failed_queries import Broken, too_costly
from sensorstream.streams.open_windows import OpenWindows
from sensorstream.streams.patterns_in_time import Patterns
from sensorstream.streams.query_maker import Meaning, Planned, QueryMaker
from sensorstream.streams.query_report import Sink
from sensorstream.streams.query_shape import Lengths
from sensorstream.streams.query_state import ProcessorState, QueryState
from sensorstream.streams.query_trace import InstantTrace
from sensorstream.streams.stream_window import WindowedStream

_number = attrgetter("number")
"""Reports of one instant come in the order in which their queries were registered."""
_pending: Callable[[ContinuousQuery], bool] = attrgetter("pending")
_CHANGE: Final = ReportKind.CHANGE
_tells_at_step: Callable[[ContinuousQuery], bool] = attrgetter("tells_at_step")


@frozen
class StreamEvent:
    """A graph that happens in a stream at a time."""

    time: Instant
    triples: tuple[Triple, ...]
    stream: IRI | None = None
    end: Instant | None = None
    """The end of the interval in which it holds; None: it holds at ``time`` only."""
    start: Instant | None = None
    """The beginning of that interval, if it is before ``time``."""


@mutable
class ProcessorCounts:
    """Counts of the events and triples that a processor has received."""

    events: int = 0
    triples: int = 0
    late: int = 0
    """Events before the present, which are left out."""


class StreamProcessor:
    """The runner of continuous queries; owned by one thread.

    ``default`` is the graph that patterns outside WINDOW match. ``instant`` reads an instant in a
    query (a number or ``xsd:dateTime``), ``second`` is the length of a second on the time line
    ``line``. ``knowledge`` is the background of patterns in time; by default the default graph. The
    cost of an event does not depend on queries that it does not concern. A query that exceeds
    ``limits`` is stopped; the others continue.
    """

    def __init__(
        self,
        default: TripleIndex,
        *,
        instant: Callable[[Literal], Instant],
        second: int,
        limits: Limits = NO_LIMITS,
        line: Timeline = Timeline.INTEGER,
        knowledge: Knowledge | None = None,
    ) -> None:
        self.network = Network(limits, now=lambda: self.now)
        self.queries: dict[str, ContinuousQuery] = {}
        self.counts = ProcessorCounts()
        self.now: Instant | None = None
        self.faults: list[tuple[str, Exception]] = []
        """Queries that a fault of ours or an :class:`.Overrun` has stopped, and what it was."""
        self.emptied: list[str] = []
        """Queries whose rows could not be read at a :meth:`restore`: they remember nothing."""
        self._default = default
        self._traces: dict[str, InstantTrace] = {}
        lengths = Lengths(instant, second)
        self._agenda = self.network.agenda
        known = knowledge or Knowledge(default, lambda triple: True, lambda triple: ())
        self._windows = OpenWindows(self._agenda, lambda: self.now)
        self._broken = Broken(self.network, self._windows, self.queries)
        self._instants = Instants(
            self.network, known, lambda: self.now, self._tell, self._broken.note_named
        )
        self.patterns = Patterns(
            self.network,
            known,
            IntervalTime(line, second),
            self._instants.ends,
            self._instants.take,
        )
        self._occurring = self.patterns.source
        self._maker = QueryMaker(
            self.network, default, lengths, self._windows, self.patterns, self._instants
        )
        self._numbers = count()
        self.more = False
        """Whether the next call is :meth:`push` or :meth:`finish`, which may report for both."""
        # Limits are of what an instant may take: then each is ended by itself.
        self._limited = limits != NO_LIMITS
        # Whether instants before the present are to be ended, and events of the present settled.
        self._behind = self._unsettled = False
        self._at_each_event: set[str] = set()
        # The queries that may report at the present instant.
        self._candidates: dict[ContinuousQuery, None] = {}

    # -- queries ----------------------------------------------------------------------------

    def register(
        self,
        name: str,
        text: str,
        meaning: Meaning,
        sink: Sink,
        named: Mapping[IRI, TripleIndex] | None = None,
        *,
        replaces: bool = False,
    ) -> ContinuousQuery:
        """Start a query, on the present content of the graphs and shared windows.

        Rules over time, if they are the text, begin with the moment after the present. ``named``
        are the graphs that GRAPH matches; None: the query must name no graph. With ``replaces`` it
        takes the place of the query of this name, which continues if the new one cannot start.

        Raises:
            UnsupportedQuery: no stream can answer a part of it, or the name is taken.
            Overrun: it exceeds the limits at its start; nothing is left of the query.
            InternalFault: a defect of SensorStream; nothing is left of the query.
        """
        planned = self.check(name, meaning, named, replaces=replaces)
        running = self._maker.made(planned, text, sink)
        # First: the query that it replaces may be the only other user of its operators.
        self.network.listen(running.root, running.changed)
        if name in self.queries:
            self.unregister(name)
        running.start(self.now)
        self._agenda.note(running)
        running.on_change = partial(self._candidates.__setitem__, running, None)
        running.number = next(self._numbers)
        self.queries[name] = running
        if running.schedule.kind is _CHANGE:
            self._at_each_event.add(name)
        planned.begin(running)
        return running

    def check(
        self,
        name: str,
        meaning: Meaning,
        named: Mapping[IRI, TripleIndex] | None = None,
        *,
        replaces: bool = False,
    ) -> Planned:
        """A query that could be registered now, with its plan; no operator or window is made.

        Parameters and errors are those of :meth:`register`, without Overrun.
        """
        if name in self.queries and not replaces:
            raise UnsupportedQuery(f"a query named '{name}' runs already: choose another name")
        return self._maker.planned(name, meaning, named)

    def _tell(self, triples: Iterable[Triple], time: Instant) -> None:
        """Hand the triples that rules over time have made to patterns in time."""
        self._occurring.take(tuple(triples), time, time)

    def unregister(self, name: str) -> None:
        """Stop a query and free what only it used; raises KeyError for an unknown name."""
        running = self.queries.pop(name)
        self._at_each_event.discard(name)
        self.untrace(name)
        self.patterns.end(name)
        if not self._instants.idle:
            self._instants.end(name)
            self.patterns.follow_rules()
        self.network.leave(running.root, running.changed)
        self._candidates.pop(running, None)
        self._broken.forget(running)
        self._agenda.forget(running)
        self._windows.leave(running)

    def trace(self, name: str, time: Callable[[Instant], object]) -> InstantTrace:
        """The record of a query's instants, begun now if there is none; ``time`` writes instants.

        Raises KeyError for an unknown name.
        """
        running, network = self.queries[name], self.network
        if name not in self._traces:
            broken = partial(self._broken.note, running)
            self._traces[name] = InstantTrace(
                running, network, self._default, lambda: self.now, time, broken
            )
        return self._traces[name]

    def untrace(self, name: str) -> None:
        """End the record of a query's instants, if there is one."""
        trace = self._traces.pop(name, None)
        if trace is not None:
            trace.close()

    def state(self) -> ProcessorState:
        """The state that must survive a restart, taken between two events."""
        counts = self.counts
        queries: list[tuple[str, str, QueryState]] = []
        for query in list(self.queries.values()):
            try:
                queries.append((query.name, query.text, query.state(query in self._candidates)))
            except Exception as error:
                self._stop(query, error)
        return ProcessorState(
            self.now,
            (counts.events, counts.triples, counts.late),
            tuple(queries),
            tuple((tick, stream.state()) for tick, stream in self._windows.streams.items()),
            self._occurring.state(),
            self._instants.state(),
        )

    def restore(self, state: ProcessorState, start: Callable[[str, str], object]) -> None:
        """Continue from a state, on a new processor with the graphs as they were then.

        ``start`` gets the name and text of each query, and registers it or leaves it out.
        """
        for name, text, _ in state.queries:
            start(name, text)
        for tick, stream in state.streams:
            running = self._windows.streams.get(tick)
            if running is not None:
                try:
                    running.restore(stream, state.now)
                except Exception as error:
                    self._broken.note_entry(running, error)
                    continue
                self._agenda.note(running)
                for window in running.filled():
                    self._agenda.note(window)
        self.network.settle()
        self._broken.stop(self._stop)
        for name, _, at_rest in state.queries:
            if (query := self.queries.get(name)) is not None:
                try:
                    query.restore_delays(at_rest)
                except Exception as error:
                    self._broken.note(query, error)
        self.network.settle()
        self._broken.stop(self._stop)
        self._candidates.clear()
        self.now = state.now
        self.counts = ProcessorCounts(*state.counts)
        for name, _, at_rest in state.queries:
            query = self.queries.get(name)
            if query is not None:
                try:
                    if not query.restore(at_rest):
                        self.emptied.append(name)
                except Exception as error:
                    self._stop(query, error)
                    continue
                self._agenda.note(query)
                if at_rest.pending:
                    self._candidates[query] = None
        self._occurring.restore(state.waiting)
        self._instants.restore(state.moment)

    # -- time -------------------------------------------------------------------------------

    def push(self, event: StreamEvent, inferred: Sequence[Triple] = ()) -> bool:
        """Take in an event; return False if it is before the present: late, and left out.

        For patterns in time, ``inferred`` triples happen together with it.
        """
        now, time, triples, counts = self.now, event.time, event.triples, self.counts
        if now is not None and time < now:
            counts.late += 1
            return False
        waits = self.more and now is not None and (self._behind or self._waits())
        if waits:
            self.now, self._behind = time, True
        else:
            self._begin(time)
        counts.events += 1
        counts.triples += len(triples)
        end = time if event.end is None else max(time, event.end)
        said = (*triples, *inferred) if inferred else triples
        start = time if event.start is None else event.start
        self._occurring.take(said, start, end, event.stream)
        if waits:
            return True
        if not self._instants.idle:
            self._instants.take(triples, time)
        if len(self._windows):
            self._enter(event, end)
        apart = self._limited or self._at_each_event or self._traces or self._occurring.fed
        self._unsettled = self.more and not apart and self._instants.idle
        if not self._unsettled:
            self._settle()
        return True

    def _enter(self, event: StreamEvent, end: Instant) -> None:
        """Put an event into the windows."""
        element = StreamElement(event.time, end, event.triples)
        counting: dict[ContinuousQuery, None] = {}
        for name in (event.stream, None) if event.stream is not None else (None,):
            for stream in self._windows.of_stream.get(name, ()):
                computed = stream.computed
                try:
                    stream.take(element)
                except Exception as error:
                    self._broken.note_entry(stream, error)
                    continue
                if stream.tick.delay:
                    self._agenda.note(stream)
                for window in stream.filled():
                    self._agenda.note(window)
                if stream.computed != computed:
                    self._candidates.update(self._windows.readers[stream])
                if readers := self._windows.counting[stream]:
                    counting.update(readers)
        for query in counting:
            query.arrived(len(event.triples))
            self._candidates[query] = None

    def complete(self, time: Instant, most: int | None = None) -> None:
        """Finish all instants before a time; events at that time may still come.

        ``most`` bounds the work: of more instants than that only the first, and the last of each
        window and period, are processed. The content of windows does not change by that.
        """
        self._catch_up(time)
        if self.now is None or time <= self.now:
            return
        self._end()
        worked = 0
        while (due := self._next_before(time)) is not None:
            if worked == most:
                for entry in self._agenda.entries:
                    self._broken.move(entry, entry.skip, time)
            worked += 1
            self.now = due
            self._end(moved=self._open_instant(due))

    def settle(self, time: Instant) -> None:
        """Take in changes of the graphs outside the windows."""
        self._begin(time)
        self._settle()

    def advance(self, time: Instant) -> None:
        """Move time on: no event before ``time`` will come any more."""
        if self.now is None or time > self.now:
            self.settle(time)

    def renew(self) -> None:
        """Take in a change of the background knowledge."""
        self.patterns.renew()
        self._instants.renew()

    def take_back(self) -> None:
        """Take in that the graphs outside the windows are again as they were."""
        # The changes of the operators cancel out: no query has anything to report.
        self.network.settle()
        self._broken.stop(self._stop)

    def finish(self) -> None:
        """End the streams: each query makes its remaining reports.

        Windows with a step report once more, at the next multiple; patterns in time report until
        all intervals have ended.
        """
        self._catch_up()
        if self.now is None:
            return
        ends: dict[ContinuousQuery, Instant] = {}
        for query in self.queries.values():
            lasting = self._occurring.last if query.follows_ends else None
            if found := [each for each in (query.closes, lasting) if each is not None]:
                ends[query] = max(found)
        self._end()
        last = max(ends.values(), default=self.now)
        while (due := self._next_before(last + 1)) is not None:
            self.now = due
            reporting = {query for query, end in ends.items() if due <= end}
            self._end(reporting, moved=self._open_instant(due))

    @property
    def next_due(self) -> Instant | None:
        """The next time when a window is computed or drops something, or a report is due."""
        due, ends = self._agenda.next, self._occurring.due
        return ends if due is None or (ends is not None and ends < due) else due

    def acts_before(self, time: Instant) -> bool:
        """Whether moving time to ``time`` would compute or report anything."""
        if self.now is None or time <= self.now:
            return False
        due = self.next_due
        return (due is not None and due < time) or self._has_pending

    @property
    def _has_pending(self) -> bool:
        """Whether a query may report at the end of the present instant."""
        return any(self._broken.asked(query, _pending) for query in self._candidates)

    @property
    def next_news(self) -> Instant | None:
        """:attr:`next_due` without the steps of empty windows that no query reports; O(queries).

        The present time if a query may report at the end of the present instant.
        """
        if self._has_pending:
            return self.now
        due = self._agenda.first(lambda entry: not self._is_silent(entry))
        ends = self._occurring.due
        return ends if due is None or (ends is not None and ends < due) else due

    def _waits(self) -> bool:
        """Whether instants may be ended together: nothing but patterns in time tells them apart."""
        apart = self._candidates or self._windows.streams or self._traces or self._occurring.fed
        if apart or self._limited or not self._instants.idle:
            return False
        return self._agenda.next is None

    def _catch_up(self, time: Instant | None = None) -> None:
        """End the instants that are left behind, and all before a time, as one after the other."""
        if not self._behind:
            return
        self._behind = False
        assert self.now is not None
        self._occurring.elapse_before(self.now if time is None else max(time, self.now))
        self.network.settle()
        self._broken.stop(self._stop)
        timed = [query for query in self._candidates if query.timed]
        told = [(end, each.number, each, rows) for each in timed for end, rows in each.instants()]
        for query in timed:
            del self._candidates[query]
        for end, _, query, rows in sorted(told) if len(timed) > 1 else told:
            try:
                if query.name in self.queries:
                    query.tell(end, query.of_intervals(end, rows))
            except Exception as error:
                self._stop(query, error)

    def _begin(self, time: Instant) -> None:
        """Move the present to a time: end all instants before it, drop what expires at it."""
        self._catch_up(time)
        if self.now is None:
            for stream in self._windows.streams.values():
                stream.wind(time)
                self._agenda.note(stream)
            for query in self.queries.values():
                query.start(time)
                self._agenda.note(query)
        elif time == self.now:
            return
        else:
            self.complete(time)
        self.now = time
        self._open_instant(time)

    def _open_instant(self, time: Instant) -> bool:
        """Drop what expires at a time; return whether there was anything."""
        if self._agenda.next != time:
            return False
        entries = self._agenda.take(time, closing=False)
        for entry in entries:
            self._broken.move(entry, entry.elapse, time)
        return bool(entries)

    def _next_before(self, time: Instant) -> Instant | None:
        """The next instant before a time at which anything may change or be reported.

        Empty windows skip to the first step at or after the time: nothing can fill them before.
        """
        agenda = self._agenda
        silent: list[WindowedStream] = []
        while (due := agenda.next) is not None and due < time:
            entry = agenda.head
            if not isinstance(entry, WindowedStream) or not self._is_silent(entry):
                break
            agenda.pop()
            silent.append(entry)
        until, ends = time, self._occurring.due
        if due is not None and due < until:
            until = due
        if ends is not None and ends < until:
            until = ends
        for stream in silent:
            stream.wind(until)
            agenda.note(stream)
        return until if until < time else None

    def _is_silent(self, entry: MovedByTime) -> bool:
        """Whether the time of an entry has no effect as long as nothing else happens."""
        if not isinstance(entry, WindowedStream) or not entry.idle:
            return False
        readers = self._windows.readers[entry]
        return not any(self._broken.asked(each, _tells_at_step) for each in readers)

    def _settle(self) -> None:
        """Settle the operators; queries that report at each event do so."""
        assert self.now is not None
        self.network.settle()
        self._broken.stop(self._stop)
        if not self._candidates:
            return
        changed = [q for q in self._candidates if q.schedule.kind is _CHANGE]
        for query in sorted(changed, key=_number):
            if query in self._candidates:
                del self._candidates[query]
                self._report_if_due(query, self.now)

    def _end(
        self, reporting: Container[ContinuousQuery] | None = None, *, moved: bool = False
    ) -> None:
        """End the present instant: compute what is due at it, settle, and only then report.

        ``reporting`` are the queries that may report (None: all); ``moved``: windows have moved
        since the network settled. Without that the network is settled: later changes of the graphs
        outside the windows belong to a later instant.
        """
        now, agenda, occurring = self.now, self._agenda, self._occurring
        assert now is not None
        before_rules = self.patterns.before_rules
        while before_rules and occurring.due == now and occurring.elapse(now, before_rules):
            # Triples that CONSTRUCT queries make now belong to the same moment of the rules.
            self.network.settle()
        while agenda.next == now:
            moved = True
            for entry in agenda.take(now, closing=True):
                self._close_entry(entry, now)
        if moved or self._unsettled:
            self._unsettled = False
            self.network.settle()
        while occurring.due == now:
            # Triples that CONSTRUCT queries make in a round are handed on in the next one.
            occurring.elapse(now)
            self.network.settle()
        if occurring.overrun is not None:
            overrun, occurring.overrun = occurring.overrun, None
            self._broken.note_named(self.patterns.feeding(), overrun)
        self._broken.stop(self._stop)
        if not self._candidates:
            return
        candidates = list(self._candidates)
        self._candidates.clear()
        if len(candidates) > 1:
            candidates.sort(key=_number)
        for query in candidates:
            if reporting is None or query in reporting:
                self._report_if_due(query, now)

    def _close_entry(self, entry: MovedByTime, time: Instant) -> None:
        """Do the work of an entry at the end of an instant."""
        self._broken.move(entry, entry.elapse, time)
        if isinstance(entry, ContinuousQuery):
            self._candidates[entry] = None
        elif isinstance(entry, WindowedStream):
            self._candidates.update(self._windows.readers[entry])
            for window in entry.filled():
                self._agenda.note(window)

    def _report_if_due(self, query: ContinuousQuery, time: Instant) -> None:
        load = self.network.load
        since = 0.0 if load.counter is None else load.counter()
        try:
            if query.is_due():
                query.report(time)
        except Exception as error:
            self._stop(query, error)
        if load.counter is not None:
            load.took(query, since, load.counter())
        # What a report reads does not belong to the next instant.
        self.network.budget.end()

    def relieve(self) -> None:
        """Stop the costliest queries before a message, if all together have taken too much."""
        load = self.network.load
        if load.excess():
            for query, error in too_costly(self.network, list(self.queries.values())):
                self._stop(query, error)
            load.begin()

    def _stop(self, query: ContinuousQuery, error: Exception) -> None:
        self.unregister(query.name)
        self.faults.append((query.name, error))
