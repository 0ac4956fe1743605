"""One running deployment: all parts, connected, with one life cycle."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.feed import AlertFeed
from sensorstream.alerts.outputs import receiver_of, senders_of
from sensorstream.alerts.records import RaisedAlert
from sensorstream.alerts.sender import OUTPUT
from sensorstream.analysis import Known
from sensorstream.app.access import Access, tokens_of
from sensorstream.app.asking import Asking
from sensorstream.app.exchange import Exchange, Revival
from sensorstream.app.health import Health, News
from sensorstream.app.holding import Holding
from sensorstream.app.in_force import in_force, read_files, tell_edited
from sensorstream.app.in_work import InWork
from sensorstream.app.incidents import Incidents
from sensorstream.app.individuals import Individuals
from sensorstream.app.job_folder import JobFolder
from sensorstream.app.jobs import Jobs
from sensorstream.app.live import Live
from sensorstream.app.messages import Messages
from sensorstream.app.metrics import Metrics
from sensorstream.app.narrowing import Narrowing
from sensorstream.app.ontologies import Ontologies
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.progress import Progress, Rebuilding, silent
from sensorstream.app.rates import Rates
from sensorstream.app.readiness import HistoryProbe, Readiness, WholeWay
from sensorstream.app.reasons import Reasons
from sensorstream.app.recovery import Start, find_start, recover
from sensorstream.app.registered_queries import Queries, ReportLog
from sensorstream.app.replays import Replays
from sensorstream.app.retention import Retention
from sensorstream.app.rule_questions import CrossChecks, RuleQuestions
from sensorstream.app.rulebook import Rulebook, changed_functions, changed_rules
from sensorstream.app.running import Running
from sensorstream.app.skipping import skip_deadly
from sensorstream.app.stream_time import StreamTime
from sensorstream.app.trials import Trials
from sensorstream.app.waiting import HERE, Sender
from sensorstream.app.webhooks import Webhooks
from sensorstream.app.why_not import Unmet
from sensorstream.app.window_view import WindowView, view_window
from sensorstream.app.wiring import (
    Deployment,
    build_machine,
    cross_check_period,
    runner_of,
    version_of,
)
from sensorstream.cache.cache import Cache
from sensorstream.cache.protocol import CacheLimits
from sensorstream.clock import Clock, SystemClock
from sensorstream.engine.live_queries import stream_of
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Position, RunsOnSpark
from sensorstream.history.access import PostgresAuditLog, PostgresKeys
from sensorstream.history.alerts import Behind, alerts_after, alerts_before, messages_behind
from sensorstream.history.database import engine as database_engine
from sensorstream.history.incidents import PostgresIncidents, set_damping
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.kept_messages import EVERY, Chosen, Quarantined, quarantined
from sensorstream.history.opening import open_history
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.pipeline import Writes, claim
from sensorstream.history.store import PostgresStore
from sensorstream.history.tending import tell_groups, tend
from sensorstream.history.views import install_views
from sensorstream.history.webhooks import PostgresWebhooks
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.kinds import replay
from sensorstream.journal.notice import ReportDisabled
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.dl.cross_check import Differences
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.settings import Settings
from sensorstream.spark.jobs.protocol import Task
from sensorstream.spark.jobs.runner import Runner
from sensorstream.spark.snapshot import Place

_LOG = logging.getLogger(__name__)
_CROSS_CHECK_SECONDS: Final = 600.0
_MOST_SOURCES: Final = 10_000
"""The most names of sources that are kept for the notes on queries."""
_CONNECTIONS: Final = 4
"""Database connections for the outbox, lists of alerts and the like; the writer has its own."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A rule in force: ``kind`` is ``mapping`` or ``semantic``."""

    kind: str
    name: str
    position: Position | None = None


class Application:
    """What server and command line see of a deployment. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        stack: ExitStack,
        progress: Progress,
        in_work: InWork,
    ) -> None:
        """Use :meth:`open`."""
        self.settings = settings
        self.alert_feed = AlertFeed()
        self._clock = clock
        self._stack = stack
        self._metrics = Metrics()
        self._metrics.tell_profile(settings.reasoning.profile)
        progress("reading the ontology and the rules")
        # The engines run on Spark: this one holds nothing, so it needs no reasoner.
        self._elsewhere = settings.pipeline.runner == "spark"
        reasoner = NoReasoner() if self._elsewhere else None
        files = read_files(settings)
        cross_check_every = None if self._elsewhere else cross_check_period(settings)
        self._timeline = settings.time.timeline
        progress("opening the history")
        store = self._open_store()
        stack.callback(store.close)
        claim(self.url, runner_of(settings))
        start = Start(store.last_seq()) if self._elsewhere else find_start(store)
        death = None if self._elsewhere else in_work.open()
        if death is not None and skip_deadly(death, store, start, clock.now()):
            in_work.forget()
        self._metrics.damaged_checkpoints.inc(len(start.damaged))
        deployment, put = in_force(settings, files, store, start.seq, again=True)
        database = database_engine(self.url, pool_size=_CONNECTIONS)
        stack.callback(database.dispose)
        self._database = database
        if not self._elsewhere:
            progress(f"starting the reasoner (profile {settings.reasoning.profile})")
        machine = build_machine(
            deployment, clock.counter, reasoner, in_work.turn_to, shared=True, live=True
        )
        stack.callback(machine.engine.close)
        self._engine = machine.engine
        exchange = self._exchange = Exchange(machine.engine, machine.mapper, deployment, put)
        log = ReportLog()
        target = Target(machine.engine, machine.mapper, exchange)
        if self._elsewhere:
            _know_queries(target, self.url)
        else:
            if put is None:
                since = None if start.state is None else start.state.window.counters.now
                store.record_ontology(version_of(deployment, start.seq, since))
            rebuilding = Rebuilding(store.last_seq() - start.seq, progress, clock.counter)
            rebuilding.tell(0)
            own = partial(_found, settings, files, store)
            recover(target, store, start, log.publish, clock.now(), rebuilding.tell, in_work, own)
        tell_edited(files, exchange.deployment)
        progress("starting the deliveries")
        log.keep(machine.engine.queries.entries())
        self._install_views()
        self.access = Access(
            PostgresKeys(database),
            PostgresAuditLog(database),
            clock,
            needed=settings.http.keys,
            audit_days=settings.limits.audit_days,
            tokens=tokens_of(settings.http, clock),
        )
        self.access.start()
        stack.callback(self.access.stop)
        registered = PostgresWebhooks(database)
        self._dispatcher = WebhookDispatcher(
            PostgresOutbox(database),
            settings.webhooks,
            clock,
            source=f"urn:sensorstream:{settings.folder.name or 'deployment'}",
            timeline=deployment.timeline,
            metrics=self._metrics.registry,
            disabling=lambda webhook, text: self._pipeline.change(ReportDisabled(webhook, text)),
            senders=senders_of(settings.outputs, settings.webhooks.timeout),
            tending=self._tend,
        )
        announce = partial(self._announce, queued=True)
        self.incidents = Incidents(PostgresIncidents(database), clock, announce)
        self._set_outputs(registered)
        set_damping(database, settings.alerts)
        time = StreamTime(self.url, self._timeline.of(clock.now())) if self._elsewhere else None
        if time is not None:
            stack.callback(time.close)
        self._pipeline = Pipeline(
            target,
            store,
            clock=clock,
            metrics=self._metrics,
            checkpoint_every=settings.history.checkpoint_every,
            limits=settings.limits,
            on_commit=self._announce,
            publish=log.publish,
            reopen=self._open_store,
            elsewhere=None if time is None else time.due,
            in_work=in_work,
        )
        self.webhooks = Webhooks(
            registered,
            self._dispatcher,
            self._pipeline,
            clock,
            self._timeline,
            lambda: self.url,
            announce,
        )
        self.webhooks.catch_up()
        stack.enter_context(Retention(lambda: self.url, settings, clock))
        trials = Trials(lambda: self.url, self._check_here, clock.counter)
        stack.callback(trials.close)
        live = Live(exchange, self._pipeline, lambda: self.url, self._check_here, trials)
        self.rulebook = Rulebook(live)
        self.ontologies = Ontologies(live, database)
        limits = settings.limits
        self.cache = Cache(
            machine.engine.kb,
            self._pipeline.lock,
            CacheLimits(limits.question_seconds, limits.question_memory, limits.question_rows),
        )
        stack.callback(self.cache.close)
        self.asking = Asking(
            settings,
            machine.engine,
            self._pipeline,
            self.cache,
            lambda: self.url,
            lambda: self.deployment,
            self._check_here,
        )
        self.running = Running(clock, self._metrics.observe_question)
        told = "Questions that are being answered."
        self._metrics.tell("sensorstream_questions", told, lambda: len(self.running.runs()))
        self._sources = set(settings.sources)
        self.rates = Rates(settings.limits.rate)
        self.queries = Queries(
            machine.engine,
            self._pipeline,
            log,
            deployment.timeline,
            self._known_to_queries,
            self._check_here,
            lambda: self.deployment,
            lambda: self.url,
            trials,
        )
        self._individuals = Individuals(
            machine.engine, self._pipeline.settled, database, settings.limits.question_seconds
        )
        self.messages = Messages(
            database,
            None if self._elsewhere else self._individuals.said_by,
            settings.limits.question_seconds,
        )
        self.reasons = Reasons(
            database,
            lambda: self.url,
            exchange,
            settings.limits.question_seconds,
            self.settings.reasoning.profile,
        )
        self.unmet = Unmet(
            machine.engine,
            self._pipeline,
            exchange,
            self._check_here,
            settings.limits.question_seconds,
        )
        self.holding = Holding(
            machine.engine,
            self._pipeline,
            exchange,
            self._check_here,
            lambda: self.url,
            settings.limits.question_seconds,
            self.settings.reasoning,
            clock,
        )
        self.replays = Replays(
            database,
            lambda content, source, sender, origin: self.submit(
                content, source, sender, origin=origin
            ),
            clock,
            settings.limits.question_seconds,
        )
        self.jobs = Jobs(
            JobFolder(settings.history.folder / "jobs"),
            Runner(
                Task(
                    Place(self.url, settings.archive.folder),
                    deployment.timeline,
                    settings.spark.master,
                    settings.limits.question_seconds,
                )
            ),
            lambda: self.deployment.ontology.schema,
            clock,
        )
        stack.callback(self.jobs.close)
        told = "Jobs that wait or run."
        self._metrics.tell("sensorstream_jobs", told, self.jobs.unfinished)
        probe = HistoryProbe(lambda: self.url)
        stack.callback(probe.close)
        cache = None if self._elsewhere else self.cache
        way = WholeWay(probe, self._pipeline, machine.mapper, machine.engine, cache)
        readiness = Readiness(way.names, way, clock.counter)
        readiness.start()
        stack.callback(readiness.stop)
        self._dispatcher.start()
        stack.callback(self._dispatcher.stop)
        self._pipeline.start()
        stack.callback(self._pipeline.stop)
        if settings.reasoning.profile in ("hermit", "pellet") and not self._elsewhere:
            narrowing = Narrowing(
                database, lambda: self.deployment.ontology, settings.reasoning, clock
            )
            narrowing.start()
            stack.callback(narrowing.stop)
        news = News(self.url, announce, self.metrics) if self._elsewhere else None
        if news is not None:
            news.start()
            stack.callback(news.stop)
        self.health = Health(
            settings,
            readiness,
            self._pipeline,
            machine.engine,
            self._dispatcher,
            in_work,
            news,
            files if isinstance(files, str) else "",
        )
        revival = Revival(machine.engine, exchange, self._pipeline)
        revival.start()
        stack.callback(revival.stop)
        self._cross_checks = CrossChecks(
            machine.engine,
            exchange,
            self._pipeline,
            period=cross_check_every,
            clock=clock,
            metrics=self._metrics.registry,
        )
        self._cross_checks.start()
        stack.callback(self._cross_checks.stop)
        if not self._elsewhere:
            questions = RuleQuestions(
                machine.engine,
                exchange,
                self._pipeline,
                self.asking,
                self.running,
                self._metrics.registry,
            )
            questions.start()
            stack.callback(questions.stop)
        stack.callback(self.alert_feed.close)
        stack.callback(log.feed.close)

    @classmethod
    def open(
        cls,
        settings: Settings,
        clock: Clock | None = None,
        progress: Progress = silent,
        in_work: InWork | None = None,
    ) -> Application:
        """Start everything: history, recovery from the journal, pipeline, deliveries.

        ``progress`` is told what goes on, ``in_work`` which entry of the journal is being applied.

        Raises:
            SensorStreamError: invalid settings, ontology or rules, or a part does not start.
        """
        with ExitStack() as stack:
            application = cls(
                settings, clock or SystemClock(), stack, progress, in_work or InWork()
            )
            application._stack = stack.pop_all()
            return application

    def close(self) -> None:
        """Finish all waiting work and stop everything; a second call does nothing."""
        self._stack.close()

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def deployment(self) -> Deployment:
        """The deployment in force: that of the settings, or with an ontology put since."""
        return self._exchange.deployment

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    @property
    def individuals(self) -> Individuals:
        """What is known of individuals.

        Raises:
            RunsOnSpark: what holds now is not here.
        """
        self._check_here("what is known of an individual now", "ask /sparql with on=history")
        return self._individuals

    @property
    def metrics(self) -> CollectorRegistry:
        return self._metrics.registry

    def submit(
        self,
        content: bytes,
        source: str,
        sender: Sender = HERE,
        *,
        origin: str = "",
        early: bool = False,
    ) -> Future[Outcome]:
        """Take one message in; see :meth:`.Pipeline.submit`."""
        if len(self._sources) < _MOST_SOURCES:
            self._sources.add(source)
        return self._pipeline.submit(content, source, sender, origin=origin, early=early)

    def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        sender: Sender = HERE,
    ) -> Future[Outcome]:
        """Take a message of an input in; see :meth:`.Pipeline.take`."""
        if len(self._sources) < _MOST_SOURCES:
            self._sources.add(source)
        return self._pipeline.take(content, source, origin, repeated=repeated, sender=sender)

    def _known_to_queries(self) -> Known:
        streams = frozenset(filter(None, map(stream_of, tuple(self._sources))))
        return Known(self.deployment.ontology.schema, streams=streams or None, continuous=True)

    def cross_check(self, seconds: float = _CROSS_CHECK_SECONDS) -> Differences | None:
        """Compare the inferences with a fresh run of HermiT; None while HermiT is not available.

        Raises:
            ReasonerError: HermiT did not finish in time, or failed.
            RunsOnSpark: the engines are not here.
        """
        self._check_here("a cross-check")
        return self._cross_checks.now(seconds)

    def rules(self) -> Sequence[InForce]:
        """The mapping rules and the semantic rules in force, in the order of their files."""
        deployment = self.deployment
        return (
            *(InForce("mapping", each.name) for each in deployment.mapping.rules),
            *(InForce("semantic", each.name, each.position) for each in deployment.rules),
        )

    def alerts(self, limit: int, before: int | None = None) -> Sequence[RaisedAlert]:
        """Kept alerts, newest first, with ``seq`` below ``before``."""
        return alerts_before(self._database, limit, before)

    def alerts_after(self, seq: int, limit: int) -> Sequence[RaisedAlert]:
        """Kept alerts, oldest first, with ``seq`` above the given one."""
        return alerts_after(self._database, limit, seq)

    def messages_behind(
        self, alert: str, limit: int, after: int = 0
    ) -> tuple[RaisedAlert, Sequence[Behind]]:
        """The messages that led to an alert; see :func:`.messages_behind`."""
        return messages_behind(self._database, alert, limit, after)

    def window_view(self, limit: int, offset: int = 0) -> WindowView:
        """The window and one page of its individuals.

        Raises:
            RunsOnSpark: the engines are not here.
        """
        self._check_here("the window")
        with self._pipeline.lock:
            return view_window(self._engine, self.settings.window, limit, offset)

    def quarantine(self, limit: int, chosen: Chosen = EVERY) -> Sequence[Quarantined]:
        """Messages that were not taken in, or not whole, newest first."""
        return quarantined(self._database, limit, chosen, self.settings.limits.question_seconds)

    def held(self) -> int:
        """How many messages wait for earlier ones."""
        return self._engine.held

    def _check_here(self, what: str, way_out: str = "ask history") -> None:
        if self._elsewhere:
            raise RunsOnSpark(f"{what}: the engines run on Spark (pipeline.runner): {way_out}")

    def _set_outputs(self, registered: PostgresWebhooks) -> None:
        """Tell the outbox the outputs of the settings."""
        receivers = [receiver_of(each, self._clock.now()) for each in self.settings.outputs]
        for gone, dropped in registered.set_outputs(receivers).items():
            name = gone.removeprefix(OUTPUT)
            _LOG.warning("output %s is not in the settings: dropped %d events", name, dropped)

    def _open_store(self) -> PostgresStore:
        """Open the history for writing; starts the embedded PostgreSQL if it does not run."""
        self.url = open_history(self.settings.history, self._stack)
        writes = Writes.JOURNAL if self._elsewhere else Writes.ALL
        return PostgresStore.open(self.url, self._timeline, writes)

    def _install_views(self) -> None:
        install_views(self._database, self.deployment.ontology.schema, self._timeline)

    def _tend(self, now: datetime) -> int:
        done = tend(self._database, self.settings.alerts, now)
        done += tell_groups(self._database, self._timeline, now)
        if done:
            self.alert_feed.announce()
        return done

    def _announce(self, queued: bool) -> None:
        self.alert_feed.announce()
        if queued:
            self._dispatcher.wake()


def _know_queries(target: Target, url: str) -> None:
    """Register the continuous queries of the journal, so that new ones can be checked."""
    for row in journal_rows(url, 0, None, (RegisterQuery.kind, RemoveQuery.kind)):
        replay(record_of(row), target, ())


def _found(settings: Settings, files: Deployment | str, store: PostgresStore) -> list[Entry]:
    """What this start has found in the files that the last one had not."""
    functions = changed_functions(settings, store)
    if functions is not None and functions.text:
        _LOG.warning("%s", functions.text)
    entries = (functions, changed_rules(files, store))
    return [each for each in entries if each is not None]
