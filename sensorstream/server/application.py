"""What the server asks of the application behind it.

Structural: :class:`sensorstream.app.application.Application` fulfils it without knowing of it,
and so does the small in-memory one of the tests. Every method is thread-safe and may block
briefly; the server calls them from worker threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from prometheus_client import CollectorRegistry
from pyoxigraph import QueryBoolean, QuerySolutions, QueryTriples

from sensorstream.alerts.feed import AlertFeed
from sensorstream.alerts.records import RaisedAlert, Webhook
from sensorstream.analysis import Note
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Contradiction
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.network.rows import Row
from sensorstream.settings import Settings
from sensorstream.streams.report import Report

QueryAnswer: TypeAlias = QuerySolutions | QueryBoolean | QueryTriples


class ServedTable(Protocol):
    """The answer to an SQL query (``history.sql.Table``); values are Python's own."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Sequence[object]]: ...
    @property
    def truncated(self) -> bool:
        """Whether the row limit cut rows off."""


class ServedIndividual(Protocol):
    """One individual of the window; ``types`` are asserted and inferred class IRIs."""

    @property
    def name(self) -> str: ...
    @property
    def types(self) -> Sequence[str]: ...
    @property
    def entered(self) -> Instant: ...
    @property
    def time(self) -> Instant: ...
    @property
    def statements(self) -> int:
        """How many asserted statements it has."""

    @property
    def message(self) -> str: ...


class ServedWindow(Protocol):
    """The window as it stands: its definition, totals, and one page of its individuals."""

    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def elements(self) -> str: ...
    @property
    def size(self) -> str: ...
    @property
    def step(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def partition(self) -> str: ...

    @property
    def partitions(self) -> int:
        """Partitions that hold something now; 1 if the window is whole."""

    @property
    def total(self) -> int:
        """Individuals in the window."""

    @property
    def pending(self) -> int:
        """Messages that wait for the window's next step."""

    @property
    def statements(self) -> int:
        """Asserted statements in the window."""

    @property
    def inferred(self) -> int:
        """Statements inferred with the window's help."""

    @property
    def individuals(self) -> Sequence[ServedIndividual]:
        """The page asked for, oldest individual first."""

    @property
    def held(self) -> int:
        """Messages that wait for earlier ones before they enter the window."""


class ServedQuarantined(Protocol):
    """A message that was kept but not taken in, and why."""

    @property
    def seq(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def received_at(self) -> datetime: ...
    @property
    def status(self) -> Literal["unmatched", "partial", "rejected"]: ...
    @property
    def reason(self) -> str: ...
    @property
    def content(self) -> bytes: ...
    @property
    def contradiction(self) -> Contradiction | None:
        """What clashes, where that is the reason."""


class ServedOntology(Protocol):
    """The ontology in force."""

    @property
    def content(self) -> bytes: ...
    @property
    def media_type(self) -> str: ...
    @property
    def origin(self) -> str:
        """``settings``, or the journal's id of the change that put it in force."""


class ServedQuery(Protocol):
    """A continuous query as it stands (``app.queries.QueryView``)."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def entry(self) -> str:
        """The journal's id of its registration."""

    @property
    def form(self) -> str: ...
    @property
    def relation(self) -> str | None: ...
    @property
    def variables(self) -> Sequence[str]: ...
    @property
    def reason(self) -> str:
        """Why it is evaluated anew at every change; empty if it is not."""

    @property
    def reports(self) -> int: ...
    @property
    def reported(self) -> int:
        """The number of its last :class:`ServedReport`."""

    @property
    def last_report(self) -> Instant | None: ...
    @property
    def next_report(self) -> Instant | None: ...
    @property
    def notes(self) -> Sequence[Note]:
        """What is remarkable in its text, where it has just been registered."""


class ServedReport(Protocol):
    """One report of a continuous query; ``number`` counts them from 1."""

    @property
    def id(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def report(self) -> Report: ...


class ServedResultSet(Protocol):
    """A query's whole result: rows, or a graph, or an answer."""

    @property
    def variables(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def triples(self) -> Sequence[Triple] | None: ...
    @property
    def answer(self) -> bool | None: ...


class ServedQueries(Protocol):
    """The continuous queries. Every method but ``register`` raises UnknownQuery."""

    @property
    def feed(self) -> AlertFeed:
        """``announce()`` is called when there are new reports, or a query has ended."""

    def register(self, text: str, name: str | None = None) -> ServedQuery:
        """Start a query.

        Raises:
            QueryError: the text is no query, or the name is none.
            UnsupportedQuery: no stream can answer it.
            QueryConflict: the name is taken, or too many queries run.
        """

    def remove(self, name: str) -> None:
        """Stop a query."""

    def views(self) -> Sequence[ServedQuery]:
        """All queries, in the order they were registered."""

    def view(self, name: str) -> ServedQuery:
        """One query."""

    def results(self, name: str) -> ServedResultSet:
        """The whole result of a query as it is now."""

    def reports(self, entry: str, after: int) -> Sequence[ServedReport]:
        """The kept reports of a registration with a number above the given one, in order."""

    def runs(self, entry: str) -> bool:
        """Whether the query of a registration still runs."""

    def graph(self, name: str) -> dict[str, Any]:
        """A query's operators with their counters."""

    def steps(self, name: str, last: int) -> list[dict[str, Any]]:
        """The last recorded instants, oldest first; the first call begins the record."""

    def end_record(self, name: str) -> None:
        """Record a query's instants no longer."""


class ServedPart(Protocol):
    """The state of one part of the system: ``journal``, ``reasoner``, ``dispatcher``…"""

    @property
    def name(self) -> str: ...
    @property
    def ready(self) -> bool: ...
    @property
    def detail(self) -> str: ...


class ServedApplication(Protocol):
    """The application as the server sees it."""

    @property
    def settings(self) -> Settings: ...
    @property
    def timeline(self) -> Timeline: ...
    @property
    def metrics(self) -> CollectorRegistry:
        """Holds at least ``sensorstream_phase_seconds{phase}`` (histogram) and counters."""

    @property
    def alert_feed(self) -> AlertFeed:
        """``announce()`` is called after each commit that holds alerts, ``close()`` at the end."""

    @property
    def queries(self) -> ServedQueries:
        """The continuous queries."""

    def submit(self, content: bytes, source: str) -> Future[Outcome]:
        """Take one message in; done when its effects are committed.

        Called in the event loop: it may not block. The future raises kinds of
        :class:`sensorstream.errors.MessageError`, or :class:`sensorstream.errors.Unavailable`.
        """

    def query(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> QueryAnswer:
        """One-shot SPARQL over the cache, evaluated in the calling thread.

        The answer is lazy, may only be read in that thread, and sees one state of the cache.

        Raises:
            QueryError: the text is no SPARQL query, or cannot be answered.
        """

    def ontology(self) -> ServedOntology:
        """The ontology in force, and where it comes from."""

    def put_ontology(self, content: bytes, media_type: str) -> str:
        """Put another ontology in force between two messages; the journal's id of the change.

        Raises:
            OntologyError: it cannot be used; the old one stays.
            OntologyConflict: the window contradicts it, or another change is under way.
            LanguageError: a mapping or semantic rule does not fit it.
            ReasonerError: the new reasoner failed.
        """

    def sql(self, text: str) -> ServedTable:
        """One read-only SQL statement over history.

        Raises:
            QueryError: the text cannot be run.
        """

    def alerts(self, limit: int, before: int | None = None) -> Sequence[RaisedAlert]:
        """Kept alerts, newest first, with ``seq`` below ``before``."""

    def alerts_after(self, seq: int, limit: int) -> Sequence[RaisedAlert]:
        """Kept alerts, oldest first, with ``seq`` above the given one."""

    def register_webhook(
        self, url: str, secret: str | None = None, queries: Sequence[str] = ()
    ) -> Webhook:
        """Deliver alerts raised from now on to ``url``; makes a secret if none is given.

        So are the reports of ``queries``, by their names; they need not run yet.

        Raises:
            WebhookError: the URL or the secret is not acceptable.
            QueryError: a name is not one that a query can have.
        """

    def webhooks(self) -> Sequence[Webhook]:
        """All registered webhooks, oldest first."""

    def delete_webhook(self, webhook_id: str) -> bool:
        """Stop delivering to a webhook; False when there is none of this id."""

    def window_view(self, limit: int, offset: int = 0) -> ServedWindow:
        """The window and one page of its individuals."""

    def quarantine(self, limit: int, before: int | None = None) -> Sequence[ServedQuarantined]:
        """Messages not taken in or not whole, newest first, with ``seq`` below ``before``."""

    def held(self) -> int:
        """How many messages wait for earlier ones."""

    def healthy(self) -> bool:
        """Whether the pipeline runs; False means: restart me."""

    def ready(self) -> Sequence[ServedPart]:
        """Every part and whether it can do its work now."""
