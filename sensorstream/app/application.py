"""A running deployment: all parts, connected, with one life cycle."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from sensorstream.alerts.dispatcher import DeliveryPlan, WebhookDispatcher
from sensorstream.alerts.feed import AlertFeed
from sensorstream.alerts.outputs import receiver_of, senders_of
from sensorstream.alerts.sender import OUTPUT
from sensorstream.analysis import QueryContext
from sensorstream.app.cache.cache import Cache
from sensorstream.app.control.engine_settings import kept_for
from sensorstream.app.control.live_shapes import put_live
from sensorstream.app.control.query_control import Queries, ReportLog
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.rulebook import (
    OntologyControl,
    Rulebook,
    changed_functions,
    changed_rules,
)
from sensorstream.app.control.webhook_control import Webhooks
from sensorstream.app.control.wiring import Deployment, build_machine, cross_check_period, runner_of
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.life.access_control import Access, Rates, tokens_of
from sensorstream.app.life.health import Health, WatermarkNews
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.metrics import Metrics
from sensorstream.app.life.pipeline import Pipeline
from sensorstream.app.life.progress import TellProgress, silent
from sensorstream.app.life.recovery import Start
from sensorstream.app.life.repeated_work import RepeatedWork
from sensorstream.app.life.starting import (
    StreamTime,
    begin,
    fill,
    fill_for_spark,
    in_force,
    read_files,
    tell_edited,
)
from sensorstream.app.life.store_writes import Outlets
from sensorstream.app.life.upkeep import CrossChecks, Narrowing, Revival, retention
from sensorstream.app.questions.engine_questions import EngineQuestions
from sensorstream.app.questions.individuals import IndividualQuestions, WindowView, view_window
from sensorstream.app.questions.jobs import JobFolder, Jobs
from sensorstream.app.questions.message_questions import Messages
from sensorstream.app.questions.mirrored_window import WindowMirror
from sensorstream.app.questions.one_time_questions import Asking, RunningQuestions
from sensorstream.app.questions.rule_questions import RuleQuestions
from sensorstream.app.why.message_trials import Trials
from sensorstream.app.why.present_state import Unmet, WhyHolds
from sensorstream.app.why.reasons import Reasons
from sensorstream.clock import Clock, SystemClock
from sensorstream.engine.engine_queries import stream_of
from sensorstream.errors import HistoryError, Position
from sensorstream.history.access_store import PostgresAuditLog, PostgresKeys
from sensorstream.history.database import engine as database_engine
from sensorstream.history.effects_writer import Writes, claim
from sensorstream.history.incident_clock import tell_groups, tend
from sensorstream.history.incidents import PostgresIncidents, set_damping
from sensorstream.history.open_history import open_history
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.installation import require
from sensorstream.journal.entry import Entry
from sensorstream.journal.notice import ReportDisabled
from sensorstream.model.frozen import frozen
from sensorstream.processes.forks import QuestionLimits
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.settings.settings import Settings
from sensorstream.shapes.validation import NO_VIOLATIONS, ValidationReport
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs.spark_messages import Task
from sensorstream.spark.jobs.spark_worker_process import JobRunner

_LOG = logging.getLogger(__name__)
_CONNECTIONS: Final = 4
"""Database connections for the outbox, lists of alerts and the like; the writer has its own."""


@frozen
class InForce:
    """A rule in force: ``kind`` is ``mapping`` or ``semantic``."""

    kind: str
    name: str
    position: Position | None = None


class Application(Handle):
    """A running deployment, as server and command line see it. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        stack: ExitStack,
        progress: TellProgress,
        in_work: InWork,
    ) -> None:
        """Use :meth:`open`."""
        self.settings = settings
        self.clock = clock
        self.meters = Metrics()
        told, profile = "1; the profile of the settings.", settings.reasoning.profile
        name = "sensorstream_reasoner_info"
        self.meters.tell_parts(name, told, "profile", {profile: lambda: 1})
        self._stack = stack
        self._in_work = in_work
        self.alert_feed = AlertFeed()
        self._log = ReportLog()
        progress("reading the ontology and the rules")
        files = read_files(settings)
        self._period = cross_check_period(settings)
        store = self._recovered(files, progress)
        tell_edited(files, self.deployment)
        progress("starting the deliveries")
        self._log.keep(self.engine.queries.entries())
        install_views(self.database, self.deployment.ontology.schema, self.timeline)
        registered = self._open_doors()
        self._take_messages(store, registered)
        self._add_parts()
        self._start(files if isinstance(files, str) else "")

    def _recovered(self, files: Deployment | str, progress: TellProgress) -> PostgresStore:
        """Open the history, and bring the engine to the journal's end."""
        settings, here = self.settings, self.here
        progress("opening the history")
        store = self._open_store()
        self._stack.callback(store.close)
        claim(self.url, runner_of(settings))
        # On Spark others process the journal: it begins at the end.
        start = begin(store, self._in_work, self.clock.now()) if here else Start(store.last_seq())
        self.meters.damaged_checkpoints.inc(len(start.damaged))
        deployment, put = in_force(settings, files, store, start.seq, again=here)
        self.database = database_engine(self.url, pool_size=_CONNECTIONS)
        self._stack.callback(self.database.dispose)
        self.reader = PostgresReader(self.database, self.seconds)
        if here:
            progress(f"starting the reasoner (profile {settings.reasoning.profile})")
        machine = build_machine(
            deployment,
            self.clock.counter,
            None if here else NoReasoner(),
            self._in_work.turn_to,
            shared=True,
            live=True,
        )
        self._stack.callback(machine.engine.close)
        self.engine = machine.engine
        self.exchange = Exchange(machine.engine, machine.mapper, deployment, put)
        if here:
            log, own = self._log, partial(_found, settings, files, store)
            fill(self.exchange, store, start, log, progress, self._in_work, self.clock, own)
        else:
            fill_for_spark(self.exchange, store)
            self.mirror = WindowMirror(lambda: self.url, lambda: self.deployment)
            self._stack.callback(self.mirror.close)
        return store

    def _open_doors(self) -> PostgresWebhooks:
        """Open the ways for clients and receivers; nothing is sent yet."""
        settings, database = self.settings, self.database
        self.access = Access(
            PostgresKeys(database),
            PostgresAuditLog(database),
            self.clock,
            needed=settings.http.keys,
            audit_days=settings.limits.audit_days,
            tokens=tokens_of(settings.http, self.clock),
        )
        self.access.start()
        self._stack.callback(self.access.stop)
        registered = PostgresWebhooks(database)
        name = f"urn:sensorstream:{settings.folder.name or 'deployment'}"
        if settings.traces.endpoint:
            require("traces", "traces.endpoint")
            from sensorstream.app.life.traces import Traces

            self.traces = Traces(settings.traces, name, self.reader)
            self._stack.callback(self.traces.stop)
        self._dispatcher = WebhookDispatcher(
            PostgresOutbox(database),
            settings.webhooks,
            self.clock,
            DeliveryPlan(
                name,
                self.timeline,
                senders_of(settings.outputs, settings.webhooks.timeout),
                # Nobody wakes it where Spark stores what is to be sent.
                poll=1.0 if self.here else 0.25,
                trace=None if self.traces is None else self.traces.of_delivery,
            ),
            metrics=self.metrics,
            disabling=lambda webhook, text: self.pipeline.change(ReportDisabled(webhook, text)),
            tending=self._tend,
        )
        self.incidents = PostgresIncidents(database)
        self._set_outputs(registered)
        set_damping(database, settings.alerts)
        return registered

    def _take_messages(self, store: PostgresStore, registered: PostgresWebhooks) -> None:
        """Make the pipeline, and make the changes of webhooks that the journal has."""
        settings = self.settings
        due = None
        if not self.here:
            stages = [each.head.name for each in settings.stages]
            time = StreamTime(self.url, self.timeline.of(self.clock.now()), stages)
            self._stack.callback(time.close)
            due = time.due
        self.pipeline = Pipeline(
            self.exchange,
            store,
            Outlets(self.announce, self._log.publish, self._open_store, due, self.traces),
            clock=self.clock,
            metrics=self.meters,
            checkpoint_every=settings.history.checkpoint_every,
            limits=settings.limits,
            in_work=self._in_work,
        )
        self.submit = self.pipeline.submit
        self.pipeline.sources.update(settings.sources)
        self.webhooks = Webhooks(
            self,
            registered,
            self._dispatcher,
            self.announce,
            lambda name: self.queries.view(name).form,
        )
        self.webhooks.catch_up()
        if kept_for(settings) != (None, None):
            self._stack.enter_context(retention(self))

    def _add_parts(self) -> None:
        """Make the parts that answer questions and carry out changes."""
        settings, stack = self.settings, self._stack
        limits = settings.limits
        trials = Trials(self)
        stack.callback(trials.close)
        self.rulebook = Rulebook(self, trials)
        self.ontologies = OntologyControl(self, trials)
        mirror = self.mirror
        self.cache = Cache(
            self.engine.kb if mirror is None else mirror.windows.kb,
            self.pipeline.lock if mirror is None else mirror.lock,
            QuestionLimits(limits.question_seconds, limits.question_memory, limits.question_rows),
        )
        stack.callback(self.cache.close)
        self.asking = Asking(self, self.cache)
        stack.callback(self.asking.close)
        self.running = RunningQuestions(self.clock, self.meters.observe_question)
        told = "Questions in SPARQL and SQL that are being answered."
        self.meters.tell("sensorstream_questions", told, lambda: len(self.running.runs()))
        self.rates = Rates(limits.rate)
        self.queries = Queries(self, self._log, self._known_to_queries, trials)
        self.individuals = IndividualQuestions(self)
        self.messages = Messages(self, self.individuals)
        self.reasons = Reasons(self)
        self.unmet = Unmet(self)
        self.holding = WhyHolds(self)
        self.asks = EngineQuestions(self)
        place = HistoryPlace(self.url, settings.archive.folder)
        self.jobs = Jobs(
            JobFolder(settings.history.folder / "jobs"),
            JobRunner(Task(place, self.timeline, settings.spark, limits.question_seconds)),
            lambda: self.deployment.ontology.schema,
            self.clock,
        )
        stack.callback(self.jobs.close)
        self.meters.tell("sensorstream_jobs", "Jobs that wait or run.", self.jobs.unfinished)

    def _start(self, broken: str) -> None:
        """Start all threads; ``broken`` is what is wrong with the files."""
        stack, here, reasoning = self._stack, self.here, self.settings.reasoning
        deployed = self.deployment.shapes
        news = None if here else WatermarkNews(self.url, self.announce, self.metrics)
        cache = self.cache if here else None
        self.health = Health(self, cache, self._dispatcher, self._in_work, news, broken)
        for each in (self.health, self._dispatcher, self.pipeline):
            self._begin(each)
        if reasoning.profile in ("hermit", "pellet") and here:
            self._begin(Narrowing(self))
        if news is not None:
            self.pipeline.stored_elsewhere = news.stored
            self._begin(news)
        self._begin(Revival(self))
        self.cross_checks = CrossChecks(self)
        if self._period is not None:
            self._begin(self.cross_checks.every(self._period))
        put_live(self.queries, () if deployed is None else deployed.queries)
        if here:
            self._begin(RuleQuestions(self, self.asking, self.running))
        stack.callback(self.alert_feed.close)
        stack.callback(self._log.feed.close)

    def _begin(self, work: Health | WebhookDispatcher | Pipeline | RepeatedWork) -> None:
        work.start()
        self._stack.callback(work.stop)

    @classmethod
    def open(
        cls,
        settings: Settings,
        clock: Clock | None = None,
        progress: TellProgress = silent,
        in_work: InWork | None = None,
    ) -> Application:
        """Start everything: history, recovery from the journal, pipeline, deliveries. ``progress``
        gets the present work, ``in_work`` the entry of the journal that is being applied.

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
    def metrics(self) -> CollectorRegistry:
        return self.meters.registry

    def _known_to_queries(self) -> QueryContext:
        streams = frozenset(filter(None, map(stream_of, tuple(self.pipeline.sources))))
        return QueryContext(
            self.deployment.ontology.schema, streams=streams or None, continuous=True
        )

    def rules(self) -> Sequence[InForce]:
        """The mapping rules and the semantic rules in force, in the order of their files."""
        deployment = self.deployment
        return (
            *(InForce("mapping", each.name) for each in deployment.mapping.rules),
            *(InForce("semantic", each.name, each.position) for each in deployment.rules),
        )

    def window_view(self, limit: int, offset: int = 0) -> WindowView:
        """The window and one page of its individuals.

        Raises:
            HistoryError: what engines elsewhere hold cannot be read.
        """
        with self.looking() as seen:
            return view_window(seen, self.settings.window, limit, offset)

    def shapes_report(self) -> ValidationReport:
        """Validate what the knowledge base holds now by the shapes of the settings, if any.

        Raises:
            HistoryError: what engines elsewhere hold cannot be read.
            Overrun: it takes longer than a question may take.
        """
        shapes = self.deployment.shapes
        if shapes is None:
            return NO_VIOLATIONS
        with self.looking() as seen:
            triples = tuple(seen.kb.index)
        return shapes.report(triples, self.settings.limits.question_seconds, "question")

    def held(self) -> int:
        """The number of messages that wait for earlier ones."""
        return self.engine.held

    def _set_outputs(self, registered: PostgresWebhooks) -> None:
        """Tell the outbox the outputs of the settings."""
        receivers = [receiver_of(each, self.clock.now()) for each in self.settings.outputs]
        for gone, dropped in registered.set_outputs(receivers).items():
            name = gone.removeprefix(OUTPUT)
            _LOG.warning("output %s is not in the settings: dropped %d events", name, dropped)

    def _open_store(self) -> PostgresStore:
        """Open the history for writing; starts the embedded PostgreSQL if it does not run."""
        self.url = open_history(self.settings.history, self._stack)
        writes = Writes.ALL if self.here else Writes.JOURNAL
        return PostgresStore.open(self.url, self.timeline, writes)

    def _tend(self, now: datetime) -> int:
        try:
            done = tend(self.database, self.settings.alerts, now)
            done += tell_groups(self.database, self.timeline, now)
        except HistoryError:
            # Otherwise an embedded PostgreSQL that was killed stays down until the next write.
            with ExitStack() as found:
                self.url = open_history(self.settings.history, found)
            raise
        if done:
            self.alert_feed.announce()
        return done

    def announce(self, queued: bool = True) -> None:
        """Wake the followers of changes, and the dispatcher of deliveries if one is ``queued``."""
        self.alert_feed.announce()
        if not self.here:
            self._log.feed.announce()
        if queued:
            self._dispatcher.wake()


def _found(settings: Settings, files: Deployment | str, store: PostgresStore) -> list[Entry]:
    """The entries for files that have changed since the last start."""
    functions = changed_functions(settings, store)
    if functions is not None and functions.text:
        _LOG.warning("%s", functions.text)
    entries = (functions, changed_rules(files, store))
    return [each for each in entries if each is not None]
