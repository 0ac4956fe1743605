"""Streams in, reports out: the windows, the instants, and the queries over them.

Events come in order of time (:class:`sensorstream.streams` takes disorder out before). Time
moves by the events, or by :meth:`StreamProcessor.advance` when a stream falls silent. Between
two events every instant at which a window is computed, lets something go, or a report is due
is worked off, in order: what a query reports does not depend on when the next event comes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import attrgetter

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import operators
from sensorstream.network.plan.nodes import Plan
from sensorstream.sparql.algebra import Query, ReportKind
from sensorstream.streams.agenda import Agenda, Entry
from sensorstream.streams.explain import window_text
from sensorstream.streams.lengths import Lengths
from sensorstream.streams.planning import planned, sources_of
from sensorstream.streams.query import ContinuousQuery
from sensorstream.streams.report import Sink
from sensorstream.streams.state import ProcessorState
from sensorstream.streams.trace import Trace
from sensorstream.streams.window import StreamWindow, WindowShape

_number = attrgetter("number")
"""Reports of one instant come in the order in which their queries were registered."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A graph that a stream says at a time."""

    time: Instant
    triples: tuple[Triple, ...]
    stream: IRI | None = None


@dataclass(slots=True)
class Counts:
    """What a processor has seen."""

    events: int = 0
    triples: int = 0
    late: int = 0
    """Events before the present: they are left out."""


class StreamProcessor:
    """Runs continuous queries; owned by one thread.

    ``default`` is the graph that patterns outside WINDOW match.
    ``instant`` reads an instant that a query writes (a number or ``xsd:dateTime``), ``second``
    is the length of a second on the time line, ``report`` when a query reports that does not
    say so: with every event (CHANGE), or after all events of one time (INSTANT). What happens
    costs what it concerns, however many queries there are.
    """

    def __init__(
        self,
        default: TripleIndex,
        *,
        instant: Callable[[Literal], Instant],
        second: int,
        report: ReportKind = ReportKind.CHANGE,
    ) -> None:
        self.network = Network()
        self.queries: dict[str, ContinuousQuery] = {}
        self.traces: dict[str, Trace] = {}
        self.counts = Counts()
        self.now: Instant | None = None
        self.faults: list[tuple[str, Exception]] = []
        """Queries that a fault of ours has stopped, and what it was."""
        self._default = default
        self._lengths = Lengths(instant, second, report)
        self._windows: dict[WindowShape, StreamWindow] = {}
        self._readers: dict[StreamWindow, list[ContinuousQuery]] = {}
        # Those readers that report after so many triples; the others wait for a change.
        self._counting: dict[StreamWindow, list[ContinuousQuery]] = {}
        self._of_stream: dict[IRI | None, list[StreamWindow]] = {}
        self._agenda = Agenda()
        self._numbers = count()
        # The queries that the present instant may make report.
        self._stirred: dict[ContinuousQuery, None] = {}
        # Those that wait for the end of the instant.
        self._waiting: dict[ContinuousQuery, None] = {}

    # -- queries ----------------------------------------------------------------------------

    def register(
        self,
        name: str,
        text: str,
        query: Query,
        sink: Sink,
        named: Mapping[IRI, TripleIndex] | None = None,
    ) -> ContinuousQuery:
        """Start a query; it begins with the present content of the graphs and shared windows.

        ``named`` are the graphs that GRAPH matches; None: the query must name no graph.

        Raises:
            UnsupportedQuery: it asks for something that no stream can answer, or the name is
                taken.
        """
        plan, schedule = self.check(name, query, named), self._lengths.schedule(query)
        shapes = self._shapes(query)
        windows = {name: self._open(shape) for name, shape in shapes.items()}
        sources = sources_of(shapes, named or {})
        indexes = {sources.default: self._default}
        indexes |= {sources.named[name]: index for name, index in (named or {}).items()}
        indexes |= {sources.windows[name]: window.index for name, window in windows.items()}
        try:
            running = ContinuousQuery(
                name,
                text,
                query,
                build(plan, self.network, indexes),
                list(windows.values()),
                schedule,
                sink,
                plan,
            )
        except BaseException:
            self.network.sweep()
            self._close(windows.values())
            raise
        for window in running.windows:
            self._readers[window].append(running)
            if running.schedule.kind is ReportKind.TRIPLES:
                self._counting[window].append(running)
        running.start(self.now)
        self._agenda.note(running)
        self.network.listen(running.root, running.changed)
        running.on_change = partial(self._stirred.__setitem__, running, None)
        running.number = next(self._numbers)
        self.queries[name] = running
        return running

    def check(
        self, name: str, query: Query, named: Mapping[IRI, TripleIndex] | None = None
    ) -> Plan:
        """The plan of a query that could be registered now; no operator or window is made.

        Raises:
            UnsupportedQuery: see :meth:`register`.
        """
        if name in self.queries:
            raise UnsupportedQuery(f"a query named '{name}' runs already: choose another name")
        self._lengths.schedule(query)
        return planned(query, self._shapes(query), named)

    def _shapes(self, query: Query) -> dict[IRI, WindowShape]:
        return {each.name: self._lengths.shape(each) for each in query.dataset.windows}

    def unregister(self, name: str) -> None:
        """Stop a query; what only it used is given back.

        Raises:
            KeyError: no query has that name.
        """
        running = self.queries.pop(name)
        self.untrace(name)
        self.network.leave(running.root, running.changed)
        for window in running.windows:
            self._readers[window].remove(running)
            if running.schedule.kind is ReportKind.TRIPLES:
                self._counting[window].remove(running)
        self._stirred.pop(running, None)
        self._waiting.pop(running, None)
        self._agenda.forget(running)
        self._close(running.windows)

    def trace(self, name: str, time: Callable[[Instant], object]) -> Trace:
        """The record of a query's instants, begun now if there is none; ``time`` writes instants.

        Raises:
            KeyError: no query has that name.
        """
        running = self.queries[name]
        if name not in self.traces:
            graphs = [(window_text(each), each.index) for each in running.windows]
            graphs.append(("outside the windows", self._default))
            trace = self.traces[name] = Trace(running.root, graphs, lambda: self.now, time)
            self.network.observers.append(trace.observe)
        return self.traces[name]

    def untrace(self, name: str) -> None:
        """End the record of a query's instants, if there is one."""
        trace = self.traces.pop(name, None)
        if trace is not None:
            self.network.observers.remove(trace.observe)
            trace.close()

    def _open(self, shape: WindowShape) -> StreamWindow:
        window = self._windows.get(shape)
        if window is None:
            window = self._windows[shape] = StreamWindow(shape)
            self._readers[window] = []
            self._counting[window] = []
            self._of_stream.setdefault(shape.stream, []).append(window)
            if self.now is not None:
                window.wind(self.now)
                self._agenda.note(window)
        return window

    def _close(self, windows: Iterable[StreamWindow]) -> None:
        for window in windows:
            if not self._readers.get(window, True):
                shape = window.shape
                del self._readers[window], self._counting[window], self._windows[shape]
                self._agenda.forget(window)
                self._of_stream[shape.stream].remove(window)

    def state(self) -> ProcessorState:
        """All that must survive a restart; between two events."""
        counts = self.counts
        return ProcessorState(
            self.now,
            (counts.events, counts.triples, counts.late),
            tuple(
                (query.name, query.text, query.state(query in self._waiting))
                for query in self.queries.values()
            ),
            tuple((shape, window.state()) for shape, window in self._windows.items()),
        )

    def restore(self, state: ProcessorState, start: Callable[[str, str], object]) -> None:
        """Go on from a state; call it on a new processor, the graphs as they were then.

        ``start`` is given each query's name and text and registers it, or decides not to.
        """
        for name, text, _ in state.queries:
            start(name, text)
        for shape, window in state.windows:
            if shape in self._windows:
                self._windows[shape].restore(window)
                self._agenda.note(self._windows[shape])
        self.network.settle()
        self._stirred.clear()
        self.now = state.now
        self.counts = Counts(*state.counts)
        for name, _, query in state.queries:
            running = self.queries.get(name)
            if running is not None:
                running.restore(query)
                self._agenda.note(running)
                if query.waits:
                    self._waiting[running] = None

    # -- time -------------------------------------------------------------------------------

    def push(self, event: StreamEvent) -> bool:
        """An event happens.

        Returns:
            Whether it was taken in: one before the present is late and left out.
        """
        if self.now is not None and event.time < self.now:
            self.counts.late += 1
            return False
        self._move_to(event.time)
        self.counts.events += 1
        self.counts.triples += len(event.triples)
        streams = (event.stream, None) if event.stream is not None else (None,)
        for stream in streams:
            for window in self._of_stream.get(stream, ()):
                computed = window.computed
                window.take(event.time, event.triples)
                self._agenda.note(window)
                if window.computed != computed:
                    self._stir_readers(window)
                for query in self._counting[window]:
                    query.arrived(len(event.triples))
                    self._stirred[query] = None
        self._end_instant(event.time)
        return True

    def complete(self, time: Instant, most: int | None = None) -> None:
        """Nothing before a time will happen any more; what happens at it is still to come.

        ``most`` bounds the work: of more instants than that only the first, and the last of each
        window and period, are worked off. Windows hold what they would hold anyway.
        """
        if self.now is not None and time > self.now:
            self._work_off_before(time, most)

    def settle(self, time: Instant) -> None:
        """The graphs outside the windows have changed: one instant."""
        self._move_to(time)
        self._end_instant(time)

    def advance(self, time: Instant) -> None:
        """Time has come so far: nothing before ``time`` will happen any more."""
        if self.now is None or time > self.now:
            self._move_to(time)
            self._end_instant(time)

    def take_back(self) -> None:
        """The graphs outside the windows are again as they were: nothing has happened."""
        self.network.settle()
        self._stop_broken()
        # What the operators gave out cancels, so nobody has anything to report.
        self._stirred.clear()

    def finish(self) -> None:
        """The streams have ended: windows with a step report once more, at its next multiple."""
        self._end_waiting()
        ends = {query: query.closes for query in self.queries.values()}
        last = max((end for end in ends.values() if end is not None), default=None)
        if last is None:
            return
        while (due := self._agenda.next) is not None and due <= last:
            self._work_off(due)
            self._end_instant(due, {q for q, end in ends.items() if end is not None and due <= end})

    @property
    def next_due(self) -> Instant | None:
        """When the next window is computed or lets something go, or a report is due."""
        return self._agenda.next

    @property
    def next_news(self) -> Instant | None:
        """As :attr:`next_due`, but empty windows that nobody hears of do not count; O(queries).

        Queries that wait for the end of the present instant are due now.
        """
        if self._waiting:
            return self.now
        return self._agenda.first(
            lambda each: not isinstance(each, StreamWindow) or not each.idle or self._is_heard(each)
        )

    def _move_to(self, time: Instant) -> None:
        """Work off all instants before a time, and what expires at it."""
        if self.now is None:
            for window in self._windows.values():
                window.wind(time)
                self._agenda.note(window)
            for query in self.queries.values():
                query.start(time)
                self._agenda.note(query)
        elif time > self.now:
            self._work_off_before(time)
        if self._agenda.next == time:
            for each in self._agenda.take(time):
                # What closes at this time waits for all that happens at it.
                if isinstance(each, StreamWindow) and each.closes is None:
                    each.expire(time)
                self._agenda.note(each)
        self.now = time

    def _work_off_before(self, time: Instant, most: int | None = None) -> None:
        self._end_waiting()
        worked = 0
        while (due := self._agenda.next) is not None and due < time:
            if worked == most:
                entries: list[Entry] = [*self._windows.values(), *self.queries.values()]
                for entry in entries:
                    entry.skip(time)
                    self._agenda.note(entry)
            worked += 1
            if self._work_off(due, time):
                self._end_instant(due)
                self._end_waiting()

    def _work_off(self, time: Instant, until: Instant | None = None) -> bool:
        """Compute what is due at a time.

        Returns:
            Whether anything was: a window that is empty, and whose readers are silent, goes on
            to the first step at or after ``until`` at once.
        """
        self.now = time
        worked = False
        for each in self._agenda.take(time):
            if isinstance(each, ContinuousQuery):
                each.come_due()
                self._stirred[each] = None
            elif each.closes is None:
                each.expire(time)
            elif until is not None and each.idle and not self._is_heard(each):
                each.wind(until)
                self._agenda.note(each)
                continue
            else:
                each.close()
                self._stir_readers(each)
            self._agenda.note(each)
            worked = True
        return worked

    def _is_heard(self, window: StreamWindow) -> bool:
        return any(query.speaks_in_silence for query in self._readers[window])

    def _stir_readers(self, window: StreamWindow) -> None:
        self._stirred.update(dict.fromkeys(self._readers[window]))

    def _end_instant(
        self, time: Instant, reporting: Container[ContinuousQuery] | None = None
    ) -> None:
        self.now = time
        self.network.settle()
        self._stop_broken()
        stirred = sorted(self._stirred, key=_number)
        self._stirred.clear()
        for query in stirred:
            if query.schedule.kind is ReportKind.INSTANT and reporting is None:
                self._waiting[query] = None
            elif query.is_due() and (reporting is None or query in reporting):
                self._report(query, time)

    def _end_waiting(self) -> None:
        """Nothing more happens at the present time."""
        waiting = sorted(self._waiting, key=_number)
        self._waiting.clear()
        for query in waiting:
            if query.is_due():
                assert self.now is not None
                self._report(query, self.now)

    def _report(self, query: ContinuousQuery, time: Instant) -> None:
        try:
            query.report(time)
        except OSError:
            # The sink's: whoever it writes to is gone.
            raise
        except Exception as error:
            self._stop(query, error)

    def _stop_broken(self) -> None:
        """Stop the queries over operators that a fault of ours has broken, and no others."""
        while self.network.faults:
            node, error = next(iter(self.network.faults.items()))
            for query in [q for q in self.queries.values() if node in operators(q.root)]:
                self._stop(query, error)
            self.network.faults.pop(node, None)

    def _stop(self, query: ContinuousQuery, error: Exception) -> None:
        self.unregister(query.name)
        self.faults.append((query.name, error))
