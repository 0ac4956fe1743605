from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from sensorstream.alerts.records import Delivery, KeptReport, RaisedAlert, Webhook
from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Status
from sensorstream.errors import HistoryError
from sensorstream.history.alerts import alerts_after, alerts_before
from sensorstream.history.database import engine
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.tables import deliveries
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message
from sensorstream.streams.report import Operation, Report

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def webhook(name: str, *queries: str) -> Webhook:
    return Webhook(name, f"http://localhost/{name}", "whsec_x", NOW, queries)


def alert(number: int) -> Alert:
    return Alert(f"m{number}-1", "r", "rule", "info", f"no {number}", "k", number, f"m{number}")


def raise_alert(store: PostgresStore, number: int) -> None:
    store.append([Record(number, Message(f"m{number}", b"<a/>", 0), NOW)])
    status = MessageStatus(number, Status.ACCEPTED)
    store.commit(Effects(number, (), (), (alert(number),), (status,), NOW))


def report(store: PostgresStore, number: int, query: str, alerts: tuple[Alert, ...] = ()) -> bool:
    store.append([Record(number, Message(f"m{number}", b"<a/>", 0), NOW)])
    told = QueryReport(query, number, Report(query, number, Operation.RESULT, answer=True))
    status = MessageStatus(number, Status.ACCEPTED)
    return store.commit(Effects(number, (), (), alerts, (status,), NOW, reports=(told,)))


@pytest.fixture
def outbox(store: PostgresStore) -> Iterator[PostgresOutbox]:
    database = engine(store.url)
    yield PostgresOutbox(database)
    database.dispose()


def ids(deliveries: list[Delivery]) -> list[tuple[str, str]]:
    return [(each.event.id, each.webhook.id) for each in deliveries]


def test_every_webhook_gets_the_alerts_that_come_after_it(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    raise_alert(store, 1)
    outbox.register(webhook("a"))
    raise_alert(store, 2)
    outbox.register(webhook("b"))
    raise_alert(store, 3)
    assert ids(outbox.due(NOW, 10)) == [("m2-1", "a"), ("m3-1", "a"), ("m3-1", "b")]
    assert ids(outbox.due(NOW, 1)) == [("m2-1", "a")]
    assert outbox.due(NOW, 1)[0] == Delivery(1, RaisedAlert(2, alert(2), NOW), webhook("a"), 0)


def test_what_was_delivered_is_not_due_again(store: PostgresStore, outbox: PostgresOutbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.delivered(outbox.due(NOW, 1)[0].id)
    assert outbox.due(LATER, 1) == []


def test_what_failed_is_due_at_its_next_time(store: PostgresStore, outbox: PostgresOutbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, "503", LATER)
    assert outbox.due(NOW, 1) == []
    assert [each.attempts for each in outbox.due(LATER, 1)] == [1]


def test_what_was_given_up_is_set_aside(store: PostgresStore, outbox: PostgresOutbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, "410 Gone", None)
    assert outbox.due(LATER, 1) == []
    with outbox._database.connect() as connection:
        told = connection.execute(select(deliveries.c.status, deliveries.c.last_error)).all()
    assert told == [("dead", "410 Gone")]


def test_a_deleted_webhook_gets_nothing_more(store: PostgresStore, outbox: PostgresOutbox) -> None:
    outbox.register(webhook("a"))
    raise_alert(store, 1)
    assert outbox.delete("a")
    assert not outbox.delete("a")
    assert outbox.due(LATER, 1) == []
    assert outbox.webhooks() == []


def test_webhooks_are_listed_as_registered_and_keep_their_secret_to_themselves(
    outbox: PostgresOutbox,
) -> None:
    outbox.register(webhook("a"))
    assert outbox.webhooks() == [webhook("a")]
    assert "whsec" not in repr(outbox.webhooks())
    with pytest.raises(HistoryError, match="cannot store the webhook"):
        outbox.register(webhook("a"))


def test_alerts_are_listed_newest_first_page_by_page(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    page = alerts_before(database, 2)
    assert page == [RaisedAlert(3, alert(3), NOW), RaisedAlert(2, alert(2), NOW)]
    assert [each.seq for each in alerts_before(database, 2, seq=2)] == [1]
    database.dispose()


def test_alerts_are_followed_from_where_a_reader_stands(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    assert [each.seq for each in alerts_after(database, 10, 1)] == [2, 3]
    assert [each.seq for each in alerts_after(database, 1, 1)] == [2]
    assert alerts_after(database, 10, 3) == []
    database.dispose()


def test_webhooks_that_are_busy_can_be_left_out(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a"))
    outbox.register(webhook("b"))
    raise_alert(store, 1)
    assert ids(outbox.due(NOW, 10, ["a"])) == [("m1-1", "b")]


def stored(outbox: PostgresOutbox) -> int:
    with outbox._database.connect() as connection:
        return len(connection.execute(select(deliveries.c.id)).all())


def test_a_webhook_gets_the_reports_of_the_queries_it_names(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a", "crowd", "it's, {odd}"))
    outbox.register(webhook("b", "crowd"))
    outbox.register(webhook("c"))
    assert report(store, 1, "crowd")
    assert report(store, 2, "it's, {odd}")
    assert not report(store, 3, "other")
    found = [("crowd-1", "a"), ("crowd-1", "b"), ("it's, {odd}-2", "a")]
    assert ids(outbox.due(NOW, 10)) == found
    first = outbox.due(NOW, 1)[0]
    data = '{"id": "crowd-1", "query": "crowd", "time": 1, "op": "=", "boolean": true}'
    assert first.event == KeptReport("crowd-1", "crowd", data, NOW)
    assert first.webhook == webhook("a", "crowd", "it's, {odd}")
    assert stored(outbox) == 3


def test_reports_are_queued_with_the_alerts_of_their_commit(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a", "crowd"))
    report(store, 1, "crowd", (alert(1),))
    assert ids(outbox.due(NOW, 10)) == [("m1-1", "a"), ("crowd-1", "a")]


def test_a_delivered_report_is_kept_no_longer_but_one_that_was_given_up_is(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a", "crowd"))
    outbox.register(webhook("b", "crowd"))
    report(store, 1, "crowd")
    first, second = outbox.due(NOW, 10)
    outbox.failed(first.id, "503", LATER)
    outbox.delivered(second.id)
    assert stored(outbox) == 1
    (again,) = outbox.due(LATER, 10)
    assert (again.event, again.attempts) == (first.event, 1)
    outbox.failed(first.id, "410 Gone", None)
    assert outbox.due(LATER, 10) == []
    assert stored(outbox) == 1


def test_a_report_that_is_not_committed_is_not_queued(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a", "crowd"))
    told = QueryReport("crowd", 1, Report("crowd", 1, Operation.RESULT, answer=True))
    status = MessageStatus(1, Status.ACCEPTED)
    effects = Effects(1, (), (), (), (status,), NOW, reports=(told,))
    with pytest.raises(HistoryError, match="not in the journal"):
        store.commit(effects)
    assert stored(outbox) == 0
    store.append([Record(1, Message("m1", b"<a/>", 0), NOW)])
    assert store.commit(effects)
    assert not store.commit(effects)  # as after an answer that did not arrive
    assert ids(outbox.due(NOW, 10)) == [("crowd-1", "a")]


def test_a_deleted_webhook_takes_its_reports_along(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    outbox.register(webhook("a", "crowd"))
    report(store, 1, "crowd")
    assert outbox.delete("a")
    assert stored(outbox) == 0


def output(name: str, *queries: str) -> Webhook:
    return Webhook(f"out_{name}", f"mqtt://broker/{name}", "", NOW, queries, output=True)


def test_outputs_are_those_of_the_settings_and_no_webhooks(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    assert outbox.set_outputs([output("a"), output("b", "people")]) == {}
    outbox.register(webhook("w"))
    assert report(store, 1, "people", (alert(1),))
    told = [(each.webhook.id, each.webhook.output) for each in outbox.due(NOW, 10)]
    assert told == [("out_a", True), ("out_b", True), ("w", False), ("out_b", True)]
    assert [each.id for each in outbox.webhooks()] == ["w"]
    assert not outbox.delete("out_a")
    # A restart changes nothing; one that is gone takes what waits for it along.
    assert outbox.set_outputs([output("a", "people"), output("b", "people")]) == {}
    assert len(outbox.due(NOW, 10)) == 4
    assert outbox.set_outputs([output("a")]) == {"out_b": 2}
    assert [each.webhook.id for each in outbox.due(NOW, 10)] == ["out_a", "w"]
