"""Alerts that are raised and cleared in a store, and what receivers are told of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, text

from sensorstream.alerts.alert_records import RaisedAlert
from sensorstream.alerts.poster import Attempt
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Cleared, Message, Status

START = datetime(2026, 1, 1, tzinfo=UTC)


def commit(store: PostgresStore, now: datetime, *changes: tuple[str, str] | str) -> list[str]:
    """One entry that raises, (key, severity), and clears, "key" or "": all; the ids it raised."""
    number = store.last_seq() + 1
    store.append([Record(number, Message(f"m{number}", b"<a/>", 0), now)])
    told: list[Alert | Cleared] = []
    for place, each in enumerate(changes):
        if isinstance(each, str):
            told.append(Cleared("hot", "rule", each or None, number, f"m{number}"))
        else:
            key, severity = each
            id_, said = f"m{number}-{place}", f"no {number}"
            told.append(Alert(id_, "hot", "rule", severity, said, key, number, f"m{number}"))
    status = (MessageStatus(number, Status.ACCEPTED),)
    store.commit(Effects(number, (), (), tuple(told), status, now))
    return [each.id for each in told if isinstance(each, Alert)]


def forget(database: Engine) -> None:
    """Leave no alert, and nobody who is told of one."""
    with database.begin() as connection:
        for table in ("webhooks", "silences", "deliveries", "events", "incidents"):
            connection.execute(text(f"delete from store.{table}"))


def told_now(database: Engine, now: datetime) -> list[Any]:
    """What receivers are told now; they take it."""
    outbox, found = PostgresOutbox(database), []
    while due := outbox.due(now, 100):
        found += due
        for each in due:
            outbox.delivered({each.id: Attempt(now, 0.0)})
    return found


def change_of(event: Any) -> tuple[str, str]:
    """Whose change an event tells of, and which: "alert", if it has just been raised."""
    if isinstance(event, RaisedAlert):
        return event.id, "alert"
    return event.incident, event.change
