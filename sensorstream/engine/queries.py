"""Continuous queries over the messages that an engine takes in.

The default graph of the queries is the knowledge base: static, window and inferred graph. Their
own windows hold what accepted messages say, each message as one event of the stream of its
source. The queries see a message when it is sure to stay; one that is rejected leaves no trace.

Time of the queries is application time. It moves by the messages; in silence by as much as time
of arrival has passed (docs/decisions/010). A message that is older than the present of the
queries, because messages are taken as they come or because the clock has closed a window, happens
at the present: nothing that was taken in is lost to them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from sensorstream.errors import SensorStreamError, UnknownQuery
from sensorstream.kb.index import TripleIndex
from sensorstream.model.events import Delta, Event, net_delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.sparql.parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query import ContinuousQuery
from sensorstream.streams.report import Report
from sensorstream.streams.state import ProcessorState

_LOG = logging.getLogger(__name__)
_LONGEST_GAP: Final = 10_000
"""The most instants between two messages at which queries report: a wrong time in one message
must not stop the server for hours."""


@dataclass(frozen=True, slots=True)
class QueryReport:
    """One report; ``number`` counts those of its registration from 1.

    ``entry`` is the journal's id of the registration: :attr:`id` is never given twice.
    """

    entry: str
    number: int
    report: Report

    @property
    def id(self) -> str:
        return f"{self.entry}-{self.number}"


@dataclass(slots=True)
class Registration:
    """A query that runs: the journal's id of its registration, and how often it has reported."""

    entry: str
    reports: int = 0


@dataclass(frozen=True, slots=True)
class QueriesState:
    """The queries at rest; ``moved`` as :class:`LiveQueries` keeps it."""

    processor: ProcessorState
    registered: Mapping[str, Registration]
    moved: tuple[Instant, Instant] | None


def stream_of(source: str) -> IRI | None:
    """The stream of a source's messages; None for messages that name none.

    A source that is named by an IRI (``http``, ``https``, ``urn``) is that stream itself.
    """
    if not source:
        return None
    if source.startswith(("http://", "https://", "urn:")):
        return IRI(quote(source, safe="%/:=&?~#+!$,;'@()*[]"))
    return IRI(f"urn:sensorstream:source:{quote(source, safe='')}")


class LiveQueries:
    """The queries of one engine; owned by its thread.

    ``knowledge`` is the graph that patterns outside WINDOW match.
    """

    def __init__(self, knowledge: TripleIndex, timeline: Timeline) -> None:
        self.processor = StreamProcessor(
            knowledge,
            instant=lambda literal: timeline.instant(literal.lexical),
            second=timeline.of_wall_time(1),
        )
        self._knowledge = knowledge
        self._registered: dict[str, Registration] = {}
        self._reports: list[QueryReport] = []
        # When time of the queries last moved by a message: that time, and its time of arrival.
        self._moved: tuple[Instant, Instant] | None = None
        # No part of the state: what it leads to stands in the journal, as ticks.
        self._resumed: Instant = 0

    # -- queries ----------------------------------------------------------------------------

    def check(self, name: str, text: str) -> None:
        """Whether a query could be registered now; no operator is made.

        Raises:
            QueryError: the text is not a valid query.
            UnsupportedQuery: no stream can answer it, or the name is taken.
        """
        self.processor.check(name, parse_query(text))

    def register(self, name: str, text: str, entry: str) -> ContinuousQuery:
        """Start a query; ``entry`` is the journal's id of its registration.

        Raises:
            QueryError, UnsupportedQuery: see :meth:`check`.
        """
        running = self.processor.register(name, text, parse_query(text), self._take_report)
        self._registered[name] = Registration(entry)
        return running

    def unregister(self, name: str) -> None:
        """Stop a query.

        Raises:
            UnknownQuery: no query has that name.
        """
        if name not in self._registered:
            raise UnknownQuery(f"there is no query '{name}'")
        self.processor.unregister(name)
        del self._registered[name]

    def entry(self, name: str) -> str:
        """The journal's id of a query's registration."""
        return self._registered[name].entry

    def reported(self, name: str) -> int:
        """The number of a query's last report; 0 before the first."""
        return self._registered[name].reports

    def entries(self) -> set[str]:
        """The journal's ids of all registrations that run."""
        return {each.entry for each in self._registered.values()}

    def _take_report(self, report: Report) -> None:
        registration = self._registered[report.query]
        registration.reports += 1
        self._reports.append(QueryReport(registration.entry, registration.reports, report))

    # -- time -------------------------------------------------------------------------------

    def take_in(
        self, events: Sequence[Event], changes: Sequence[Delta], now: Instant, received: Instant
    ) -> None:
        """A message has been taken in.

        Args:
            events: what it said, its times in any order.
            changes: what it has changed in the knowledge base, in order; it stands there already.
            now: the latest application time that the engine knows.
            received: the time of arrival of what brought it in.
        """
        processor = self.processor
        said = self._by_time(events)
        first = said[0].time if said else self._present(now)
        if processor.acts_before(first):
            # What is reported before the message must not see what the message changed.
            with self._without(net_delta(first, changes)):
                processor.complete(first, _LONGEST_GAP)
        for event in said:
            processor.complete(event.time, _LONGEST_GAP)
            processor.push(event)
        if not said:
            processor.settle(first)
        assert processor.now is not None
        self._moved = (processor.now, received)

    def take_back(self) -> None:
        """A message was rejected, and the knowledge base is as it was before."""
        self.processor.take_back()

    def advance(self, time: Instant) -> None:
        """Work off what is due before a time; nothing that is not sees its time pass."""
        while (due := self.processor.next_news) is not None and due < time:
            self.processor.advance(due + 1)

    def resume(self, received: Instant) -> None:
        """The server runs from this time of arrival on: before it, silence says nothing."""
        self._resumed = received

    def present(self, received: Instant) -> Instant | None:
        """Application time in silence; None before the first message."""
        if self._moved is None:
            return None
        time, at = self._moved
        return time + received - max(at, self._resumed)

    def due(self, margin: int, patience: int) -> Instant | None:
        """From which time of arrival on something is due in silence; None: never.

        ``margin`` is how much later than it says time may be; ``patience`` how long it must have
        been silent, in time of arrival.
        """
        news = self.processor.next_news
        if news is None or self._moved is None:
            return None
        time, at = self._moved
        return max(at, self._resumed) + max(news + 1 - time + margin, patience)

    def _present(self, time: Instant) -> Instant:
        now = self.processor.now
        return time if now is None else max(now, time)

    def _by_time(self, events: Sequence[Event]) -> list[StreamEvent]:
        """One event for each time of a message, in order; none before the present."""
        said: dict[Instant, dict[Triple, None]] = {}
        for event in sorted(events, key=lambda each: each.time):
            triples = said.setdefault(self._present(event.time), {})
            triples.update(dict.fromkeys(event.triples))
        stream = stream_of(events[0].source) if events else None
        return [StreamEvent(time, tuple(triples), stream) for time, triples in said.items()]

    @contextmanager
    def _without(self, delta: Delta) -> Iterator[None]:
        """The knowledge base as it was before a change."""
        index = self._knowledge
        for triple in delta.added:
            index.discard(triple)
        for triple in delta.removed:
            index.add(triple)
        try:
            yield
        finally:
            for triple in delta.removed:
                index.discard(triple)
            for triple in delta.added:
                index.add(triple)

    # -- what it came to --------------------------------------------------------------------

    def take_reports(self) -> tuple[QueryReport, ...]:
        """What was reported since the last call."""
        reports = tuple(self._reports)
        self._reports.clear()
        return reports

    def take_faults(self) -> list[tuple[str, str, Exception]]:
        """The queries that a fault of ours has stopped since the last call.

        Returns:
            For each its name, the journal's id of its registration, and the fault.
        """
        faults = []
        for name, error in self.processor.faults:
            faults.append((name, self._registered.pop(name).entry, error))
            _LOG.error("a fault of our own stopped the query '%s'", name, exc_info=error)
        self.processor.faults.clear()
        return faults

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> QueriesState:
        """All that must survive a restart."""
        return QueriesState(
            self.processor.state(),
            {
                name: Registration(each.entry, each.reports)
                for name, each in self._registered.items()
            },
            self._moved,
        )

    def restore(self, state: QueriesState) -> None:
        """Go on from a state; call it on new queries, the knowledge base as it was then."""
        for name, each in state.registered.items():
            self._registered[name] = Registration(each.entry, each.reports)
        self.processor.restore(state.processor, self._start_again)
        self._moved = state.moved

    def _start_again(self, name: str, text: str) -> None:
        try:
            self.processor.register(name, text, parse_query(text), self._take_report)
        except SensorStreamError as error:
            # It was accepted by another version of SensorStream; all else must go on.
            _LOG.error("the query '%s' cannot be run any more, it is left out: %s", name, error)
            del self._registered[name]
