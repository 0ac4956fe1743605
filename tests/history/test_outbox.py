from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, select, text

from sensorstream.alerts.alert_records import (
    AlertChange,
    Backlog,
    Delivery,
    KeptReport,
    RaisedAlert,
    Webhook,
    WebhookState,
)
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.sender import DeliveryFailure
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.errors import HistoryError, UnknownDelivery, UnknownWebhook
from sensorstream.history.database import engine
from sensorstream.history.incidents import PostgresIncidents
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.store import PostgresStore
from sensorstream.history.tables import deliveries
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message, Status
from sensorstream.streams.query_report import Report, RowOperation

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
    told = EngineReport(query, number, Report(query, number, RowOperation.RESULT, answer=True))
    status = MessageStatus(number, Status.ACCEPTED)
    return store.commit(Effects(number, (), (), alerts, (status,), NOW, reports=(told,)))


@pytest.fixture
def outbox(database: Engine) -> PostgresOutbox:
    return PostgresOutbox(database)


@pytest.fixture
def registered(database: Engine) -> PostgresWebhooks:
    return PostgresWebhooks(database)


def came(status: int = 204, answer: str = "") -> Attempt:
    return Attempt(NOW, 0.25, None, status, answer)


def failing(reason: str, at: datetime = NOW, status: int | None = None) -> Attempt:
    return Attempt(at, 0.5, DeliveryFailure(reason), status, "no")


def ids(deliveries: list[Delivery]) -> list[tuple[str, str]]:
    return [(each.event.id, each.webhook.id) for each in deliveries]


def test_every_webhook_gets_the_alerts_that_come_after_it(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    raise_alert(store, 1)
    registered.put(webhook("a"), 1)
    raise_alert(store, 2)
    registered.put(webhook("b"), 1)
    raise_alert(store, 3)
    # Some of each: who has few waits for nobody who has many.
    assert ids(outbox.due(NOW, 10)) == [("m2-1", "a"), ("m3-1", "b"), ("m3-1", "a")]
    assert ids(outbox.due(NOW, 1)) == [("m2-1", "a")]
    assert outbox.due(NOW, 1)[0] == Delivery(
        1 << 20 | 1, RaisedAlert(2, alert(2), NOW), webhook("a"), 0
    )


def test_what_failed_is_due_at_its_next_time_and_what_was_delivered_is_not(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, failing("503"), LATER)
    assert outbox.due(NOW, 1) == []
    (again,) = outbox.due(LATER, 1)
    assert again.attempts == 1
    outbox.delivered({again.id: came()})
    assert outbox.due(LATER, 1) == []


def test_what_was_given_up_is_set_aside(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    outbox.failed(outbox.due(NOW, 1)[0].id, failing("410 Gone"), None)
    assert outbox.due(LATER, 1) == []
    with outbox._database.connect() as connection:
        told = connection.execute(select(deliveries.c.status, deliveries.c.last_error)).all()
    assert told == [("dead", "410 Gone")]


def test_a_deleted_webhook_gets_nothing_more(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    registered.delete("a", NOW)
    with pytest.raises(UnknownWebhook):
        registered.delete("a", NOW)
    assert outbox.due(LATER, 1) == []
    assert registered.all() == []


def test_webhooks_are_listed_as_registered_and_keep_their_secret_to_themselves(
    registered: PostgresWebhooks,
) -> None:
    registered.put(webhook("a"), 1)
    assert registered.all() == [WebhookState(webhook("a"))]
    assert "whsec" not in repr(registered.all())
    # Another change of it leaves the secret alone.
    registered.put(replace(webhook("a", "crowd"), secret="whsec_other"), 2)
    assert registered.all() == [WebhookState(webhook("a", "crowd"))]
    assert registered.changes() == {"a": 2}


def test_alerts_are_listed_newest_first_page_by_page(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    page = PostgresReader(database).alerts_before(2)
    assert page == [RaisedAlert(3, alert(3), NOW), RaisedAlert(2, alert(2), NOW)]
    assert [each.seq for each in PostgresReader(database).alerts_before(2, seq=2)] == [1]
    database.dispose()


def test_alerts_are_followed_from_where_a_reader_stands(
    store: PostgresStore, outbox: PostgresOutbox
) -> None:
    for number in (1, 2, 3):
        raise_alert(store, number)
    database = engine(store.url)
    assert [each.seq for each in PostgresReader(database).alerts_after(10, 1)] == [2, 3]
    assert [each.seq for each in PostgresReader(database).alerts_after(1, 1)] == [2]
    assert PostgresReader(database).alerts_after(10, 3) == []
    database.dispose()


def test_webhooks_that_are_busy_can_be_left_out(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    registered.put(webhook("b"), 1)
    raise_alert(store, 1)
    assert ids(outbox.due(NOW, 10, ["a"])) == [("m1-1", "b")]


def stored(outbox: PostgresOutbox) -> int:
    with outbox._database.connect() as connection:
        return len(connection.execute(text("select id from store.outbox")).all())


def test_a_webhook_gets_the_reports_of_the_queries_it_names(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd", "it's, {odd}"), 1)
    registered.put(webhook("b", "crowd"), 1)
    registered.put(webhook("c"), 1)
    assert report(store, 1, "crowd")
    assert report(store, 2, "it's, {odd}")
    assert not report(store, 3, "other")
    found = [("crowd-1", "a"), ("crowd-1", "b"), ("it's, {odd}-2", "a")]
    assert ids(outbox.due(NOW, 10)) == found
    first = outbox.due(NOW, 1)[0]
    data = (
        '{"id": "crowd-1", "query": "crowd", "time": 1, "op": "=", "boolean": true, '
        '"variables": []}'
    )
    assert first.event == KeptReport("crowd-1", "crowd", data, NOW)
    assert first.webhook == webhook("a", "crowd", "it's, {odd}")
    assert stored(outbox) == 3


def test_reports_are_queued_with_the_alerts_of_their_commit(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    report(store, 1, "crowd", (alert(1),))
    assert ids(outbox.due(NOW, 10)) == [("m1-1", "a"), ("crowd-1", "a")]


def test_a_report_that_is_not_committed_is_not_queued(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    told = EngineReport("crowd", 1, Report("crowd", 1, RowOperation.RESULT, answer=True))
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
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    report(store, 1, "crowd")
    registered.delete("a", NOW)
    assert stored(outbox) == 0


def output(name: str, *queries: str) -> Webhook:
    return Webhook(f"out_{name}", f"mqtt://broker/{name}", "", NOW, queries, output=True)


def test_outputs_are_those_of_the_settings_and_no_webhooks(
    store: PostgresStore, database: Engine, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    assert registered.set_outputs([output("a"), output("b", "people")]) == {}
    registered.put(webhook("w"), 1)
    assert report(store, 1, "people", (alert(1),))
    told = [(each.webhook.id, each.webhook.output) for each in outbox.due(NOW, 10)]
    assert sorted(told) == [("out_a", True), ("out_b", True), ("out_b", True), ("w", False)]
    assert [each.webhook.id for each in registered.all()] == ["w"]
    for refused in (registered.delete, registered.enable):
        with pytest.raises(UnknownWebhook):
            refused("out_a", NOW)
    with pytest.raises(UnknownWebhook):
        registered.one("out_a")
    # A restart changes nothing; one that is gone takes what waits for it along.
    assert registered.set_outputs([output("a", "people"), output("b", "people")]) == {}
    assert len(outbox.due(NOW, 10)) == 4
    assert registered.set_outputs([output("a")]) == {"out_b": 2}
    assert [each.webhook.id for each in outbox.due(NOW, 10)] == ["out_a", "w"]
    # From when the settings say so, an output is told of changes.
    incidents = PostgresIncidents(database)
    incidents.acknowledge("m1-1", "ann", "", NOW)
    registered.set_outputs([replace(output("a"), changes=True)])
    incidents.clear("m1-1", "ann", "", NOW)
    heard = [each.event for each in outbox.due(NOW, 10) if each.webhook.id == "out_a"]
    assert [each.change for each in heard if isinstance(each, AlertChange)] == ["cleared"]


def test_no_receiver_takes_the_place_of_another_however_much_waits_for_it(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("many"), 1)
    for number in range(1, 31):
        raise_alert(store, number)
    registered.put(webhook("few"), 1)
    raise_alert(store, 31)
    taken = outbox.due(NOW, 4)
    assert ids(taken) == [("m1-1", "many"), ("m31-1", "few"), ("m2-1", "many"), ("m3-1", "many")]
    assert [each.webhook.id for each in outbox.due(NOW, 100)].count("many") == 20


def test_the_log_tells_the_last_attempt_of_each_delivery_by_state(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    for number in (1, 2, 3):
        raise_alert(store, number)
    report(store, 4, "crowd")
    one, two, three, four = outbox.due(NOW, 10)
    outbox.delivered({one.id: came(200, "thanks \x00")})
    outbox.failed(two.id, failing("answered 500", status=500), LATER)
    outbox.failed(three.id, failing("answered 410"), None)
    outbox.delivered({four.id: came()})
    log = registered.log("a", None, 10)
    assert [(each.event_id, each.query, each.state) for each in log] == [
        ("crowd-4", "crowd", "delivered"),
        ("m3-1", None, "dead"),
        ("m2-1", None, "pending"),
        ("m1-1", None, "delivered"),
    ]
    assert [each.event_id for each in registered.log("a", "delivered", 10)] == ["crowd-4", "m1-1"]
    assert [each.event_id for each in registered.log("a", None, 1, log[0].id)] == ["m3-1"]
    failed, thanked = log[2], log[3]
    assert (failed.attempts, failed.next_attempt_at, failed.attempted_at) == (1, LATER, NOW)
    assert (failed.seconds, failed.status, failed.answer) == (0.5, 500, "no")
    assert failed.error == "answered 500"
    assert (thanked.status, thanked.answer, thanked.error) == (200, "thanks \ufffd", None)
    with pytest.raises(UnknownWebhook):
        registered.log("b", None, 10)


def test_a_webhook_fails_from_the_first_failure_to_the_next_success(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    (delivery,) = outbox.due(NOW, 10)
    assert outbox.failed(delivery.id, failing("500"), NOW) == NOW
    assert outbox.put_off(delivery.id, failing("503", LATER)) == NOW
    state = registered.one("a")
    assert state.failing_since == NOW
    assert state.last is not None
    assert (state.last.error, state.last.attempts) == ("503", 1)
    outbox.delivered({delivery.id: came()})
    assert registered.one("a").failing_since is None
    assert outbox.backlog() == [Backlog("a", True, None, 0, None)]


def test_what_comes_for_a_disabled_webhook_is_set_aside_and_can_be_recovered(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    raise_alert(store, 1)
    outbox.disable("a", NOW)
    raise_alert(store, 2)
    assert not report(store, 3, "crowd")
    assert outbox.due(LATER, 10) == []
    assert registered.one("a").disabled_at == NOW
    assert outbox.backlog() == [Backlog("a", False, None, 1, NOW)]
    registered.enable("a", NOW)
    assert registered.one("a") == WebhookState(webhook("a", "crowd"))
    assert ids(outbox.due(LATER, 10)) == [("m1-1", "a")]
    assert registered.recover("a", LATER, LATER, LATER) == 0
    assert registered.recover("a", NOW, LATER, LATER) == 1
    assert ids(outbox.due(LATER, 10)) == [("m1-1", "a"), ("m2-1", "a")]


def test_a_delivery_can_be_sent_again_whatever_became_of_it(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a", "crowd"), 1)
    raise_alert(store, 1)
    report(store, 2, "crowd")
    first, second = outbox.due(NOW, 10)
    outbox.delivered({first.id: came()})
    outbox.delivered({second.id: came()})
    assert outbox.due(LATER, 10) == []
    assert registered.resend(second.id, LATER).state == "pending"
    assert outbox.due(LATER, 10) == [second]
    with pytest.raises(UnknownDelivery):
        registered.resend(99, LATER)


def test_a_rotated_secret_signs_beside_the_new_one_for_a_time(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    registered.rotate("a", "whsec_y", LATER)
    (delivery,) = outbox.due(NOW, 10)
    assert delivery.webhook.secrets(NOW) == ("whsec_y", "whsec_x")
    assert delivery.webhook.secrets(LATER) == ("whsec_y",)
    assert "whsec" not in repr(registered.all())


def test_the_log_keeps_the_newest_thousand_of_a_week(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    registered.put(webhook("a"), 1)
    registered.put(webhook("b"), 1)
    with outbox._database.begin() as connection:
        connection.execute(
            text(
                "insert into store.events (seq, report_id, report_query, report_data, raised_at, "
                "due_at) select n, n, 'q', '', :now, :now from generate_series(1, 2011) n; "
                "insert into store.deliveries (id, event, webhook_id, status, attempted_at) "
                "select n, n, 'a', case when n % 10 = 1 then 'dead' else 'delivered' end, "
                "cast(:now as timestamptz) - n * interval '1 minute' "
                "from generate_series(1, 2001) n union all "
                "select n, n, 'b', 'delivered', "
                "cast(:now as timestamptz) - (n - 2002) * interval '1 day' "
                "from generate_series(2002, 2011) n"
            ),
            {"now": NOW},
        )
    outbox.prune(NOW)
    kept = registered.log("a", None, 5000)
    assert [each.state for each in kept].count("delivered") == 1000
    assert [each.state for each in kept].count("dead") == 201
    assert len(registered.log("b", None, 100)) == 7


def test_what_waits_moves_back_with_the_clock(
    store: PostgresStore, outbox: PostgresOutbox, registered: PostgresWebhooks
) -> None:
    hour = timedelta(hours=1)
    assert outbox.latest() is None
    registered.put(webhook("a"), 1)
    raise_alert(store, 1)
    raise_alert(store, 2)
    [first, second] = outbox.due(NOW, 10)
    outbox.failed(first.id, failing("down"), LATER)
    assert outbox.latest() == NOW
    assert outbox.due(NOW - hour, 10) == []
    outbox.move_back(NOW - hour, hour)
    assert [each.id for each in outbox.due(NOW - hour, 10)] == [second.id]
    assert [each.id for each in outbox.due(LATER - hour, 10)] == [second.id, first.id]
    # What is due already is not moved.
    outbox.move_back(NOW, hour)
    assert [each.id for each in outbox.due(NOW - hour, 10)] == [second.id]
