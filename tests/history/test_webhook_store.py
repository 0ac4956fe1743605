"""A webhook that is disabled, and the alert that tells of it: they begin and end together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, text

from sensorstream.alerts.alert_records import Webhook
from sensorstream.errors import HistoryError
from sensorstream.history import webhook_store
from sensorstream.history.incidents import PostgresIncidents
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.notice import WEBHOOK_DISABLED
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Change = Callable[[PostgresWebhooks], None]


def told_to_be_disabled(store: PostgresStore, webhook: str) -> str:
    """The alert that a webhook is disabled; its id."""
    number = store.last_seq() + 1
    store.append([Record(number, Message(f"m{number}", b"", 0), NOW)])
    alert = Alert(
        f"m{number}-1", "", WEBHOOK_DISABLED, "critical", "", webhook, number, f"m{number}"
    )
    status = (MessageStatus(number, Status.ACCEPTED),)
    store.commit(Effects(number, (), (), (alert,), status, NOW))
    return alert.id


def disabled(store: PostgresStore, database: Engine) -> tuple[PostgresWebhooks, str]:
    """A webhook ``w`` that is disabled, and the alert of it."""
    registered = PostgresWebhooks(database)
    registered.put(Webhook("w", "http://w/1", "s", NOW), 1)
    alert = told_to_be_disabled(store, "w")
    PostgresOutbox(database).disable("w", NOW)
    return registered, alert


def last_change(database: Engine, alert: str) -> tuple[str, str]:
    (*_, last) = PostgresIncidents(database).history(alert, 9, 0, NOW)
    return last.change, last.text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda to: to.enable("w", NOW), "it is enabled"),
        (lambda to: to.put(Webhook("w", "http://w/2", "s", NOW), 2), "it is enabled"),
        (lambda to: to.delete("w", NOW), "it is removed"),
    ],
    ids=["enabled", "moved", "removed"],
)
def test_the_alert_ends_in_the_transaction_that_makes_it_untrue(
    store: PostgresStore,
    database: Engine,
    monkeypatch: pytest.MonkeyPatch,
    change: Change,
    said: str,
) -> None:
    registered, alert = disabled(store, database)

    def fails(*_: object) -> None:
        raise HistoryError("the server is killed here")

    with monkeypatch.context() as patch:
        patch.setattr(webhook_store, "end_of_system", fails)
        with pytest.raises(HistoryError, match="killed here"):
            change(registered)
    assert registered.one("w").disabled_at == NOW
    assert registered.one("w").webhook.url == "http://w/1"
    assert last_change(database, alert) == ("raised", "")

    change(registered)
    assert last_change(database, alert) == ("cleared", said)


def test_a_change_that_leaves_a_webhook_disabled_leaves_its_alert_open(
    store: PostgresStore, database: Engine
) -> None:
    registered, alert = disabled(store, database)
    registered.put(Webhook("w", "http://w/1", "s", NOW, changes=True), 2)
    registered.end_stale_alerts(NOW)
    assert registered.one("w").disabled_at == NOW
    assert last_change(database, alert) == ("raised", "")


def test_a_start_ends_alerts_of_webhooks_that_are_not_disabled_and_no_others(
    store: PostgresStore, database: Engine
) -> None:
    registered, alert = disabled(store, database)
    registered.put(Webhook("killed", "http://w", "s", NOW), 2)
    # The server was killed before it had disabled the one, and the other was deleted.
    stale = [told_to_be_disabled(store, each) for each in ("killed", "gone")]
    registered.end_stale_alerts(NOW)
    ended = ("cleared", "it is not disabled")
    assert [last_change(database, each) for each in stale] == [ended, ended]
    assert last_change(database, alert) == ("raised", "")


def test_who_is_removed_while_it_is_told_to_be_disabled_leaves_no_open_alert(
    store: PostgresStore, database: Engine
) -> None:
    alert = told_to_be_disabled(store, "gone")
    PostgresOutbox(database).disable("gone", NOW)
    assert last_change(database, alert) == ("cleared", "it is removed")
    with database.connect() as connection:
        open_ = "select count(*) from store.incidents where state <> 'cleared'"
        assert connection.execute(text(open_)).scalar_one() == 0
