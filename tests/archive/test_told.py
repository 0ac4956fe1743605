"""What was told of an individual is erased with it; what is told of others stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from sensorstream.alerts.alert_records import Silence, Webhook
from sensorstream.alerts.poster import Attempt
from sensorstream.archive.erasure import erase, names
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.history.database import engine
from sensorstream.history.incidents import PostgresIncidents
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message, Status
from sensorstream.model.terms import IRI
from sensorstream.streams.query_report import Report, RowOperation
from tests.archive.conftest import EX, LINE, START
from tests.archive.test_erasure import GONE, everything, state
from tests.databases import execute

OTHER = IRI(f"{EX}human-12")
LATER = START + timedelta(days=1)


def alert(number: int, text: str, key: str, rule: str = "near") -> Alert:
    return Alert(f"m{number}-1", rule, "rule", "warning", text, key, number, f"m{number}")


@contextmanager
def database(url: str) -> Iterator[Engine]:
    database = engine(url)
    try:
        yield database
    finally:
        database.dispose()


def add(
    store: PostgresStore,
    number: int,
    *alerts: Alert,
    facts: Mapping[str, Any] | None = None,
    reports: tuple[EngineReport, ...] = (),
) -> None:
    store.append([Record(number, Message(f"m{number}", b"<a/>", number), START)])
    status = MessageStatus(number, Status.ACCEPTED, facts=facts)
    store.commit(Effects(number, (), (), alerts, (status,), START, reports=reports))


def report(number: int, name: IRI) -> EngineReport:
    return EngineReport("q", number, Report("q", number, RowOperation.ADDED, ("x",), ((name,),)))


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    """Alerts and reports of two individuals, of which a receiver has been told."""
    url = new_database()
    raised = [
        alert(1, f"{GONE} is here", "kitchen"),
        alert(2, f"{OTHER} is here", "kitchen"),
        alert(3, f"{GONE} is here", "kitchen"),
        alert(4, "somebody is here", GONE),
        alert(5, "somebody is here", "hall"),
        alert(6, "somebody is here", "cellar"),
        alert(7, f"{GONE} is here", "attic"),
    ]
    with PostgresStore.open(url, LINE) as store, database(url) as kept:
        hook = Webhook("w", "http://localhost/", "whsec_x", START, ("q",), changes=True)
        PostgresWebhooks(kept).put(hook, 1)
        for number, each in enumerate(raised, 1):
            near = GONE if number == 2 else OTHER
            add(store, number, each, facts={"replies": [f"{near} is near"]})
        add(store, 8, reports=(report(1, GONE), report(2, OTHER)))
        add(store, 9)
        store.save_checkpoint(9, dump(state(OTHER)))
        incidents = PostgresIncidents(kept)
        incidents.acknowledge("m2-1", "ann", "on my way", LATER)
        incidents.comment("m5-1", "ann", f"it is <{GONE}>", LATER)
        incidents.comment("m6-1", "ann", f"it is <{OTHER}>", LATER)
        for key, comment in ((GONE, "kit_chen"), (None, f"of {GONE}"), (OTHER, "")):
            wanted = Silence(0, None, key, None, START, LATER, "ann", comment)
            incidents.silence(wanted, START)
        outbox = PostgresOutbox(kept)
        for due in outbox.due(LATER, 100):
            outbox.delivered({due.id: Attempt(LATER, 0.1, None, 204, "")})
    return url


def test_what_was_told_of_it_is_erased_and_what_was_told_of_others_is_kept(
    url: str, tmp_path: Path
) -> None:
    assert names(everything(url, tmp_path), GONE)
    erased = erase(url, tmp_path, GONE, LINE, lambda _: False, dry=True)
    assert names(everything(url, tmp_path), GONE)
    assert erase(url, tmp_path, GONE, LINE, lambda _: False) == erased
    assert not names(everything(url, tmp_path), GONE)
    assert {name: count for name, count in erased.items() if count} == {
        "alerts": 4,
        "open and cleared alerts": 3,
        "silences": 2,
        "outcomes of other messages": 1,
        "deliveries": 6,
    }
    assert execute(url, "select id, incident, text from store.alerts order by seq") == [
        ("m2-1", "m1-1", f"{OTHER} is here"),
        ("m5-1", None, "somebody is here"),
        ("m6-1", "m6-1", "somebody is here"),
    ]
    assert execute(
        url,
        "select id, key, text, count, state, last_alert, last_time "
        "from store.incidents order by seq",
    ) == [
        ("m1-1", "kitchen", f"{OTHER} is here", 1, "acknowledged", "m2-1", 2),
        ("m6-1", "cellar", "somebody is here", 1, "open", "m6-1", 6),
    ]
    changes = execute(url, "select change, text from store.alert_changes where change <> 'raised'")
    assert changes == [("acknowledged", "on my way"), ("commented", f"it is <{OTHER}>")]
    assert execute(url, "select facts is null from store.messages where seq < 4 order by seq") == [
        (False,),
        (True,),
        (False,),
    ]
    again = erase(url, tmp_path, GONE, LINE, lambda _: False)
    assert set(again.values()) == {0}


def test_alerts_go_on_after_it(url: str, tmp_path: Path) -> None:
    erase(url, tmp_path, GONE, LINE, lambda _: False)
    with PostgresStore.open(url, LINE) as store, database(url) as kept:
        add(store, 10, alert(10, f"{OTHER} is here", "kitchen"))
        add(store, 11, alert(11, "somebody is here", "hall"))
        found = {each.id: each.count for each in PostgresIncidents(kept).list(None, 9, None, START)}
        assert found == {"m1-1": 2, "m6-1": 1, "m11-1": 1}
        told = [each.event.id for each in PostgresOutbox(kept).due(LATER, 100)]
        assert told == ["m10-1", "m11-1"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f'"{GONE}"', True),
        (f"at <{GONE}>.", True),
        (f"{GONE}.", True),
        (f"{GONE}2", False),
        (f"{GONE}/room", False),
        (f"{GONE}.5", False),
    ],
)
def test_a_longer_name_is_another_one(text: str, named: bool) -> None:
    assert names(text, GONE) is named
