from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from sensorstream.alerts.records import Delivery, RaisedAlert, Webhook
from sensorstream.engine.outcome import Status
from sensorstream.errors import HistoryError
from sensorstream.history.alerts import alerts_after, alerts_before
from sensorstream.history.database import engine
from sensorstream.history.outbox import Outbox
from sensorstream.history.records import Effects, JournalEntry, MessageStatus
from sensorstream.history.store import Store
from sensorstream.history.tables import deliveries
from sensorstream.model.events import Alert, Message

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def webhook(name: str) -> Webhook:
    return Webhook(name, f"http://localhost/{name}", "whsec_x", NOW)


def alert(number: int) -> Alert:
    return Alert(f"m{number}-1", "r", "rule", "info", f"no {number}", "k", number, f"m{number}")


def raise_alert(store: Store, number: int) -> None:
    store.append([JournalEntry(number, Message(f"m{number}", b"<a/>", 0), NOW)])
    status = MessageStatus(number, Status.ACCEPTED)
    store.commit(Effects(number, (), (), (alert(number),), (status,), NOW))


@pytest.fixture
def outbox(store: Store) -> Iterator[Outbox]:
    database = engine(store.url)
    yield Outbox(database)
    database.dispose()


def ids(deliveries: list[Delivery]) -> list[tuple[str, str]]:
    return [(each.alert.alert.id, each.webhook.id) for each in deliveries]


def test_every_webhook_gets_the_alerts_that_come_after_it(store: Store, outbox: Outbox) -> None:
    raise_alert(store, 1)
    outbox.register(webhook("a"))
    raise_alert(store, 2)
    outbox.register(webhook("b"))
    raise_alert(store, 3)
    assert ids(outbox.due(NOW, 10)) == [("m2-1", "a"), ("m3-1", "a"), ("m3-1", "b")]
    assert ids(outbox.due(NOW, 1)) == [("m2-1", "a")]
    assert outbox.due(NOW, 1)[0] == Delivery(1, RaisedAlert(2, alert(2), NOW), webhook("a"), 0)


def test_what_was_delivered_is_not_due_again(store: Store, outbox: Outbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.delivered(outbox.due(NOW, 1)[0].id)
    assert outbox.due(LATER, 1) == []


def test_what_failed_is_due_at_its_next_time(store: Store, outbox: Outbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, "503", LATER)
    assert outbox.due(NOW, 1) == []
    assert [each.attempts for each in outbox.due(LATER, 1)] == [1]


def test_what_was_given_up_is_set_aside(store: Store, outbox: Outbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, "410 Gone", None)
    assert outbox.due(LATER, 1) == []
    with outbox._database.connect() as connection:
        told = connection.execute(select(deliveries.c.status, deliveries.c.last_error)).all()
    assert told == [("dead", "410 Gone")]


def test_a_deleted_webhook_gets_nothing_more(store: Store, outbox: Outbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    assert outbox.delete("a")
    assert not outbox.delete("a")
    assert outbox.due(LATER, 1) == []
    assert outbox.webhooks() == []


def test_webhooks_are_listed_as_registered_and_keep_their_secret_to_themselves(
    outbox: Outbox,
) -> None:
    outbox.register(webhook("a"))
    assert outbox.webhooks() == [webhook("a")]
    assert "whsec" not in repr(outbox.webhooks())
    with pytest.raises(HistoryError, match="cannot store the webhook"):
        outbox.register(webhook("a"))


def test_alerts_are_listed_newest_first_page_by_page(store: Store, outbox: Outbox) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    page = alerts_before(database, 2)
    assert page == [RaisedAlert(3, alert(3), NOW), RaisedAlert(2, alert(2), NOW)]
    assert [each.seq for each in alerts_before(database, 2, seq=2)] == [1]
    database.dispose()


def test_alerts_are_followed_from_where_a_reader_stands(store: Store, outbox: Outbox) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    assert [each.seq for each in alerts_after(database, 10, 1)] == [2, 3]
    assert [each.seq for each in alerts_after(database, 1, 1)] == [2]
    assert alerts_after(database, 10, 3) == []
    database.dispose()


def test_webhooks_that_are_busy_can_be_left_out(store: Store, outbox: Outbox) -> None:
    outbox.register(webhook("a"))
    outbox.register(webhook("b"))
    raise_alert(store, 1)
    assert ids(outbox.due(NOW, 10, ["a"])) == [("m1-1", "b")]
