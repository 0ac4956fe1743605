"""The outbox, which stores each event once, against one that stores a row for each receiver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from sensorstream.alerts.alert_records import Webhook
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.sender import DeliveryFailure
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message, Status
from sensorstream.streams.query_report import Report, RowOperation
from tests.history.alerting import commit

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
Step: TypeAlias = tuple[Any, ...]

NAMES = st.sampled_from("abc")
QUERIES = st.sampled_from([(), ("p",), ("q",), ("p", "q")])
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("put"), NAMES, QUERIES, st.sampled_from("12")),
    st.tuples(st.just("raise"), st.integers(0, 3), st.sampled_from([(), ("p",), ("q", "p")])),
    st.tuples(st.just("raise"), st.integers(0, 3), st.sampled_from([(), ("p",), ("q", "p")])),
    st.tuples(st.just("serve"), NAMES, st.sampled_from(["ok", "fails", "away", "dead"])),
    st.tuples(st.just("serve"), NAMES, st.sampled_from(["ok", "fails", "away", "dead"])),
    st.tuples(st.sampled_from(["disable", "enable", "recover", "delete"]), NAMES),
    st.tuples(st.just("resend"), NAMES, st.integers(0, 5)),
    st.tuples(st.just("prune")),
)


@dataclass
class Row:
    """A delivery, as a row of its own."""

    event: str
    due: datetime | None
    status: str = "pending"
    attempts: int = 0


@dataclass
class Receiver:
    url: str
    queries: tuple[str, ...]
    disabled: bool = False
    rows: list[Row] = field(default_factory=list)


class Naive:
    """An outbox that writes a row for each receiver when an event is committed."""

    def __init__(self) -> None:
        self.there: dict[str, Receiver] = {}

    def put(self, name: str, url: str, queries: tuple[str, ...]) -> None:
        if name not in self.there:
            self.there[name] = Receiver(url, queries)
        receiver = self.there[name]
        receiver.disabled &= receiver.url == url
        receiver.url, receiver.queries = url, queries

    def tell(self, alerts: Sequence[str], reports: Sequence[tuple[str, str]], at: datetime) -> None:
        for receiver in self.there.values():
            for each in alerts:
                dead = receiver.disabled
                row = Row(each, None if dead else at, "dead" if dead else "pending")
                receiver.rows.append(row)
            if not receiver.disabled:
                receiver.rows += [Row(id_, at) for id_, q in reports if q in receiver.queries]

    def due(self, name: str, now: datetime) -> list[Row]:
        receiver = self.there[name]
        waiting = [(r.due, n, r) for n, r in enumerate(receiver.rows) if r.status == "pending"]
        chosen = sorted(each for each in waiting if each[0] is not None and each[0] <= now)
        return [] if receiver.disabled else [each[2] for each in chosen][:20]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=5, max_size=25))
def test_each_receiver_gets_what_a_row_for_each_would_give_it(
    store: PostgresStore, database: Engine, steps: list[Step]
) -> None:
    outbox, registered, naive = PostgresOutbox(database), PostgresWebhooks(database), Naive()
    for each in registered.all():
        registered.delete(each.webhook.id, START)
    clock = count(1)
    for step in steps:
        now = START + next(clock) * MINUTE
        _take(step, now, store, outbox, registered, naive)
        later = now + MINUTE / 2
        found = outbox.due(later, 100)
        for name, receiver in naive.there.items():
            told = [d.event.id for d in found if d.webhook.id == name]
            assert told == [row.event for row in naive.due(name, later)], step
            log = [(d.event_id, d.state, d.attempts) for d in registered.log(name, None, 1000)]
            rows = [(row.event, row.status, row.attempts) for row in reversed(receiver.rows)]
            assert log == rows, step
        counts = {each.receiver: each.pending for each in outbox.backlog()}
        assert counts == {
            name: sum(row.status == "pending" for row in each.rows)
            for name, each in naive.there.items()
        }


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 3)), max_size=4),
)
def test_what_is_stored_with_an_earlier_time_takes_nobodys_turn(
    store: PostgresStore, database: Engine, times: list[int], looks: list[tuple[int, int, int]]
) -> None:
    """Who stores an event has read the time before, and may have waited for another who stored one;
    who looks for what is due has, too. And a dispatcher may be killed after any delivery."""
    outbox, registered = PostgresOutbox(database), PostgresWebhooks(database)
    for each in registered.all():
        registered.delete(each.webhook.id, START)
    registered.put(Webhook("a", "http://localhost/a", "whsec_x", START), 1)
    raised = [commit(store, START + each * MINUTE, ("k", "info"))[0] for each in times]
    told = []
    for late, limit, taken in [*looks, *((3, 1, 1) for _ in times)]:
        for delivery in outbox.due(START + late * MINUTE, limit)[:taken]:
            outbox.delivered({delivery.id: Attempt(START, 0.1)})
            told.append(delivery.event.id)
    assert told == raised


def _take(
    step: Step,
    now: datetime,
    store: PostgresStore,
    outbox: PostgresOutbox,
    registered: PostgresWebhooks,
    naive: Naive,
) -> None:
    match step:
        case ("put", name, queries, url):
            naive.put(name, url, queries)
            registered.put(Webhook(name, url, "whsec_x", now, queries), 1)
        case ("raise", alerts, queries):
            number = store.last_seq() + 1
            store.append([Record(number, Message(f"m{number}", b"<a/>", 0), now)])
            raised = tuple(
                Alert(f"m{number}-{n}", "r", "rule", "info", "", "", 0, f"m{number}")
                for n in range(alerts)
            )
            reports = tuple(
                EngineReport(q, number, Report(q, number, RowOperation.RESULT, answer=True))
                for q in queries
            )
            status = (MessageStatus(number, Status.ACCEPTED),)
            store.commit(Effects(number, (), (), raised, status, now, reports=reports))
            told = [(each.id, q) for each, q in zip(reports, queries, strict=True)]
            naive.tell([each.id for each in raised], told, now)
        case ("serve", name, result):
            for delivery in outbox.due(now, 100):
                if delivery.webhook.id == name:
                    _attempt(delivery.id, result, now, outbox, naive.due(name, now)[0])
                    break
        case ("disable", name) if name in naive.there and not naive.there[name].disabled:
            naive.there[name].disabled = True
            outbox.disable(name, now)
        case ("enable", name) if name in naive.there:
            naive.there[name].disabled = False
            registered.enable(name, now)
        case ("recover", name) if name in naive.there:
            dead = [row for row in naive.there[name].rows if row.status == "dead"]
            for row in dead:
                row.status, row.attempts, row.due = "pending", 0, now
            assert registered.recover(name, START, now + MINUTE, now) == len(dead)
        case ("delete", name) if name in naive.there:
            del naive.there[name]
            registered.delete(name, now)
        case ("resend", name, place) if name in naive.there:
            rows = naive.there[name].rows
            if place < len(rows):
                chosen = rows[len(rows) - 1 - place]
                chosen.status, chosen.attempts, chosen.due = "pending", 0, now
                registered.resend(registered.log(name, None, 1000)[place].id, now)
        case ("prune",):
            outbox.prune(now)


def _attempt(id_: int, result: str, now: datetime, outbox: PostgresOutbox, row: Row) -> None:
    attempt = Attempt(now, 0.1, None if result == "ok" else DeliveryFailure("down"))
    if result == "ok":
        row.status, row.due = "delivered", None
        outbox.delivered({id_: attempt})
    elif result == "away":
        outbox.put_off(id_, attempt)
    else:
        again = None if result == "dead" else now + 3 * MINUTE
        row.attempts, row.due = row.attempts + 1, again
        row.status = "dead" if result == "dead" else "pending"
        outbox.failed(id_, attempt, again)
