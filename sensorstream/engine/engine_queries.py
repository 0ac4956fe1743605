"""Continuous queries over the events that an engine takes in.

The default graph of the queries is the knowledge base: static, window and inferred graph. Their own
windows hold the statements of accepted messages, each message as one event of the stream of its
source. The queries see a message when it is sure to stay; one that is rejected leaves no trace.

Time of the queries is application time. It moves by the events; in silence by as much as time of
arrival has passed (docs/decisions/010). An event that is older than the present of the queries,
because events are taken as they come or because the clock has closed a window, happens at the
present: no event that was taken in is lost to them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias
from urllib.parse import quote

from sensorstream.engine.query_alerts import Found, QueryAlerts, SolutionCounts
from sensorstream.engine.reorder import Disorder
from sensorstream.engine.stream_clock import ClockMoved, StreamClock
from sensorstream.errors import (
    DamagedCheckpoint,
    Overrun,
    Position,
    QueryError,
    SensorStreamError,
    UnknownQuery,
    UnsupportedQuery,
)
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.events import Delta, Event, net_delta
from sensorstream.model.frozen import frozen, mutable
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.recursion.triple_kinds import Conclusions
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.dotr.dotr_reader import is_rules, read_program
from sensorstream.sparql.dotr.dotr_syntax import TimedProgram
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.text_places import give_place
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.event_lines import instant_of
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_maker import Meaning
from sensorstream.streams.query_planning import check_graphs
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_state import ProcessorState

_LOG = logging.getLogger(__name__)
_MOST_STOPPED: Final = 1000
"""Queries that were stopped and are still known; the oldest are forgotten."""
_ALWAYS: Final = int(Origin.STATIC | Origin.STATIC_INFERRED)


@frozen
class EngineReport:
    """A report; ``number`` counts those of its registration from 1. ``entry`` is the journal's id
    of the registration: :attr:`id` is never given twice.
    """

    entry: str
    number: int
    report: Report

    @property
    def id(self) -> str:
        return f"{self.entry}-{self.number}"


@frozen
class QueryTerms:
    """The terms of queries, as a deployment or a caller sets them.

    ``longest_gap`` bounds the instants between two events at which queries report, so that a wrong
    time in one message does not stop a server for hours; None: there is no bound. ``graphs`` are
    those that GRAPH may match; None: queries must name no graph. Queries above ``limits`` are
    stopped. ``anew``: whether a new one may be evaluated anew at every change, which costs every
    message time.
    """

    longest_gap: int | None = 10_000
    graphs: Mapping[IRI, TripleIndex] | None = None
    limits: Limits = NO_LIMITS
    anew: bool = True


@frozen
class RunningQuery:
    """A query that runs: ``reports`` is the number of its last report, 0 before the first."""

    name: str
    entry: str
    """The journal's id of the registration, or the query's name where there is no journal."""
    reports: int = 0


@mutable
class _Counted:
    """A registration while its query runs."""

    entry: str
    reports: int = 0
    text: str = ""


@frozen
class Stopped:
    """A query that was stopped though nobody has removed it, and the reason."""

    name: str
    text: str
    entry: str
    reports: int
    reason: str


@frozen
class QueriesState:
    """The continuous queries of an engine at rest."""

    processor: ProcessorState
    registered: tuple[RunningQuery, ...] = ()
    moved: ClockMoved | None = None
    stopped: tuple[Stopped, ...] = ()
    alerts: tuple[SolutionCounts, ...] = ()


Fault: TypeAlias = tuple[str, str, Exception]
"""A query that was stopped: its name, the entry of its registration, and why."""


def stream_of(source: str) -> IRI | None:
    """The stream of a source's messages; None for messages that name none. A source that is named
    by an IRI (``http``, ``https``, ``urn``) is that stream itself.
    """
    if not source:
        return None
    if source.startswith(("http://", "https://", "urn:")):
        return IRI(quote(source, safe="%/:=&?~#+!$,;'@()*[]", errors="replace"))
    return IRI(f"urn:sensorstream:source:{quote(source, safe='', errors='replace')}")


class LiveQueries:
    """The queries of one engine; owned by its thread. Patterns outside WINDOW match the whole
    ``knowledge``; those in time match events, and the part of it that does not come from messages.
    The ``conclusions`` from a triple happen with it.
    """

    def __init__(
        self,
        knowledge: KnowledgeBase,
        timeline: Timeline,
        terms: QueryTerms,
        disorder: Disorder | None,
        conclusions: Conclusions,
    ) -> None:
        self._terms = terms
        self.processor = StreamProcessor(
            knowledge.index,
            instant=partial(_instant, timeline),
            second=timeline.of_wall_time(1),
            limits=self._terms.limits,
            line=timeline,
            knowledge=Knowledge(
                knowledge.index,
                lambda triple: bool(knowledge.marks(triple) & _ALWAYS),
                conclusions,
            ),
        )
        self._kb = knowledge
        self._conclusions = conclusions
        self.alerts = QueryAlerts()
        self._registered: dict[str, _Counted] = {}
        self._reports: list[EngineReport] = []
        self.lost: list[Fault] = []
        """Queries that could not be started again with their whole state, not reported yet."""
        self.stopped: dict[str, Stopped] = {}
        """Those that were stopped, by name, until another one has the name."""
        self._overruns: list[Stopped] = []
        # Its start is no part of the state: the effects are in the journal, as ticks.
        self.clock = StreamClock(SilentSource.QUERIES, timeline, disorder, resumed=0)
        """Their time while no message comes."""

    # -- queries ----------------------------------------------------------------------------

    def check(self, name: str, text: str, *, replaces: bool = False) -> None:
        """Check that a query could be registered now; no operator is made. ``replaces``: instead of
        one of this name, if there is one.

        Raises:
            QueryError: the text is not a valid query, or asks for a graph that is not there.
            UnsupportedQuery: no stream can answer it, or only by what the terms do not allow, or
                the name is taken.
            InternalFault: a defect of SensorStream; nothing has changed.
        """
        parsed = self._parsed(name, text)
        plan = self.processor.check(name, parsed, self._graphs(parsed), replaces=replaces).plan
        if isinstance(plan, Anew) and not self._terms.anew and isinstance(parsed, Query):
            told = (
                f"it cannot be kept in step: {plan.reason}. Evaluated anew at every change it "
                "costs each message time, maybe a fork of the server: the setting "
                "limits.evaluate_anew = true allows such queries"
            )
            raise give_place(UnsupportedQuery(told, part=plan.part), parsed.places)

    def register(
        self,
        name: str,
        text: str,
        entry: str = "",
        *,
        replaces: bool = False,
        found: Instant | None = None,
    ) -> ContinuousQuery:
        """Start a query; ``entry`` is the journal's id of its registration, if there is one.
        ``replaces``: instead of one of this name, which goes on if the new one cannot start.
        ``found``: what it finds at its start raises its alerts, at this time.

        Raises:
            QueryError, UnsupportedQuery, InternalFault: see :meth:`check`.
            Overrun: it takes more than the limits to begin.
        """
        told = None if found is None else (f"{entry or name}-0", found)
        running = self._start(name, text, replaces=replaces, found=told)
        self._registered[name] = _Counted(entry or name, text=text)
        self.stopped.pop(name, None)
        return running

    def _start(
        self, name: str, text: str, *, replaces: bool = False, found: Found | None = None
    ) -> ContinuousQuery:
        parsed = self._parsed(name, text)
        started = self.processor.register(
            name, text, parsed, self._take_report, self._graphs(parsed), replaces=replaces
        )
        self.alerts.begin(started, found)
        return started

    def _parsed(self, name: str, text: str) -> Meaning:
        if is_rules(text):
            return read_program(text, name=name, start=Position("rules", 1, 1))
        return parse_query(text)

    def _graphs(self, query: Meaning) -> Mapping[IRI, TripleIndex] | None:
        """The graphs that GRAPH matches in a query: those of its FROM NAMED, or all without it.

        Raises:
            QueryError: one that it names is not there.
        """
        if isinstance(query, TimedProgram):
            return None
        graphs = self._terms.graphs
        if graphs is not None and query.dataset.named:
            graphs = self._named(query, graphs)
        check_graphs(query, graphs)
        return graphs

    def _named(self, query: Query, graphs: Mapping[IRI, TripleIndex]) -> dict[IRI, TripleIndex]:
        found: dict[IRI, TripleIndex] = {}
        for name in query.dataset.named:
            try:
                found[name] = graphs[name]
            except KeyError:
                known = ", ".join(f"<{each}>" for each in graphs) or "none"
                told = f"FROM NAMED <{name}>: no such graph; given: {known}"
                raise give_place(QueryError(told, part=name), query.places) from None
        return found

    def lose(self, name: str, entry: str, error: Exception) -> None:
        """Leave out a query that cannot run any more after a restart: all others go on."""
        _LOG.error("the query '%s' cannot be run any more, it is left out: %s", name, error)
        known = self._registered.get(name)
        if known is not None and known.entry == entry:
            del self._registered[name]
        self.lost.append((name, entry, error))

    def unregister(self, name: str) -> None:
        """Stop a query; raises UnknownQuery if none has that name."""
        if self.stopped.pop(name, None) is not None:
            return
        if name not in self._registered:
            raise UnknownQuery(f"there is no query '{name}'")
        self.processor.unregister(name)
        self.alerts.end(name)
        del self._registered[name]

    def knows(self, name: str) -> bool:
        """Whether a query of this name runs, or was stopped."""
        return name in self._registered or name in self.stopped

    def stop(self, name: str, entry: str, reason: str) -> None:
        """Stop a query, if that registration still runs, as it was stopped before a restart."""
        counted = self._registered.get(name)
        if counted is not None and counted.entry == entry:
            self.processor.unregister(name)
            self._note_stop(name, reason)

    def take_overruns(self) -> list[Stopped]:
        """The queries stopped since the last call because they took more than the limits."""
        overruns, self._overruns = self._overruns, []
        return overruns

    def lift_limits(self, lifted: bool) -> None:
        """Lift the limits of queries that were accepted before, or restore them."""
        self.processor.network.budget.lifted = lifted

    def _note_stop(self, name: str, reason: str) -> Stopped:
        counted = self._registered.pop(name)
        self.alerts.end(name)
        if len(self.stopped) >= _MOST_STOPPED:
            del self.stopped[next(iter(self.stopped))]
        stopped = Stopped(name, counted.text, counted.entry, counted.reports, reason)
        self.stopped[name] = stopped
        return stopped

    def entry(self, name: str) -> str:
        """The journal's id of a query's registration."""
        return self._registered[name].entry

    def reported(self, name: str) -> int:
        """The number of a query's last report; 0 before the first."""
        return self._registered[name].reports

    def count_on(self, reported: Mapping[str, int]) -> None:
        """Give the next reports numbers above these, by the entries of their registrations."""
        for each in self._registered.values():
            each.reports = max(each.reports, reported.get(each.entry, 0))

    def entries(self) -> set[str]:
        """The journal's ids of all registrations that run."""
        return {each.entry for each in self._registered.values()}

    def _take_report(self, report: Report) -> None:
        counted = self._registered[report.query]
        counted.reports += 1
        told = EngineReport(counted.entry, counted.reports, report)
        self._reports.append(told)
        self.alerts.take(told.id, report)

    # -- time -------------------------------------------------------------------------------

    def take_in(
        self, events: Sequence[Event], changes: Sequence[Delta], now: Instant, received: Instant
    ) -> None:
        """Take in the events of a message, in any order, and the ``changes`` that it has made in
        the knowledge base. ``now`` is the latest application time that the engine knows,
        ``received`` the time of arrival of the entry that brought it in.
        """
        processor = self.processor
        # First of all, since a replay also stops them before this message.
        processor.relieve()
        if not processor.queries:
            # Nobody asks: only their time goes on.
            for event in events if len(events) == 1 else self._by_time(events):
                processor.now = self._present(event.time)
                processor.counts.events += 1
                processor.counts.triples += len(event.triples)
            if not events:
                processor.now = self._present(now)
            assert processor.now is not None
            self.clock.heard(processor.now, received)
            return
        said = self._by_time(events)
        first = said[0].time if said else self._present(now)
        longest_gap = self._terms.longest_gap
        if changes and processor.acts_before(first):
            # Reports from before the message must not see its changes.
            with self._without(net_delta(first, changes)):
                processor.complete(first, longest_gap)
        inferred = self._inferred(events, changes)
        for event in said:
            if longest_gap is not None:
                processor.complete(event.time, longest_gap)
            processor.push(event, inferred if event is said[-1] else ())
        if not said:
            processor.settle(first)
        assert processor.now is not None
        self.clock.heard(processor.now, received)

    def _inferred(self, events: Sequence[Event], changes: Sequence[Delta]) -> Sequence[Triple]:
        """The statements inferred since this message, beyond what follows from single triples."""
        if not changes or not self.processor.patterns.reading:
            return ()
        told = {each for event in events for t in event.triples for each in self._conclusions(t)}
        kb = self._kb
        return [
            triple
            for delta in changes
            for triple in delta.added
            if kb.marks(triple) == Origin.INFERRED and triple not in told
        ]

    def settle(self) -> None:
        """Take in a change of the knowledge base between two messages, at the present."""
        if self.processor.now is None:
            self.processor.take_back()
        else:
            self.processor.settle(self.processor.now)

    def advance(self, time: Instant) -> None:
        """Work off all that is due before a time; without that, time stands still."""
        while (due := self.processor.next_news) is not None and due < time:
            self.processor.advance(due + 1)

    def resume(self, received: Instant) -> None:
        """Resume at this time of arrival: silence before it does not count."""
        self.clock.resumed = received

    @property
    def due(self) -> Instant | None:
        """The first time of arrival at which something is due in silence; None: never."""
        news = self.processor.next_news
        return None if news is None else self.clock.wake(news + 1)

    def _present(self, time: Instant) -> Instant:
        now = self.processor.now
        return time if now is None else max(now, time)

    def _by_time(self, events: Sequence[Event]) -> list[StreamEvent]:
        """The events of a message, one for each time and stream in order, none in the past."""
        if len(events) == 1:
            (event,) = events
            time = self._present(event.time)
            start = event.time if event.end is not None and event.end >= time else None
            return [StreamEvent(time, event.triples, _stream(event), event.end, start)]
        said: dict[tuple[Instant, IRI | None, Instant | None], dict[Triple, None]] = {}
        for event in sorted(events, key=_time):
            key = (self._present(event.time), _stream(event), event.end)
            said.setdefault(key, {}).update(dict.fromkeys(event.triples))
        return [
            StreamEvent(time, tuple(triples), stream, end)
            for (time, stream, end), triples in said.items()
        ]

    @contextmanager
    def _without(self, delta: Delta) -> Iterator[None]:
        """The knowledge base as it was before a change."""
        index = self._kb.index
        index.discard(*delta.added)
        index.add(*delta.removed)
        try:
            yield
        finally:
            index.discard(*delta.removed)
            index.add(*delta.added)

    # -- what it came to --------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        """Whether there is a report, a fault or the end of an alert to tell of."""
        return bool(self._reports or self.lost or self.processor.faults or self.alerts.ending)

    def take_reports(self) -> tuple[EngineReport, ...]:
        """The reports since the last call."""
        reports = tuple(self._reports)
        self._reports.clear()
        return reports

    def take_faults(self) -> list[Fault]:
        """The queries that a fault has stopped since the last call."""
        faults, self.lost = self.lost, []
        for name, *_ in faults:
            if name not in self._registered:
                self.alerts.lose(name)
        for name, error in self.processor.faults:
            stopped = self._note_stop(name, str(error))
            faults.append((name, stopped.entry, error))
            if isinstance(error, Overrun):
                self._overruns.append(stopped)
                _LOG.warning("the query '%s' was stopped: %s", name, error)
            else:
                _LOG.error("a fault of our own stopped the query '%s'", name, exc_info=error)
        self.processor.faults.clear()
        return faults

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> QueriesState:
        registered = tuple(
            RunningQuery(name, each.entry, each.reports) for name, each in self._registered.items()
        )
        stopped = tuple(self.stopped.values())
        holding = self.alerts.state()
        return QueriesState(self.processor.state(), registered, self.clock.moved, stopped, holding)

    def restore(self, state: QueriesState) -> None:
        """Go on from a state; call it on new queries, the knowledge base as it was then."""
        self._registered = {
            each.name: _Counted(each.entry, each.reports) for each in state.registered
        }
        self.stopped = {each.name: each for each in state.stopped}
        # They used the time little by little then, and use it at once now.
        self.lift_limits(True)
        self.processor.restore(state.processor, self._start_again)
        self.lift_limits(False)
        for name in self.processor.emptied:
            error = DamagedCheckpoint(
                "the checkpoint was written by a version that plans it in another way: what it "
                "remembered and had not reported cannot be read; it begins anew at the checkpoint"
            )
            _LOG.error("the query '%s' remembers nothing of before: %s", name, error)
            self.lost.append((name, self._registered[name].entry, error))
        self.processor.emptied.clear()
        self.alerts.restore(state.alerts)
        self.clock.moved = state.moved

    def _start_again(self, name: str, text: str) -> None:
        self._registered[name].text = text
        try:
            self._start(name, text)
        except SensorStreamError as error:
            self.lose(name, self._registered[name].entry, error)


def _instant(timeline: Timeline, literal: Literal) -> Instant:
    """The instant that a query writes; but on the integer line numbers are seconds."""
    if timeline is Timeline.INTEGER:
        return timeline.instant(literal.lexical)
    return instant_of(literal)


def _stream(event: Event) -> IRI | None:
    return stream_of(event.source) if event.stream is None else event.stream


_time = attrgetter("time")
