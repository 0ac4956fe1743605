"""The continuous queries of a deployment, as its users see them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Any, Final, NoReturn, TypeVar

from sensorstream.alerts.alert_formats import plain_time
from sensorstream.alerts.feed import AlertFeed
from sensorstream.analysis import Note, QueryContext, query_notes
from sensorstream.app.control.pipeline_stages import engine_of
from sensorstream.app.control.versions import Match, ResourceVersions, check_match
from sensorstream.app.control.wiring import Stage
from sensorstream.app.deployment_handle import Asked, Handle, Question
from sensorstream.app.why.message_trials import QueryTrial, Trials
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import EngineReport, LiveQueries, Stopped
from sensorstream.errors import Busy, Position, QueryError, SensorStreamError, UnknownQuery
from sensorstream.history.asking.query_answer import Answer, answer_now, joined, kept
from sensorstream.history.effects_writer import followed, queries_met
from sensorstream.journal.registration import MOST_QUERIES, RegisterQuery, RemoveQuery, checked_name
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.timeline import Instant
from sensorstream.processes.fork_once import held
from sensorstream.sparql.described import check_named
from sensorstream.sparql.dotr.dotr_reader import check_classes_named, is_rules, read_program
from sensorstream.sparql.query_lexer import QueryText, check_tokens
from sensorstream.sparql.query_parser import parse_query, read_query
from sensorstream.sparql.text_bounds import MOST_TOKENS, check_length
from sensorstream.sparql.variable_scope import group_keys
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.operator_graph import graph_data
from sensorstream.streams.selection_rules import RunningRules

_Told = TypeVar("_Told")
_START: Final = Position("query", 1, 1)
_MOST_WAITING: Final = 8
"""Registrations at a time, with those that wait; a server has 40 threads for requests."""
_SOON: Final = 1.0
"""Seconds after which a registration that is refused may find a place."""


@frozen
class QueryView:
    """The present state of one query; times are application time."""

    name: str
    text: str
    entry: str
    """The journal's id of its registration; an id of its own if it is of a stage."""
    form: str
    """``SELECT``, ``CONSTRUCT`` or ``ASK``."""
    reports: int
    reported: int
    """The number of its last :class:`EngineReport`; a report may consist of several."""
    relation: str | None = None
    """``RSTREAM``, ``ISTREAM`` or ``DSTREAM``; None: additions and removals."""
    variables: tuple[str, ...] = ()
    reason: str = ""
    """Why it is evaluated anew at every change; "" if it is kept in step."""
    last_report: Instant | None = None
    next_report: Instant | None = None
    """When it reports next if no message arrives; None if that is not known."""
    stopped: str = ""
    """Why it was stopped; "" while it runs."""
    notes: tuple[Note, ...] = ()
    """Notes on its text; only in the answer to its registration."""
    group_keys: tuple[str, ...] = ()
    """Those of its variables by which it groups."""
    stage: str = ""
    """The stage on Spark whose engines run it; its name begins with that, as their keys do."""


class Queries:
    """Registered queries. Thread-safe; each change is an entry of the journal.

    A method that names a query raises :class:`.UnknownQuery` if there is none, a change
    :class:`.ChangedMeanwhile` if ``match`` says no, and :class:`.Unavailable` if the server is
    stopping or broken. A trial raises what :meth:`.Trials.alone` and :meth:`.Trials.query` do.
    Where other engines run the queries, ``key`` says which one answers: see
    :meth:`.EngineQuestions.ask`. The queries of stages there, ``stage=name``, can only be read.
    """

    def __init__(
        self, app: Handle, log: ReportLog, known: Callable[[], QueryContext], trials: Trials
    ) -> None:
        """``known`` gives the context that notes on texts use."""
        self._app = app
        self._trials = trials
        self.versions = ResourceVersions(
            lambda: app.url,
            (RegisterQuery.kind, RemoveQuery.kind),
            "the query '{}'".format,
            by_source=True,
            check=checked_name,
            without=_raise_unknown,
        )
        self._changing = Lock()
        self._places = BoundedSemaphore(_MOST_WAITING)
        self._slow_reads = SlowReads()
        self.log = log
        self._known = known
        self._stages: tuple[Stage, ...] = ()
        self._engines: dict[str, Engine] = {}
        """Engines without messages, by stage, for what the queries of stages are like."""

    @property
    def feed(self) -> AlertFeed:
        """The notifier of followers: new reports, or the end of a query."""
        return self.log.feed

    def register(self, text: str, name: str | None = None, by: str = "") -> QueryView:
        """Start a query; it begins with the present content of the knowledge base. ``name`` is the
        name of the query; None: the name in its REGISTER clause, or else a new name. ``by`` is who
        sends it.

        Raises:
            QueryError: the text is not a valid query, or the name is not a valid name of a query.
            UnsupportedQuery: it cannot be a continuous query.
            Overrun: it would take more than the limits to begin.
            QueryConflict: the name is taken, or too many queries run.
            Busy: too many registrations wait.
        """
        named, notes = self._read(text, name)
        if name is None:
            name = named
        if name is None:
            with self._app.pipeline.lock:
                running = self._app.engine.queries.processor.queries
                name = next(
                    n for k in range(1, MOST_QUERIES + 2) if (n := f"query-{k}") not in running
                )
        chosen = self._own(name)
        with self._registering():
            self._app.pipeline.change(RegisterQuery(chosen, text, by)).result()
        return replace(self.view(chosen), notes=notes)

    def _read(self, text: str, wanted: str | None) -> tuple[str | None, tuple[Note, ...]]:
        """The name that a text gives itself, and notes on it. ``wanted`` is the name that it gets,
        if it is not its own.

        Raises:
            QueryError: it is not valid.
        """
        if is_rules(text):
            check_length(text, _START)
            check_tokens(QueryText(text, _START), MOST_TOKENS)
            program = read_program(text, name="rules", start=_START)
            if self._app.deployment.names_only:
                check_classes_named(program)
            return None, ()
        parsed = read_query(text, start=_START, most_tokens=MOST_TOKENS)
        if self._app.deployment.names_only:
            check_named(parsed.meaning)
        registration = parsed.meaning.registration
        name = None if registration is None else str(registration.name)
        # A copy, made at once: waiting for the engine here would occupy a thread of the server.
        running = dict(self._app.engine.queries.processor.queries)
        beside = {
            each: query.query
            for each, query in running.items()
            if each != (wanted or name) and not isinstance(query, RunningRules)
        }
        return name, query_notes(parsed, replace(self._known(), beside=beside))

    def put(
        self, name: str, text: str, by: str = "", match: Match = None, *, found: bool = False
    ) -> QueryView:
        """Start a query, instead of the one of this name if there is one. If the new one cannot
        start, the present one goes on, as does a query that has this text; a name in it is ignored.
        ``match`` is whether the change is wanted, told the digest of the present text, or None;
        ``found``, whether what it finds at its start raises its alerts.

        Raises:
            QueryError, UnsupportedQuery, Overrun, QueryConflict, Busy, Unavailable: see
                :meth:`register`.
        """
        _, notes = self._read(text, name)
        with self._registering():
            now = self._present(self._own(name))
            check_match(match, None if now is None else now.text, f"the query '{name}'")
            if now is None or now.stopped or now.text != text:
                entry = RegisterQuery(name, text, by, replaces=True, found=found)
                self._app.pipeline.change(entry).result()
                with self._app.pipeline.lock:
                    self.log.keep(self._app.engine.queries.entries())
        return replace(self.view(name), notes=notes)

    def try_put(self, name: str, text: str) -> QueryTrial:
        """Try a query on recent messages and return its reports; nothing is put.

        Raises:
            QueryError: no query can have this name.
        """
        with self._trials.alone():
            try:
                self._read(text, name)
            except SensorStreamError as error:
                return QueryTrial((error,))
            return self._trials.query(self._app.deployment, self._own(name), text)

    def remove(self, name: str, by: str = "", match: Match = None) -> str:
        """Stop a query; ``by`` is who wants it, ``match`` as in :meth:`put`. Returns the id of the
        entry.
        """
        with self._changing:
            self._own(name)
            if match is not None:
                check_match(match, self.view(name).text, f"the query '{name}'")
            outcome = self._app.pipeline.change(RemoveQuery(name, by)).result()
        with self._app.pipeline.lock:
            self.log.keep(self._app.engine.queries.entries())
        return outcome.message.id

    @contextmanager
    def _registering(self) -> Iterator[None]:
        """A block for a registration, one at a time; few wait, since each keeps a server thread."""
        full = f"{_MOST_WAITING} queries wait to be registered already: send it again later"
        with held(self._places, 0, Busy(full, retry_after=_SOON)), self._changing:
            yield

    def _present(self, name: str) -> QueryView | None:
        try:
            return self.view(name)
        except UnknownQuery:
            return None

    def views(self) -> list[QueryView]:
        """The queries that run, in the order of their registration, then the stopped ones."""
        with self._app.pipeline.lock:
            stopped = self._app.engine.queries.stopped.values()
            running = (
                _view(each, engine.queries, stage)
                for stage, engine in {"": self._app.engine, **self._of_stages()}.items()
                for each in engine.queries.processor.queries.values()
            )
            return [*running, *map(_view_stopped, stopped)]

    def view(self, name: str) -> QueryView:
        with self._app.pipeline.lock:
            stopped = self._app.engine.queries.stopped.get(name)
            if stopped is not None:
                return _view_stopped(stopped)
            engine, own, stage = self._place(name)
            return _view(running_query(engine, own), engine.queries, stage)

    def results(self, name: str, key: str | None = None) -> Answer:
        """The whole result of a query as it is now.

        Raises:
            Overrun: it is larger than the limits allow.
        """
        if key is not None:
            return self._of_one(results_of, name, key)
        with self._app.pipeline.lock:
            engine, own, stage = self._place(name)
            budget, running = engine.queries.processor.network.budget, running_query(engine, own)
            with self._slow_reads.turn(name), budget.alone():
                here = answer_now(running)
        told = {"name": own, "stage": stage}
        found = self._app.asked(results_of, told, key, lambda: here)
        return here if self._app.here else joined(found, here)

    def reports(self, query: QueryView, after: int | None) -> tuple[int, Sequence[EngineReport]]:
        """A number, and the next kept reports of a registration after it: ``after``; None: later
        than now.
        """
        if not self._app.here:
            return followed(self._app.database, query.entry, after)
        after = query.reported if after is None else after
        return after, self.log.after(query.entry, after)

    def runs(self, entry: str) -> bool:
        """Whether the query of a registration may still report."""
        with self._app.pipeline.lock:
            for each in (self._app.engine, *self._of_stages().values()):
                if entry in each.queries.entries():
                    return True
        return not (self._app.here or queries_met(self._app.database))

    def graph(self, name: str, key: str | None = None) -> dict[str, Any]:
        """A query's operators with their counters; see :mod:`.operator_graph`."""
        return self._of_one(graph_of, name, key)

    def end_record(self, name: str, key: str | None = None) -> None:
        self._of_one(end_steps, name, key)

    def steps(self, name: str, last: int, key: str | None = None) -> list[dict[str, Any]]:
        """The last recorded instants of a query, oldest first; the first call starts the record."""
        return self._of_one(steps_of, name, key, last=last)

    def _of_one(
        self, question: Question[_Told], name: str, key: str | None, **more: object
    ) -> _Told:
        """The answer of one engine about a query."""
        with self._app.pipeline.lock:
            engine, own, stage = self._place(name)
            if key is None or stage or self._app.here:
                running_query(engine, own)
        told = {"name": own, "stage": stage} if key is None or stage else {"name": own}
        found = self._app.asked(question, told | more, key, one=True)
        return next(iter(found.values()))

    def _place(self, name: str) -> tuple[Engine, str, str]:
        """The engine here that has a query, its name there and its stage; the lock is held."""
        stage, sign, own = name.partition("=")
        engine = self._of_stages().get(stage) if sign else None
        return (self._app.engine, name, "") if engine is None else (engine, own, stage)

    def _of_stages(self) -> Mapping[str, Engine]:
        stages = self._app.deployment.stages
        if self._stages is not stages:
            for each in self._engines.values():
                each.close()
            self._engines = {each.name: engine_of(each) for each in stages}
            self._stages = stages
        return self._engines

    def _own(self, name: str) -> str:
        """The name itself; raises QueryError if no query that can be changed can have it."""
        stage, sign, _ = name.partition("=")
        if sign and stage in (each.name for each in self._app.deployment.stages):
            raise QueryError(
                f"'{name[:40]}' is of the stage '{stage}': change its file, then start server and "
                "pipeline again"
            )
        return checked_name(name)


def running_query(engine: Engine, name: str) -> ContinuousQuery:
    """The query of a name; raises UnknownQuery if there is none."""
    running = engine.queries.processor.queries.get(name)
    if running is None:
        stopped = engine.queries.stopped.get(name)
        told = f": it was stopped: {stopped.reason}" if stopped is not None else ""
        raise UnknownQuery(f"there is no query '{name}'{told}")
    return running


def results_of(asked: Asked, told: Mapping[str, Any]) -> Answer:
    """See :meth:`Queries.results`."""
    running = running_query(asked.engine, told["name"])
    with asked.engine.queries.processor.network.budget.alone():
        return kept(answer_now(running), asked.deployment.settings.limits.question_rows)


def graph_of(asked: Asked, told: Mapping[str, Any]) -> dict[str, Any]:
    """See :meth:`Queries.graph`."""
    return graph_data(running_query(asked.engine, told["name"]), _time_of(asked))


def steps_of(asked: Asked, told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """See :meth:`Queries.steps`."""
    name = running_query(asked.engine, told["name"]).name
    return asked.engine.queries.processor.trace(name, _time_of(asked)).last(told["last"])


def end_steps(asked: Asked, told: Mapping[str, Any]) -> None:
    """See :meth:`Queries.end_record`."""
    asked.engine.queries.processor.untrace(running_query(asked.engine, told["name"]).name)


def _time_of(asked: Asked) -> Callable[[Instant], object]:
    return partial(plain_time, timeline=asked.deployment.timeline)


def _raise_unknown(name: str) -> NoReturn:
    raise UnknownQuery(f"there has never been a query '{name}'")


def _view(query: ContinuousQuery, queries: LiveQueries, stage: str) -> QueryView:
    relation = query.schedule.relation
    keys = group_keys(query.query.form.pattern)
    return QueryView(
        f"{stage}={query.name}" if stage else query.name,
        query.text,
        queries.entry(query.name),
        type(query.query.form).__name__.upper(),
        query.reports,
        queries.reported(query.name),
        None if relation is None else relation.value,
        query.variables,
        query.reason,
        query.last_report,
        query.next_report,
        group_keys=tuple(each for each in keys if each in query.variables),
        stage=stage,
    )


def _view_stopped(query: Stopped) -> QueryView:
    text, rules = query.text, is_rules(query.text)
    form = "CONSTRUCT" if rules else type(parse_query(text).form).__name__.upper()
    told = query.name, text, query.entry, form
    return QueryView(*told, query.reports, query.reports, stopped=query.reason)


_HARMLESS: Final = 0.1
"""Seconds that the engine may wait for a read without a pause after it."""
_PAUSE: Final = 4.0
"""How many times its seconds the engine has to itself after a slow one."""
_MOST_QUICK: Final = 1000
"""Queries that are remembered as quick to read."""


class SlowReads:
    """A bound on the engine's time that reads take; the caller holds the engine's lock. ``counter``
    gives seconds, ``work`` those that this thread has worked. A query counts as slow until a read
    of it was quick, so that a new one gains nothing.
    """

    def __init__(
        self,
        counter: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self._counter = counter
        self._work = work
        self._quick: dict[str, None] = {}
        self._until = 0.0

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """A block in which the results of a query are read.

        Raises:
            Busy: a slow read was not long ago, and this one may be slow, too.
        """
        left = self._until - self._counter()
        if name not in self._quick and left > 0:
            raise Busy(
                "reading results has just taken long, and messages are taken first: "
                "read them again later, or follow the reports",
                retry_after=left,
            )
        begun = self._work()
        try:
            yield
        finally:
            took = self._work() - begun
            if took > _HARMLESS:
                self._quick.pop(name, None)
                self._until = self._counter() + _PAUSE * took
            elif name not in self._quick:
                if len(self._quick) >= _MOST_QUICK:
                    del self._quick[next(iter(self._quick))]
                self._quick[name] = None


_REPORTS: Final = 1000
"""The most reports kept of a query."""
_ROWS: Final = 50_000
"""The most rows and triples kept of a query, not counting its last report."""


class ReportLog:
    """The reports that followers read, each from its own cursor: slow ones delay no others.
    Thread-safe. Reports that a follower does not read in time are dropped; the numbers show how
    many.
    """

    def __init__(self) -> None:
        self.feed = AlertFeed()
        """Notifies followers of new reports."""
        self._lock = Lock()
        self._reports: dict[str, deque[EngineReport]] = {}
        self._rows: dict[str, int] = {}

    def publish(self, reports: Sequence[EngineReport]) -> None:
        """Add reports whose effects are committed."""
        if not reports:
            return
        with self._lock:
            for report in reports:
                kept = self._reports.setdefault(report.entry, deque())
                kept.append(report)
                rows = self._rows.get(report.entry, 0) + _size(report)
                while len(kept) > 1 and (len(kept) > _REPORTS or rows > _ROWS):
                    rows -= _size(kept.popleft())
                self._rows[report.entry] = rows
        self.feed.announce()

    def after(self, entry: str, number: int) -> list[EngineReport]:
        """The kept reports of a registration whose number is above ``number``, in order."""
        with self._lock:
            return [each for each in self._reports.get(entry, ()) if each.number > number]

    def keep(self, entries: Collection[str]) -> None:
        """Remove the reports of all other registrations."""
        with self._lock:
            for entry in self._reports.keys() - set(entries):
                del self._reports[entry], self._rows[entry]
        # Followers of removed registrations must notice the end.
        self.feed.announce()


def _size(report: EngineReport) -> int:
    return len(report.report.rows) + len(report.report.triples or ())
