"""An application in memory: what the server calls, for everything that needs no database."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

from prometheus_client import CollectorRegistry, Counter

from sensorstream.alerts.alert_records import RaisedAlert
from sensorstream.alerts.feed import AlertFeed
from sensorstream.app.application import Application, InForce
from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import Answered, CacheQuestion
from sensorstream.app.life.access_control import Rates
from sensorstream.app.life.entry_queue import HERE, MessageSender
from sensorstream.app.life.health import Health, HealthPart
from sensorstream.app.life.metrics import Metrics
from sensorstream.app.questions.individuals import IndividualView, WindowView
from sensorstream.app.questions.one_time_questions import Asking, RunningQuestions
from sensorstream.clock import SystemClock
from sensorstream.engine.outcome import Outcome, Timings
from sensorstream.errors import (
    Contradiction,
    HistoryError,
    MappingError,
    Position,
    QueryError,
    Unavailable,
    UnknownAlert,
    UnknownMessage,
)
from sensorstream.history.asked_records import (
    EVERY,
    Behind,
    Choice,
    CountedMessages,
    KeptMessage,
    QuarantineChoice,
    Quarantined,
)
from sensorstream.history.asking.checked_question import (
    CheckedQuestion,
    QuestionPlan,
    question_plan,
)
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Solutions
from sensorstream.history.asking.query_run import AskRows
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.read_only_sql import AnswerColumn, SqlResult, SqlStream
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model.events import Alert, Message, Status
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.stopping import Stop
from sensorstream.settings.settings import ServerSettings, Settings
from sensorstream.shapes.validation import NO_VIOLATIONS, ValidationReport
from sensorstream.sparql.algebra import Ask, Select
from sensorstream.sparql.answerable import read_answerable
from sensorstream.testing import ManualClock
from tests.server.resources import (
    EX,
    NOW,
    ListedWebhooks,
    MemoryOntologies,
    MemoryRulebook,
    NoQueries,
    OneHolding,
    OneIncident,
    OneIndividual,
    OneJob,
    OneMessage,
    OneReason,
    OneUnmet,
    open_to_all,
)


class MemoryAsking(Asking):
    """Answers that a test sets; keeps what was asked."""

    def __init__(self, cache: Cache) -> None:
        self.of_window = cache
        self.asked: list[tuple[CheckedQuestion, bool | str]] = []
        self.rows = 1
        self.table = SqlResult(("n",), ((1,),))
        self.streams_closed = 0
        self.ended = threading.Event()
        self.endless = 0

    def cache(self, question: CacheQuestion, out: IO[bytes], stop: Stop) -> Answered:
        return self.of_window.ask(question, out, stop)

    @contextmanager
    def history(
        self, question: CheckedQuestion, *, live: bool, stop: Stop | None = None
    ) -> Iterator[Answer]:
        self.asked.append((question, live))
        if isinstance(question.query.form, Select):
            yield Solutions(("name",), iter([(Literal("Ada"),)] * self.rows))
        elif isinstance(question.query.form, Ask):
            yield True
        else:
            yield GraphAnswer(iter([(IRI("urn:a"), IRI("urn:p"), Literal("Ada"))]))

    @contextmanager
    def snapshot(self, stop: Stop) -> Iterator[AskRows]:
        yield lambda question: []

    def cache_plan(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> QuestionPlan:
        return question_plan(read_answerable(text, default_graphs, named_graphs), "", text)

    def history_plan(self, question: CheckedQuestion, live: bool, stop: Stop) -> QuestionPlan:
        self.asked.append((question, live))
        return question_plan(question.query, "select 1", "Result")

    def archive_plan(self, question: CheckedQuestion, stop: Stop) -> QuestionPlan:
        return question_plan(question.query, "select 2", "PARQUET")

    @contextmanager
    def archive(self, question: CheckedQuestion, stop: Stop | None = None) -> Iterator[Answer]:
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
            yield SqlStream(tuple(AnswerColumn(name, 25) for name in table.columns), batches())
        finally:
            self.streams_closed += 1


class MemoryHealth(Health):
    """What a test sets."""

    def __init__(self) -> None:
        self.alive = True
        self.found = (HealthPart("pipeline", True), HealthPart("history", True, age=0.31))
        self.probes: list[Callable[[], Sequence[HealthPart]]] = []

    def watch(self, probe: Callable[[], Sequence[HealthPart]]) -> None:
        self.probes.append(probe)

    def ailment(self) -> str:
        return "" if self.alive else "the pipeline has stopped"

    def parts(self) -> Sequence[HealthPart]:
        return self.found


class MemoryReader:
    """Alerts that a test keeps, two messages in quarantine, and one that is not taken in yet."""

    def __init__(self, kept: list[RaisedAlert]) -> None:
        self.kept = kept

    def alerts_before(self, limit: int, seq: int | None = None) -> list[RaisedAlert]:
        older = (each for each in reversed(self.kept) if seq is None or each.seq < seq)
        return list(itertools.islice(older, limit))

    def alerts_after(self, limit: int, seq: int) -> list[RaisedAlert]:
        return [each for each in self.kept if each.seq > seq][:limit]

    def messages_behind(
        self, id_: str, limit: int, after: int = 0
    ) -> tuple[RaisedAlert, list[Behind]]:
        if id_ != "m42-1":
            raise UnknownAlert(f"there is no alert '{id_}'")
        kept = Alert("m42-1", "crowded", "rule", "warning", "text", "kitchen", 7, "m42")
        found = [Behind(3, None, None, None), Behind(42, "rest", NOW, b"<\xffA/>")]
        return RaisedAlert(1, kept, NOW), [each for each in found if each.seq > after][:limit]

    def quarantined(self, limit: int, chosen: QuarantineChoice = EVERY) -> list[Quarantined]:
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

    def kept_messages(
        self, chosen: QuarantineChoice, limit: int
    ) -> tuple[list[KeptMessage], int | None]:
        return [OneMessage().life("m42").message], None

    def count_messages(self, chosen: QuarantineChoice, most: int) -> CountedMessages:
        return CountedMessages(60, ((23_000_000, Status.ACCEPTED, 3), (23_000_000, None, 1)), NOW)

    def content_of_message(self, name: str) -> bytes:
        raise UnknownMessage(f"there is no message '{name}'")

    def choose(self, chosen: QuarantineChoice, limit: int) -> Choice:
        return Choice((), 0, 0)


class MemoryApplication(Application):
    """An application over lists and a knowledge base: every method that the server calls.

    The root of a message decides what happens: ``<Bad>`` is a mapping error, ``<Busy>`` finds
    no room, ``<Defect>`` hits a defect of ours; anything else is taken in.
    """

    def __init__(self) -> None:
        self.settings = Settings(
            Path("sensorstream.toml"), server=ServerSettings(max_message_bytes=4096)
        )
        self.clock = ManualClock(NOW)
        self.alert_feed = AlertFeed()
        self.rates = Rates(0)
        self.access = open_to_all()
        self.queries = NoQueries()
        self.individuals = OneIndividual()
        self.messages = OneMessage()
        self.reasons = OneReason()
        self.unmet = OneUnmet()
        self.holding = OneHolding()
        self.jobs = OneJob()
        self.kb = KnowledgeBase()
        self.received: list[Message] = []
        self.kept: list[RaisedAlert] = []
        self.reader = cast(PostgresReader, MemoryReader(self.kept))
        self.webhooks = ListedWebhooks()
        self.incidents = OneIncident()
        self.rulebook = MemoryRulebook()
        self.ontologies = MemoryOntologies()
        self.health = MemoryHealth()
        self.registry = CollectorRegistry()
        messages = Counter("sensorstream_messages", "Messages.", registry=self.registry)
        self._count = messages.inc
        for origin, name in ((Origin.WINDOW, "Ada"), (Origin.STATIC, "Room")):
            self.kb.add(origin, [(IRI(f"{EX}{name.lower()}"), IRI(f"{EX}name"), Literal(name))])
        self.running = RunningQuestions(SystemClock(), Metrics().observe_question)
        self.cache = Cache(self.kb, threading.Lock(), QuestionLimits(30, 512, 1000))
        self.asking = MemoryAsking(self.cache)

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
        sender: MessageSender = HERE,
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

    def shapes_report(self) -> ValidationReport:
        return NO_VIOLATIONS

    def window_view(self, limit: int, offset: int = 0) -> WindowView:
        people = tuple(
            IndividualView(IRI(f"{EX}human-{n}"), (f"{EX}Human",), n, n + 1, 5, f"m{n}")
            for n in range(5)
        )
        page = people[offset : offset + limit]
        definition = ("sliding", "individuals", "individuals", "5", "1", "", "")
        return WindowView(*definition, 1, 5, 0, 2, 25, 10, 4, page)

    def rules(self) -> Sequence[InForce]:
        place = Position("tracking.rules", 3, 1)
        return (InForce("mapping", "tracker"), InForce("semantic", "crowded", place))

    def announce(self, queued: bool = True) -> None:
        self.alert_feed.announce()

    def held(self) -> int:
        return 2
