"""The pipeline over a store in lists: what is journalled, answered, and done again in a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from threading import Event, Lock
from time import monotonic, sleep

import pytest

from sensorstream.app import durable, entry_queue
from sensorstream.app.exchange import Exchange
from sensorstream.app.metrics import Metrics
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.recovery import find_start, recover
from sensorstream.app.waiting import Sender
from sensorstream.app.wiring import Deployment, build_machine, read_deployment
from sensorstream.engine.engine import Engine
from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import (
    Busy,
    HistoryError,
    InternalFault,
    MalformedMessage,
    MessageTooLarge,
    Overrun,
    QueryConflict,
    QueryError,
    RepeatedMessage,
    SensorStreamError,
    Unavailable,
    UnknownQuery,
    Unstorable,
)
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.notice import ReportDifferences
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.journal.store import Store
from sensorstream.journal.takeover import PutOntology, ReadmitReasoner
from sensorstream.mapping.plan import MappingPlan
from sensorstream.model.events import Alert, Message
from sensorstream.network.load import Load
from sensorstream.resources import bundled
from sensorstream.settings import (
    LimitSettings,
    OntologySettings,
    RuleSettings,
    ServerSettings,
    Settings,
    WindowSettings,
)
from sensorstream.simulation.tracker import tracker_messages
from sensorstream.testing import ListSink, ManualClock, MemoryStore

PEOPLE = """PREFIX : <http://sensorstream.example/tracking#>
    SELECT ?p ?x WHERE { ?p a :Human ; :hasXLocation ?x FILTER(?x > 100) }"""
WINDOWED = """PREFIX : <http://sensorstream.example/tracking#>
    REGISTER RSTREAM :n AS SELECT (COUNT(*) AS ?n)
    FROM NAMED WINDOW :w ON <urn:sensorstream:source:hall> [RANGE 10 STEP 3]
    WHERE { WINDOW :w { ?p a :Human } }"""


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return read_deployment(
        Settings(
            path=Path("sensorstream.toml"),
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
            window=WindowSettings(size="10"),
        )
    )


@dataclass
class Running:
    """A pipeline that has been started, and all around it."""

    pipeline: Pipeline
    engine: Engine
    exchange: Exchange
    store: MemoryStore
    clock: ManualClock
    reports: list[QueryReport] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    """What each commit with alerts or entries of the outbox was said to have put there."""

    def send(self, content: bytes) -> Status:
        return self.pipeline.submit(content, "hall").result(30).status

    def change(self, entry: Entry) -> Status:
        return self.pipeline.change(entry).result(30).status


@contextmanager
def running(
    deployment: Deployment,
    store: MemoryStore,
    reopen: Callable[[], Store] | None = None,
    limits: LimitSettings | None = None,
) -> Iterator[Running]:
    clock = ManualClock()
    machine = build_machine(deployment, clock.counter, shared=True)
    engine = machine.engine
    exchange = Exchange(engine, machine.mapper, deployment)
    target = Target(engine, machine.mapper, exchange)
    reports: list[QueryReport] = []
    told = ListSink[bool]()
    recover(target, store, find_start(store), reports.extend, clock.now())
    pipeline = Pipeline(
        target,
        store,
        clock=clock,
        metrics=Metrics(),
        checkpoint_every=7,
        limits=limits or LimitSettings(),
        on_commit=told,
        publish=reports.extend,
        reopen=reopen or (lambda: store),
    )
    pipeline.start()
    try:
        yield Running(pipeline, engine, exchange, store, clock, reports, told.items)
    finally:
        pipeline.stop()
        engine.close()


def all_kinds(run: Running) -> None:
    """Entries of every kind that a deployment without a process of its own can have."""
    messages = [bytes(each) for each in tracker_messages(24)]
    assert run.change(RegisterQuery("people", PEOPLE)) is Status.ACCEPTED
    assert run.change(RegisterQuery("windowed", WINDOWED)) is Status.ACCEPTED
    for content in messages[:9]:
        assert run.send(content) is Status.ACCEPTED
    assert run.send(b"<unknown/>") is Status.UNMATCHED
    ontology = run.exchange.deployment.ontology.ntriples()
    run.exchange.change_ontology(run.pipeline, ontology, "application/n-triples", lambda _: None)
    for content in messages[9:17]:
        run.send(content)
    assert run.change(ReportDifferences("nothing is wrong")) is Status.ACCEPTED
    run.exchange.revive(run.pipeline)
    assert run.change(RemoveQuery("people")) is Status.ACCEPTED
    for content in messages[17:]:
        run.send(content)


def without_checkpoints(store: MemoryStore) -> MemoryStore:
    """The same journal after a crash that took all but the journal itself."""
    again = MemoryStore()
    again.append([replace(each, status=None) for each in store.records])
    return again


def _raised(effects: Effects) -> list[Alert]:
    return [each for each in effects.alerts if isinstance(each, Alert)]


def left_behind(store: MemoryStore) -> list[object]:
    every = store.committed
    return [
        [d for effects in every for d in effects.departures],
        [s for effects in every for s in effects.ended],
        [a for effects in every for a in effects.alerts],
        [r for effects in every for r in effects.reports],
        store.statuses(),
    ]


class WithReceiver(MemoryStore):
    """A history with a webhook: each alert is put into the outbox."""

    def commit(self, effects: Effects) -> bool:
        super().commit(effects)
        return bool(effects.alerts)


@pytest.mark.parametrize(("store", "expected"), [(MemoryStore, False), (WithReceiver, True)])
def test_an_alert_is_announced_and_said_to_be_in_the_outbox_only_if_it_is(
    deployment: Deployment, store: type[MemoryStore], expected: bool
) -> None:
    with running(deployment, store()) as run:
        assert run.send(b"<unknown/>") is Status.UNMATCHED
    ((raised, *_),) = (each.alerts for each in run.store.committed)
    assert raised.kind == "unmatched-message"
    assert run.told == [expected]


def test_a_replay_does_what_was_done_when_the_entries_were_new(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as live:
        all_kinds(live)
        state = live.engine.state()
    kinds = {each.kind for each in live.store.records}
    assert kinds == {"message", "query", "query-end", "ontology", "reasoner", "audit"}
    with running(deployment, without_checkpoints(live.store)) as again:
        assert again.engine.state() == state
        assert left_behind(again.store) == left_behind(live.store)
        assert again.reports == live.reports
        assert again.exchange.put == live.exchange.put


def test_a_restart_from_a_checkpoint_goes_on_as_if_there_had_been_none(
    deployment: Deployment,
) -> None:
    store = MemoryStore()
    with running(deployment, store) as live:
        all_kinds(live)
        state = live.engine.state()
    assert len(store.checkpoints()) == 2
    with running(deployment, store) as again:
        assert again.engine.state() == state


def test_what_is_refused_before_it_is_journalled_leaves_no_entry(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        run.change(RegisterQuery("people", PEOPLE))
        refused: list[tuple[Entry, type[SensorStreamError]]] = [
            (RegisterQuery("people", WINDOWED), QueryConflict),
            (RegisterQuery("", PEOPLE), QueryError),
            (RegisterQuery("bad", "SELECT nothing"), QueryError),
            (RemoveQuery("nobody"), UnknownQuery),
        ]
        for entry, kind in refused:
            with pytest.raises(kind):
                run.change(entry)
        assert run.store.last_seq() == 1


def test_a_fault_of_ours_in_a_check_refuses_the_entry_and_nothing_else(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(deployment, MemoryStore()) as run:
        with monkeypatch.context() as patch:
            patch.setattr(run.engine.queries, "check", lambda *_, **__: 1 // 0)
            with pytest.raises(InternalFault, match="ZeroDivisionError"):
                run.change(RegisterQuery("people", PEOPLE))
        assert run.pipeline.running
        assert run.change(RegisterQuery("people", PEOPLE)) is Status.ACCEPTED


def test_a_message_that_an_input_delivers_again_is_taken_once(deployment: Deployment) -> None:
    first, second, third = (bytes(each) for each in tracker_messages(3))
    with running(deployment, MemoryStore()) as run:
        taken = [
            run.pipeline.take(content, "hall", origin)
            for content, origin in [(first, "1"), (second, "2"), (first, "1"), (second, "2")]
        ]
        assert [each.result(30).status for each in taken[:2]] == [Status.ACCEPTED] * 2
        for again in taken[2:]:
            with pytest.raises(RepeatedMessage):
                again.result(30)
    store = without_checkpoints(run.store)
    with running(deployment, store) as run:
        with pytest.raises(RepeatedMessage):
            run.pipeline.take(second, "hall", "2").result(30)
        # Packet numbers of MQTT come round again: only what says that it may be a repeat is one.
        new = run.pipeline.take(third, "hall", "2", repeated=False).result(30)
        assert new.status is Status.ACCEPTED
        assert run.pipeline.take(second, "hall").result(30).status is Status.ACCEPTED
    assert [each.message.content for each in store.records] == [first, second, third, second]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"<open>", MalformedMessage), (b"\x00\xff", MalformedMessage), (b"", MalformedMessage)],
)
def test_what_an_input_delivers_is_quarantined_where_a_sender_would_be_told(
    deployment: Deployment, content: bytes, reason: type[SensorStreamError]
) -> None:
    with running(deployment, MemoryStore()) as run:
        with pytest.raises(reason):
            run.pipeline.submit(content, "hall").result(30)
        assert run.store.records == []
        with pytest.raises(reason) as caught:
            run.pipeline.take(content, "hall", "1").result(30)
        assert caught.value.message_id == "m1"
        assert run.store.statuses() == {"m1": Status.REJECTED}
        state = run.engine.state()
    with running(deployment, without_checkpoints(run.store)) as again:
        assert again.engine.state() == state


def test_a_message_over_the_limit_is_refused_whatever_way_it_came(deployment: Deployment) -> None:
    narrow = ServerSettings(max_message_bytes=1000)
    deployment = replace(deployment, settings=replace(deployment.settings, server=narrow))
    with running(deployment, MemoryStore()) as run:
        for way in (run.pipeline.submit, run.pipeline.take):
            assert way(b"<a>" + b"x" * 993 + b"</a>", "hall").result(30).status is Status.UNMATCHED
            with pytest.raises(MessageTooLarge, match="holds 1001 bytes, the limit is 1000"):
                way(b"<a>" + b"x" * 994 + b"</a>", "hall").result(30)
        assert [each.value for each in run.store.statuses().values()] == [
            "unmatched",
            "unmatched",
            "rejected",
        ]


class LosesAnswers(MemoryStore):
    """Each write arrives, but of the first of each kind the answer is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = {"append", "commit", "save_checkpoint"}

    def _lose(self, what: str) -> None:
        if what in self.lost:
            self.lost.remove(what)
            raise HistoryError(f"the connection was lost in {what}")

    def append(self, records: Sequence[Record]) -> None:
        super().append(records)
        self._lose("append")

    def commit(self, effects: Effects) -> bool:
        queued = super().commit(effects)
        self._lose("commit")
        return queued

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        super().save_checkpoint(seq, state)
        self._lose("save_checkpoint")


def test_a_write_whose_answer_was_lost_is_not_made_twice(deployment: Deployment) -> None:
    messages = [bytes(each) for each in tracker_messages(12)]
    with running(deployment, MemoryStore()) as whole, running(deployment, LosesAnswers()) as run:
        for content in messages:
            assert whole.send(content) is run.send(content) is Status.ACCEPTED
        assert run.pipeline.trouble is None
        assert left_behind(run.store) == left_behind(whole.store)
        assert run.engine.state() == whole.engine.state()
    assert isinstance(run.store, LosesAnswers)
    assert not run.store.lost


class Picky(MemoryStore):
    """It can never hold what contains "bad", nor the first checkpoints."""

    checkpoints_refused = 0

    def append(self, records: Sequence[Record]) -> None:
        if any(b"bad" in each.message.content for each in records):
            raise Unstorable("cannot write the journal: what a text")
        super().append(records)

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        if self.checkpoints_refused < 2:
            self.checkpoints_refused += 1
            raise HistoryError("too long")
        super().save_checkpoint(seq, state)


def test_one_message_that_the_journal_can_never_hold_is_refused_and_no_other(
    deployment: Deployment,
) -> None:
    messages = [bytes(each) for each in tracker_messages(8)]
    gate = Event()
    with running(deployment, Picky()) as run:
        run.pipeline.settled(lambda: gate.wait(30))
        sent = [
            run.pipeline.submit(each, "hall") for each in (*messages[:4], b"<bad/>", *messages[4:])
        ]
        early = run.pipeline.submit(b"<bad/>", "hall", early=True)
        gate.set()
        refused = [each for each in (*sent, early) if isinstance(each.exception(30), Unstorable)]
        assert refused == [sent[4], early]
        assert {each.result(30).status for each in sent if each not in refused} == {Status.ACCEPTED}
        assert [record.seq for record in run.store.records] == list(range(1, 10))
        (told,) = [each for each in run.store.records if each.kind == "refused"]
        assert b"a message of 6 bytes from 'hall': cannot write the journal" in told.message.content
        assert run.pipeline.trouble is None
        state = run.engine.state()
    assert isinstance(run.store, Picky)
    run.store.checkpoints_refused = 1
    run.store.drop_checkpoints([seq for seq, _ in run.store.checkpoints()])
    with running(deployment, run.store) as again:
        assert again.engine.state() == state
        assert run.store.checkpoints_refused == 2


class Held(MemoryStore):
    """The journal takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.tried, self.let = Event(), Event()

    def append(self, records: Sequence[Record]) -> None:
        self.tried.set()
        assert self.let.wait(30)
        super().append(records)


class Crashes(MemoryStore):
    """Breaks down now and then; what it stored since a journal write had begun may be lost then.

    The end of a journal write makes all safe that was stored when it began, and nothing else: so
    does PostgreSQL for effects that are not waited for.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = Random(seed)
        self._turn = Lock()
        self._safe = 0
        self._down = False
        self.crashes = 0

    def _strike(self) -> None:
        if not self._down and self._dice.random() < 0.08:
            self._down = True
            self.crashes += 1
        if self._down:
            raise HistoryError("it broke down")

    def append(self, records: Sequence[Record]) -> None:
        stored = len(self.committed)
        with self._turn:
            self._strike()
            super().append(records)
            self._safe = stored
            self._strike()

    def commit(self, effects: Effects) -> bool:
        with self._turn:
            self._strike()
            queued = super().commit(effects)
            self._strike()
            return queued

    def reopened(self) -> Crashes:
        kept = self.committed[: self._dice.randint(self._safe, len(self.committed))]
        self.committed, self._statuses, self._watermark = [], {}, 0
        for each in kept:
            super().commit(each)
        self._down = False
        return self


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_crash_of_the_history_takes_is_stored_again_exactly_once(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(durable, "_PATIENCE", 0.001)
    monkeypatch.setattr(entry_queue, "_GROUP", 3)
    contents = [bytes(each) for each in tracker_messages(120)]
    store = Crashes(seed)
    early: list[str] = []

    def answered(future: Future[Outcome]) -> None:
        name = future.result().message.id
        if int(name.removeprefix("m")) > store.watermark():
            early.append(name)

    with running(deployment, MemoryStore()) as whole:
        for each in [whole.pipeline.submit(content, "hall") for content in contents]:
            assert each.result(30).status is Status.ACCEPTED
    with running(deployment, store, store.reopened) as run:
        taken = [run.pipeline.submit(content, "hall") for content in contents]
        for each in taken:
            each.add_done_callback(answered)
        for each in taken:
            assert each.result(30).status is Status.ACCEPTED
        assert left_behind(store) == left_behind(whole.store)
        assert run.engine.state() == whole.engine.state()
    assert store.crashes
    assert not early


def test_the_engine_goes_on_while_effects_are_stored_and_nobody_is_answered_before(
    deployment: Deployment,
) -> None:
    class Slow(Held):
        def __init__(self) -> None:
            super().__init__()
            self.stored = Event()

        def commit(self, effects: Effects) -> bool:
            assert self.stored.wait(30)
            return super().commit(effects)

    store = Slow()
    with running(deployment, store) as run:
        first, second = (run.pipeline.submit(each, "hall") for each in tracker_messages(2))
        assert store.tried.wait(30)
        store.let.set()
        deadline = monotonic() + 30
        while run.engine.now != 2 and monotonic() < deadline:
            sleep(0.001)
        assert run.engine.now == 2
        assert not first.done()
        assert not second.done()
        store.stored.set()
        assert first.result(30).status is second.result(30).status is Status.ACCEPTED


def test_a_pipeline_that_has_been_stopped_takes_nothing(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        run.pipeline.stop()
        with pytest.raises(Unavailable):
            run.send(b"<a/>")
        with pytest.raises(Unavailable):
            run.change(RemoveQuery("x"))


def test_a_new_reasoner_or_ontology_that_was_refused_is_refused_again(
    deployment: Deployment,
) -> None:
    """Its effects are stored as a rejection: a replay does not even prepare a successor."""
    with running(deployment, MemoryStore()) as run:
        now = datetime(2014, 8, 1, tzinfo=UTC)
        for entry in (PutOntology(b"no ontology", "text/turtle"), ReadmitReasoner()):
            content, source = entry.encode()
            message = replace(_message(), content=content, source=source)
            record = Record(1, message, now, Status.REJECTED, entry.kind)
            target = Target(run.engine, run.exchange.mapper, run.exchange)
            outcome = entry.apply(target, record, ())
            assert (outcome.status, outcome.alerts) == (Status.REJECTED, ())


def _message() -> Message:
    return Message("m1", b"", 1)


def test_a_reader_sees_no_group_by_half(deployment: Deployment) -> None:
    store = MemoryStore()
    with running(deployment, store) as run:

        def read() -> tuple[int, int, int]:
            left = sum(len(each.departures) for each in store.committed)
            assert store.watermark() == store.last_seq()
            return store.watermark(), left, len(run.engine.window)

        assert run.pipeline.settled(read).result(30) == (0, 0, 0)
        taken, seen = [], []
        for content in tracker_messages(120):
            taken.append(run.pipeline.submit(bytes(content), "hall"))
            seen.append(run.pipeline.settled(read))
        for each in taken:
            assert each.result(30).status is Status.ACCEPTED
        marks = [each.result(30) for each in seen]
        assert marks == sorted(marks)
        watermark, left, _ = run.pipeline.settled(read).result(30)
        assert watermark == 120
        assert left > 0


def test_a_reader_is_told_its_own_fault_and_harms_nobody(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        failed = run.pipeline.settled(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failed.result(30)
        assert run.send(bytes(next(iter(tracker_messages(1))))) is Status.ACCEPTED


def test_a_reader_waits_while_effects_wait_for_the_store_and_is_told_at_the_end(
    deployment: Deployment,
) -> None:
    class Away(MemoryStore):
        def commit(self, effects: Effects) -> bool:
            tried.set()
            raise HistoryError("away")

    tried = Event()
    store = Away()
    with running(deployment, store) as run:
        run.pipeline.submit(bytes(next(iter(tracker_messages(1)))), "hall")
        assert tried.wait(30)
        waiting = run.pipeline.settled(lambda: True)
        assert not waiting.done()
    with pytest.raises(Unavailable, match="ask again later"):
        waiting.result(30)
    with pytest.raises(Unavailable):
        run.pipeline.settled(lambda: True).result(30)


def test_a_message_that_takes_too_long_to_map_is_skipped_and_never_tried_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(deployment, MemoryStore()) as run:
        messages = [bytes(each) for each in tracker_messages(3)]
        run.send(messages[0])
        with monkeypatch.context() as patch:
            patch.setattr(MappingPlan, "apply", _too_slow)
            with pytest.raises(Overrun, match="far too slow") as caught:
                run.send(messages[1])
        assert caught.value.message_id == "m2"
        run.send(messages[2])
        state = run.engine.state()
        (alert,) = [a for e in run.store.committed for a in _raised(e) if a.kind == "overrun"]
        assert (alert.text, alert.message) == ("far too slow", "m2")
        assert run.store.statuses()["m2"] is Status.SKIPPED
    store = MemoryStore()
    store.append(run.store.records)
    for each in run.store.committed:
        store.commit(each)
    # By now it would be quick enough.
    with running(deployment, store) as again:
        assert again.engine.state() == state


def _too_slow(*_: object, **__: object) -> None:
    raise Overrun("far too slow")


def test_a_lone_sender_does_not_wait_for_the_crowds_that_came_before(
    deployment: Deployment,
) -> None:
    contents = [bytes(each) for each in tracker_messages(901)]
    store = Held()
    with running(deployment, store) as run:
        taken = [run.pipeline.submit(contents[0], "hall")]
        assert store.tried.wait(30)
        for place, content in enumerate(contents[1:900]):
            sender = Sender("10.0.0.1", str(place % 3))
            taken.append(run.pipeline.submit(content, "hall", sender))
        lone = run.pipeline.submit(contents[900], "hall", Sender("10.0.0.2", "1"))
        change = run.pipeline.change(ReportDifferences("nothing is wrong"))
        store.let.set()
        for each in (*taken, lone, change):
            each.result(60)
    places = {each.message.content: each.seq for each in store.records}
    assert places[contents[900]] == 3
    # The entry goes alone: those before it have been a group.
    assert next(each.seq for each in store.records if each.kind == "audit") == 4
    for connection in range(3):
        mine = [places[each] for each in contents[1 + connection : 900 : 3]]
        assert mine == sorted(mine)


def test_large_messages_pause_for_others_and_a_server_that_stops_takes_those_that_wait(
    deployment: Deployment,
) -> None:
    class Slow(Held):
        def append(self, records: Sequence[Record]) -> None:
            super().append(records)
            if len(records[0].message.content) > 32 * 1024:
                sleep(0.3)

    small = [bytes(each) for each in tracker_messages(3)]
    large = [bytes(each).ljust(40_000) for each in tracker_messages(3, start=10)]
    store = Slow()
    with running(deployment, store) as run:
        taken = [run.pipeline.submit(small[0], "hall")]
        assert store.tried.wait(30)
        for place, content in enumerate(large):
            taken.append(run.pipeline.submit(content, "hall", Sender("10.0.0.1", str(place))))
        # One sender's messages keep their order, whatever they are.
        taken.append(run.pipeline.submit(small[1], "hall", Sender("10.0.0.1", "2")))
        taken.append(run.pipeline.submit(small[2], "hall", Sender("10.0.0.2")))
        store.let.set()
        taken[-1].result(30)
    assert all(each.done() for each in taken)
    contents = [small[0], large[0], small[2], large[1], large[2], small[1]]
    assert [each.message.content for each in store.records] == contents


def test_a_change_that_took_long_makes_the_next_of_its_kind_pause(
    deployment: Deployment,
) -> None:
    class Slow(Held):
        def append(self, records: Sequence[Record]) -> None:
            super().append(records)
            if records[0].kind == RegisterQuery.kind:
                sleep(0.6)

    store = Slow()
    with running(deployment, store) as run:
        content = bytes(next(iter(tracker_messages(1))))
        taken = [run.pipeline.change(RegisterQuery("q0", PEOPLE))]
        assert store.tried.wait(30)
        # The first was not expected to take long, nor was the second when it came.
        taken += [run.pipeline.change(RegisterQuery(f"q{n}", PEOPLE)) for n in (1, 2)]
        message = run.pipeline.submit(content, "hall")
        removal = run.pipeline.change(RemoveQuery("q0"))
        store.let.set()
        message.result(30)
        removal.result(30)
    assert all(each.done() for each in taken)
    kinds = [each.kind for each in store.records]
    assert kinds == ["query", "query", "message", "query-end", "query"]


def test_queries_that_took_too_much_together_are_stopped_in_each_replay(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    with running(deployment, store) as run:
        run.change(RegisterQuery("people", PEOPLE))
        messages = [bytes(each) for each in tracker_messages(6)]
        for content in messages[:3]:
            run.send(content)
        with monkeypatch.context() as patch:
            patch.setattr(Load, "excess", lambda _: 1.0)
            run.send(messages[3])
        for content in messages[4:]:
            run.send(content)
        assert list(run.engine.queries.stopped) == ["people"]
        (alert,) = [a for e in store.committed for a in _raised(e) if a.kind == "query-stopped"]
        assert "limits.query_seconds_together" in alert.text
        state = run.engine.state()
    with running(deployment, without_checkpoints(store)) as again:
        assert again.engine.state() == state


def test_who_sends_too_much_is_refused_and_the_others_are_not(deployment: Deployment) -> None:
    content = bytes(next(iter(tracker_messages(1))))
    store = Held()
    with running(deployment, store, limits=LimitSettings(waiting_messages=10)) as run:
        first = run.pipeline.submit(content, "hall")
        assert store.tried.wait(30)
        many = [run.pipeline.submit(content, "hall", Sender("10.0.0.1")) for _ in range(7)]
        few = run.pipeline.submit(content, "hall", Sender("10.0.0.2"))
        store.let.set()
        assert sum(isinstance(each.exception(30), Busy) for each in many) == 2
        assert first.result(30).status is few.result(30).status is Status.ACCEPTED
