"""A real HTTP server over an application in memory, for everything that needs no database."""

from __future__ import annotations

import io
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from ssl import SSLContext
from typing import Any

import httpx
import pyarrow
import pyarrow.parquet
import pytest
from prometheus_client import CollectorRegistry, Counter

from sensorstream.access.audit import Change
from sensorstream.access.keys import Key
from sensorstream.alerts.feed import AlertFeed
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.records import (
    CLOUD_EVENTS,
    LoggedDelivery,
    RaisedAlert,
    Webhook,
    WebhookState,
)
from sensorstream.alerts.signing import check_secret, new_secret
from sensorstream.alerts.targets import read_url
from sensorstream.app.access import Access, AuditLog, Keys
from sensorstream.app.application import Application, InForce
from sensorstream.app.asking import Asking
from sensorstream.app.individuals import Individuals, KnownIndividual, KnownIndividuals
from sensorstream.app.job_folder import Job
from sensorstream.app.jobs import JobAnswer, Jobs
from sensorstream.app.messages import Life, Messages
from sensorstream.app.metrics import Metrics
from sensorstream.app.ontologies import Ontologies, ServedOntology
from sensorstream.app.rates import Rates
from sensorstream.app.readiness import Part
from sensorstream.app.registered_queries import Queries, QueryView, ResultSet
from sensorstream.app.report_log import ReportLog
from sensorstream.app.rulebook import Rulebook
from sensorstream.app.running import Running
from sensorstream.app.trials import DeploymentTrial, QueryTrial
from sensorstream.app.versions import Match, Version
from sensorstream.app.waiting import HERE, Sender
from sensorstream.app.webhooks import Webhooks
from sensorstream.app.window_view import IndividualView, WindowView
from sensorstream.cache.cache import Cache
from sensorstream.cache.protocol import CacheLimits
from sensorstream.clock import SystemClock
from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.errors import (
    Contradiction,
    HistoryError,
    LanguageError,
    MappingError,
    OntologyConflict,
    Position,
    QueryConflict,
    QueryError,
    SensorStreamError,
    TooManyJobs,
    Unavailable,
    UnknownAlert,
    UnknownDelivery,
    UnknownIndividual,
    UnknownJob,
    UnknownMessage,
    UnknownQuery,
    UnknownWebhook,
)
from sensorstream.history.alerts import Behind
from sensorstream.history.asking.answer import Answer, Graph, Solutions
from sensorstream.history.asking.question import Question
from sensorstream.history.asking.stopping import Stop
from sensorstream.history.kept_messages import KeptMessage, Left, Wanted
from sensorstream.history.latest import Latest
from sensorstream.history.quarantine import EVERY, Chosen, Quarantined
from sensorstream.history.read_only_sql import Column, SqlResult, SqlStream
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.mapping.document import parse_document
from sensorstream.model.events import Alert, Message, Provenance
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.server.listening import Server
from sensorstream.settings import LimitSettings, ServerSettings, Settings
from sensorstream.spark.jobs.protocol import JobText
from sensorstream.sparql.algebra import Ask, Select
from sensorstream.testing import ManualClock

EX = "http://example.org/"


class MemoryOntologies(Ontologies):
    """Takes every text except one with "clash", and has no versions."""

    def __init__(self) -> None:
        self.text = ServedOntology(b"<urn:x:a> <urn:x:p> <urn:x:b> .", "text/turtle", "settings")

    def in_force(self) -> ServedOntology:
        return self.text

    def put(self, content: bytes, media_type: str, by: str = "", match: Match = None) -> str:
        if b"clash" in content:
            found = Contradiction(("<urn:x:a> <urn:x:p> <urn:x:b> .",), ("A DisjointWith B",))
            raise OntologyConflict("the window contradicts it", contradiction=found)
        self._check_match(match)
        self.text = ServedOntology(content, media_type, "m9")
        return "m9"

    def try_put(self, content: bytes, media_type: str) -> DeploymentTrial:
        return DeploymentTrial(messages=2)

    def versions(self) -> Iterator[Version]:
        return iter(())


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class NoQueries(Queries):
    """No continuous query runs, and none can be registered."""

    def __init__(self) -> None:
        self.log = ReportLog()

    def register(self, text: str, name: str | None = None, by: str = "") -> QueryView:
        raise QueryConflict("no more queries may run")

    def views(self) -> list[QueryView]:
        return []

    def runs(self, entry: str) -> bool:
        return False

    def reports(self, entry: str, after: int) -> Sequence[QueryReport]:
        return ()

    def put(self, name: str, text: str, by: str = "", match: Match = None) -> QueryView:
        return self.register(text, name, by)

    def try_put(self, name: str, text: str) -> QueryTrial:
        return QueryTrial(messages=3)

    def versions(self, name: str) -> Iterator[Version]:
        self.view(name)
        return iter(())

    def remove(self, name: str, by: str = "", match: Match = None) -> None:
        self.view(name)

    def view(self, name: str) -> QueryView:
        raise UnknownQuery(f"there is no query '{name}'")

    def check_followed(self) -> None:
        """They would be followed here."""

    def results(self, name: str) -> ResultSet:
        raise UnknownQuery(f"there is no query '{name}'")

    def graph(self, name: str) -> dict[str, Any]:
        raise UnknownQuery(f"there is no query '{name}'")

    def steps(self, name: str, last: int) -> list[dict[str, Any]]:
        raise UnknownQuery(f"there is no query '{name}'")

    def end_record(self, name: str) -> None:
        self.view(name)


class MemoryKeys(Keys):
    """Keys in a list."""

    def __init__(self) -> None:
        self.kept: list[Key] = []
        self.uses: dict[str, datetime] = {}

    def all(self) -> Sequence[Key]:
        return list(self.kept)

    def used(self, when: dict[str, datetime]) -> None:
        self.uses.update(when)


class MemoryAuditLog(AuditLog):
    """Changes in a list."""

    def __init__(self) -> None:
        self.kept: list[Change] = []

    def add(self, change: Change) -> None:
        self.kept.append(replace(change, seq=len(self.kept) + 1))

    def before(self, seq: int | None, limit: int) -> Sequence[Change]:
        older = (each for each in reversed(self.kept) if seq is None or each.seq < seq)
        return list(itertools.islice(older, limit))

    def forget(self, before: datetime) -> None:
        self.kept = [each for each in self.kept if each.at >= before]


def open_to_all() -> Access:
    return Access(MemoryKeys(), MemoryAuditLog(), ManualClock(NOW), needed=False, audit_days=1)


class OneMessage(Messages):
    """The journal has one message, m42, which is not taken in yet."""

    def __init__(self) -> None:
        pass

    def page(self, wanted: Wanted, limit: int) -> Sequence[KeptMessage]:
        return [self.life("m42").message]

    def life(self, name: str) -> Life:
        if name != "m42":
            raise UnknownMessage(f"there is no message '{name}'")
        message = KeptMessage(42, "m42", "rest", NOW, 7, 4, None, "", None, None)
        return Life(message, None, [], [], (0, 0), Left())


class MemoryRulebook(Rulebook):
    """Takes every text except one with "wrong"; there are no files, and one version of each."""

    def __init__(self) -> None:
        self.kept: Mapping[str, str] = {"tracking.rules": "# tracking\n"}
        self.by = ""

    def _texts(self) -> Mapping[str, str]:
        return self.kept

    def _on_disk(self) -> Mapping[str, str]:
        return {}

    def _tables(self) -> Mapping[str, str]:
        return {}

    def _origin(self) -> str:
        return "settings"

    def versions(self, name: str) -> Iterator[Version]:
        text = self.file(name).text.encode()
        yield Version("m9", NOW, "key me", "d1", text, "text/plain")
        yield Version("m11", NOW, "", "", None, "text/plain")

    def _try(self, texts: Mapping[str, str]) -> DeploymentTrial:
        return DeploymentTrial(messages=2, different=0)

    def _change(self, change: Callable[[Mapping[str, str]], Mapping[str, str]], by: str) -> str:
        files = change(self.kept)
        for name, text in files.items():
            if "wrong" in text:
                raise LanguageError("expected a rule", position=Position(name, 2, 3))
        self.kept, self.by = files, by
        return "m9"


class OneIndividual(Individuals):
    """Knows one individual, which has left the window, by any IRI."""

    def __init__(self) -> None:
        said = Latest(
            (IRI(f"{EX}ada"), IRI(f"{EX}name"), Literal("Ada")), Provenance("m1", 3), 7, False
        )
        self.known = KnownIndividual(IRI(f"{EX}ada"), False, (said,))

    def individual(self, name: str) -> KnownIndividual:
        if ":" not in name:
            raise UnknownIndividual(f"neither the window nor history has <{name}>")
        return self.known

    def latest(self, class_: str, limit: int, after: str = "") -> KnownIndividuals:
        return KnownIndividuals((self.known,), None)


class OneJob(Jobs):
    """Each job is done, and has one row."""

    def __init__(self) -> None:
        self.one = Job("job_1", JobText("sql", "select 1 as n"), "spark", "done", NOW, NOW, NOW, 1)

    def submit(self, question: JobText, on: str = "spark") -> Job:
        if "one too many" in question.text:
            raise TooManyJobs("16 jobs wait already: ask again later")
        return replace(self.one, question=question, state="queued", ended_at=None, rows=None)

    def jobs(self) -> Sequence[Job]:
        return (self.one,)

    def job(self, job_id: str) -> Job:
        if not job_id.startswith("job_"):
            raise UnknownJob(f"there is no job '{job_id}'")
        return self.one

    def answer(self, job_id: str) -> JobAnswer:
        file = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"n": [1]}), file)
        file.seek(0)
        return JobAnswer(self.job(job_id).question, file)

    def delete(self, job_id: str) -> None:
        self.job(job_id)


class ListedWebhooks(Webhooks):
    """Webhooks in a list; each has one dead delivery, and answers a test with 204."""

    def __init__(self) -> None:
        self.listed: dict[str, WebhookState] = {}

    def register(
        self,
        url: str,
        secret: str | None = None,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
        by: str = "",
    ) -> Webhook:
        made = self.put(f"wh_{len(self.listed) + 1}", url, queries, format)
        assert made is not None
        made = replace(made, secret=made.secret if secret is None else check_secret(secret))
        self.listed[made.id] = WebhookState(made)
        return made

    def put(
        self,
        webhook_id: str,
        url: str,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
        by: str = "",
        match: Match = None,
    ) -> Webhook | None:
        read_url(url)
        webhook = Webhook(webhook_id, url, new_secret(), NOW, tuple(queries), format=format)
        new = webhook_id not in self.listed
        self.listed[webhook_id] = WebhookState(webhook)
        return webhook if new else None

    def try_put(
        self, webhook_id: str, url: str, queries: Sequence[str] = (), format: str = CLOUD_EVENTS
    ) -> SensorStreamError | None:
        return None

    def versions(self, webhook_id: str) -> Iterator[Version]:
        self.one(webhook_id)
        return iter(())

    def all(self) -> Sequence[WebhookState]:
        return list(self.listed.values())

    def one(self, webhook_id: str) -> WebhookState:
        if webhook_id not in self.listed:
            raise UnknownWebhook(f"there is no webhook '{webhook_id}'")
        return self.listed[webhook_id]

    def delete(self, webhook_id: str, by: str = "", match: Match = None) -> None:
        del self.listed[self.one(webhook_id).webhook.id]

    def enable(self, webhook_id: str) -> WebhookState:
        return self.one(webhook_id)

    def rotate(self, webhook_id: str, secret: str | None = None) -> tuple[str, datetime]:
        self.one(webhook_id)
        return new_secret() if secret is None else check_secret(secret), NOW

    def test(self, webhook_id: str) -> Future[Attempt]:
        self.one(webhook_id)
        answered: Future[Attempt] = Future()
        answered.set_result(Attempt(NOW, 0.25, None, 204, ""))
        return answered

    def log(
        self, webhook_id: str, state: str | None, limit: int, before: int | None = None
    ) -> Sequence[LoggedDelivery]:
        self.one(webhook_id)
        if state not in (None, "dead") or (before is not None and before <= 7):
            return []
        return [replace(DEAD, webhook_id=webhook_id)]

    def resend(self, delivery_id: int) -> LoggedDelivery:
        if delivery_id != DEAD.id:
            raise UnknownDelivery(f"there is no delivery {delivery_id}")
        return replace(DEAD, state="pending", attempts=0)

    def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> int:
        return len([each for each in self.log(webhook_id, "dead", 1) if each.raised_at >= since])


DEAD = LoggedDelivery(
    id=7,
    webhook_id="wh_1",
    event_id="m3-1",
    query=None,
    raised_at=NOW,
    state="dead",
    attempts=8,
    next_attempt_at=None,
    attempted_at=NOW,
    seconds=0.5,
    status=500,
    answer="why",
    error="answered 500",
)


class MemoryAsking(Asking):
    """Answers that a test sets; keeps what was asked."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.asked: list[tuple[Question, bool | str]] = []
        self.rows = 1
        self.table = SqlResult(("n",), ((1,),))
        self.streams_closed = 0
        self.ended = threading.Event()
        self.endless = 0

    def _check_here(self, what: str, way_out: str = "") -> None:
        """The engines are here."""

    @contextmanager
    def history(
        self, question: Question, *, live: bool, stop: Stop | None = None
    ) -> Iterator[Answer]:
        self.asked.append((question, live))
        if isinstance(question.query.form, Select):
            yield Solutions(("name",), iter([(Literal("Ada"),)] * self.rows))
        elif isinstance(question.query.form, Ask):
            yield True
        else:
            yield Graph(iter([(IRI("urn:a"), IRI("urn:p"), Literal("Ada"))]))

    @contextmanager
    def archive(self, question: Question, stop: Stop | None = None) -> Iterator[Answer]:
        self.asked.append((question, "archive"))
        yield Solutions(("name",), iter([(Literal("Ada"),)]))

    def sql_archive(self, text: str, stop: Stop | None = None) -> SqlResult:
        return replace(self.sql(text), columns=("archived",))

    def sql(self, text: str, stop: Stop | None = None) -> SqlResult:
        if "endless" in text:
            self.endless += 1
            self.ended.wait(60)
        if "broken" in text:
            raise QueryError('syntax error at or near "broken"', position=Position("query", 1, 8))
        if "away" in text:
            raise HistoryError("the store is away")
        return self.table

    @contextmanager
    def sql_stream(self, text: str, stop: Stop | None = None) -> Iterator[SqlStream]:
        table = self.sql(text)

        def batches() -> Iterator[list[tuple[object, ...]]]:
            yield list(table.rows)
            if "fails later" in text:
                raise QueryError("division by zero")

        try:
            yield SqlStream(tuple(Column(name, 25) for name in table.columns), batches())
        finally:
            self.streams_closed += 1


class MemoryApplication(Application):
    """An application over lists and a knowledge base: every method that the server calls.

    The root of a message decides what happens: ``<Bad>`` is a mapping error, ``<Busy>`` finds
    no room, ``<Defect>`` hits a defect of ours; anything else is taken in.
    """

    def __init__(self) -> None:
        self.settings = Settings(
            Path("sensorstream.toml"), server=ServerSettings(max_message_bytes=4096)
        )
        self.alert_feed = AlertFeed()
        self.rates = Rates(0)
        self.access = open_to_all()
        self.queries = NoQueries()
        self._elsewhere = False
        self._individuals = OneIndividual()
        self.messages = OneMessage()
        self.jobs = OneJob()
        self.kb = KnowledgeBase()
        self.received: list[Message] = []
        self.kept: list[RaisedAlert] = []
        self.webhooks = ListedWebhooks()
        self.rulebook = MemoryRulebook()
        self.ontologies = MemoryOntologies()
        self.alive = True
        self.parts = (Part("pipeline", True), Part("history", True, age=0.31))
        self.registry = CollectorRegistry()
        messages = Counter("sensorstream_messages", "Messages.", registry=self.registry)
        self._count = messages.inc
        for origin, name in ((Origin.WINDOW, "Ada"), (Origin.STATIC, "Room")):
            self.kb.add(origin, [(IRI(f"{EX}{name.lower()}"), IRI(f"{EX}name"), Literal(name))])
        self.running = Running(SystemClock(), Metrics().observe_question)
        self.cache = Cache(self.kb, threading.Lock(), CacheLimits(30, 512, 1000))
        self.asking = MemoryAsking(self.cache)
        self._probes = []

    @property
    def timeline(self) -> Timeline:
        return Timeline.INTEGER

    @property
    def metrics(self) -> CollectorRegistry:
        return self.registry

    def submit(
        self,
        content: bytes,
        source: str,
        sender: Sender = HERE,
        *,
        origin: str = "",
        early: bool = False,
    ) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        try:
            future.set_result(self._process(content, source))
        except Exception as error:
            future.set_exception(error)
        return future

    def _process(self, content: bytes, source: str) -> Outcome:
        root = parse_document(content, max_depth=self.settings.server.max_depth).getroot()
        if root.tag == "Bad":
            place = Position("message", 1, 5)
            raise MappingError("rule 'tracker': {@x} is 'abc', expected an integer", position=place)
        if root.tag == "Busy":
            raise Unavailable("10000 messages are waiting already: send it again later")
        if root.tag == "Defect":
            raise RuntimeError("secret inside")
        self._count()
        message = Message(f"m{len(self.received) + 1}", content, 7, source)
        self.received.append(message)
        alert = Alert(
            f"{message.id}-1", "crowded", "rule", "warning", "21 people", "kitchen", 7, message.id
        )
        return Outcome(
            message,
            Status.ACCEPTED,
            matched=("tracker", "sensor"),
            individuals=(IRI(f"{EX}human-1"),),
            alerts=(alert,),
            replies=("<Command lamp='on'/>",),
            phases=Timings(0.001, 0.002, 0.003, 0.004),
            warnings=("something odd",),
        )

    def raise_alert(self, text: str) -> RaisedAlert:
        seq = len(self.kept) + 1
        alert = Alert(f"a{seq}-1", "crowded", "rule", "warning", text, "kitchen", seq, f"a{seq}")
        raised = RaisedAlert(seq, alert, NOW)
        self.kept.append(raised)
        self.alert_feed.announce()
        return raised

    def alerts(self, limit: int, before: int | None = None) -> Sequence[RaisedAlert]:
        older = (each for each in reversed(self.kept) if before is None or each.seq < before)
        return list(itertools.islice(older, limit))

    def alerts_after(self, seq: int, limit: int) -> Sequence[RaisedAlert]:
        return [each for each in self.kept if each.seq > seq][:limit]

    def messages_behind(
        self, alert: str, limit: int, after: int = 0
    ) -> tuple[RaisedAlert, Sequence[Behind]]:
        if alert != "m42-1":
            raise UnknownAlert(f"there is no alert '{alert}'")
        kept = Alert("m42-1", "crowded", "rule", "warning", "text", "kitchen", 7, "m42")
        found = [Behind(3, None, None, None), Behind(42, "rest", NOW, b"<\xffA/>")]
        return RaisedAlert(1, kept, NOW), [each for each in found if each.seq > after][:limit]

    def window_view(self, limit: int, offset: int = 0) -> WindowView:
        people = tuple(
            IndividualView(IRI(f"{EX}human-{n}"), (f"{EX}Human",), n, n + 1, 5, f"m{n}")
            for n in range(5)
        )
        page = people[offset : offset + limit]
        definition = ("sliding", "individuals", "individuals", "5", "1", "", "")
        return WindowView(*definition, 1, 5, 0, 2, 25, 10, 4, page)

    def quarantine(self, limit: int, chosen: Chosen = EVERY) -> Sequence[Quarantined]:
        kept = [
            Quarantined(
                2,
                "m2",
                "rest",
                NOW,
                "rejected",
                "not an integer",
                b"<Bad/>",
                Contradiction(("<urn:x:a> <urn:x:p> <urn:x:b> .",), ("p Range C",)),
            ),
            Quarantined(1, "m1", "soap", NOW, "unmatched", "no rule", b"<\xffOdd/>"),
        ]
        return [each for each in kept if each.seq < (chosen.before or 9)][:limit]

    def rules(self) -> Sequence[InForce]:
        place = Position("tracking.rules", 3, 1)
        return (InForce("mapping", "tracker"), InForce("semantic", "crowded", place))

    def held(self) -> int:
        return 2

    def ailment(self) -> str:
        return "" if self.alive else "the pipeline has stopped"

    def ready(self) -> Sequence[Part]:
        return self.parts


@dataclass(frozen=True)
class Served:
    """A server that listens: its application and a client of it."""

    url: str
    application: MemoryApplication
    client: httpx.Client


@pytest.fixture(scope="session")
def listen() -> Callable[..., Iterator[str]]:
    """Serve an application from a thread by uvicorn, on a free port; with TLS if there is any.

    With ``every`` it listens on all addresses, of IPv4 and of IPv6.
    """

    def run(
        application: Application, tls: SSLContext | None = None, *, every: bool = False
    ) -> Iterator[str]:
        server = Server(application, tls=tls)
        with (
            socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            if every
            else socket.create_server(("127.0.0.1", 0)) as listener
        ):
            thread = threading.Thread(target=server.run, args=([listener],))
            thread.start()
            deadline = time.monotonic() + 60
            while not server.started:
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.005)
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True
            thread.join()

    return run


@pytest.fixture(scope="session")
def in_memory() -> Callable[[], Application]:
    """Makes applications in memory."""
    return MemoryApplication


@pytest.fixture(scope="session")
def served(listen: Callable[[Application], Iterator[str]]) -> Iterator[Served]:
    application = MemoryApplication()
    for url in listen(application):
        with httpx.Client(base_url=url) as client:
            yield Served(url, application, client)
    application.cache.close()


@pytest.fixture
def small(listen: Callable[[Application], Iterator[str]]) -> Iterator[Served]:
    """A server that answers one question to the cache at a time."""
    application = MemoryApplication()
    application.settings = replace(application.settings, limits=LimitSettings(questions=1))
    things = [(IRI(f"urn:s{n}"), IRI("urn:p"), Literal(f"{n}")) for n in range(300)]
    application.kb.add(Origin.WINDOW, things)
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Served(url, application, client)
    application.cache.close()


@pytest.fixture
def application(served: Served) -> Iterator[MemoryApplication]:
    """The application behind the server; what a test changes of its state is put back."""
    parts = (served.application, served.application.asking)
    before = [dict(vars(each)) for each in parts]
    yield served.application
    for each, kept in zip(parts, before, strict=True):
        vars(each).update(kept)


@pytest.fixture
def client(served: Served) -> httpx.Client:
    return served.client


@pytest.fixture
def odd_table() -> SqlResult:
    """Every kind of value a database gives."""
    return SqlResult(
        ("a", "b", "c", "d", "e", "f", "g", "h"),
        (
            (1, 2.5, Decimal("3"), Decimal("3.25"), NOW, None, b"<x/>", True),
            (1, float("nan"), Decimal("NaN"), [NOW], NOW.date(), {"k": 1}, b"\xff", "ü"),
        ),
        truncated=True,
    )
