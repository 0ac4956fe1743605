"""A pipeline over a store in lists, and what it left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, build_machine
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.metrics import Metrics
from sensorstream.app.life.pipeline import Pipeline
from sensorstream.app.life.recovery import find_start, recover
from sensorstream.app.life.store_writes import Outlets
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.journal.entry import Entry
from sensorstream.journal.notice import ReportDifferences
from sensorstream.journal.records import Record, Store
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.model.events import Status
from sensorstream.settings.settings import LimitSettings
from sensorstream.testing import ListSink, ManualClock, MemoryStore

PEOPLE = """PREFIX : <http://sensorstream.example/tracking#>
    SELECT ?p ?x WHERE { ?p a :Human ; :hasXLocation ?x FILTER(?x > 100) }"""
WINDOWED = """PREFIX : <http://sensorstream.example/tracking#>
    REGISTER RSTREAM :n AS SELECT (COUNT(*) AS ?n)
    FROM NAMED WINDOW :w ON <urn:sensorstream:source:hall> [RANGE 10 STEP 3]
    WHERE { WINDOW :w { ?p a :Human } }"""


@dataclass
class Running:
    """A pipeline that has been started, and all around it."""

    pipeline: Pipeline
    engine: Engine
    exchange: Exchange
    store: MemoryStore
    clock: ManualClock
    in_work: InWork
    reports: list[EngineReport] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    """What each commit with alerts or entries of the outbox was said to have put there."""

    def send(self, content: bytes) -> Status:
        return self.pipeline.submit(content, "hall").result(300).status

    def change(self, entry: Entry) -> Status:
        return self.pipeline.change(entry).result(300).status


@contextmanager
def running(
    deployment: Deployment,
    store: MemoryStore,
    reopen: Callable[[], Store] | None = None,
    limits: LimitSettings | None = None,
) -> Iterator[Running]:
    """A pipeline that goes on from what the store has; it is stopped at the end."""
    clock = ManualClock()
    machine = build_machine(deployment, clock.counter, shared=True)
    engine = machine.engine
    exchange = Exchange(engine, machine.mapper, deployment)
    reports: list[EngineReport] = []
    told = ListSink[bool]()
    recover(exchange, store, find_start(store), reports.extend, clock.now())
    in_work = InWork()
    pipeline = Pipeline(
        exchange,
        store,
        Outlets(told, reports.extend, reopen or (lambda: store)),
        clock=clock,
        metrics=Metrics(),
        checkpoint_every=7,
        limits=limits or LimitSettings(),
        in_work=in_work,
    )
    pipeline.start()
    try:
        yield Running(pipeline, engine, exchange, store, clock, in_work, reports, told.items)
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


def left_behind(store: MemoryStore) -> list[object]:
    """All that a store has but for its journal and checkpoints."""
    every = store.committed
    return [
        [d for effects in every for d in effects.departures],
        [s for effects in every for s in effects.ended],
        [a for effects in every for a in effects.alerts],
        [r for effects in every for r in effects.reports],
        store.statuses(),
    ]


class Held(MemoryStore):
    """The journal takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.tried, self.let = Event(), Event()

    def append(self, records: Sequence[Record]) -> None:
        self.tried.set()
        assert self.let.wait(300)
        super().append(records)
