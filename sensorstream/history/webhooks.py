"""Webhooks as they are registered, outputs, and the log of what was delivered to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, Select, case, delete, func, select, text, true, update
from sqlalchemy.dialects.postgresql import insert as upsert

from sensorstream.alerts.records import LoggedDelivery, Webhook, WebhookState
from sensorstream.errors import UnknownDelivery, UnknownWebhook
from sensorstream.history.database import translating
from sensorstream.history.tables import alerts, deliveries, webhooks


class PostgresWebhooks:
    """Safe to use from several threads; every method is one transaction.

    All of them raise :class:`~sensorstream.errors.HistoryError` when the database fails; those that
    name a webhook or a delivery raise :class:`~sensorstream.errors.UnknownWebhook` or
    :class:`~sensorstream.errors.UnknownDelivery` if there is none.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def put(self, webhook: Webhook, change: int) -> None:
        """Deliver all alerts stored from now on to this webhook, and the reports of its queries.

        If there is one of this id, it keeps its secret; another URL makes it enabled. ``change`` is
        the number of the journal's entry that puts it.
        """
        command = upsert(webhooks).values(
            {**_row(webhook), "format": webhook.format, "change": change}
        )
        new = command.excluded
        same = webhooks.c.url == new.url
        changed = {
            **{name: new[name] for name in ("url", "queries", "format", "change")},
            "disabled_at": case((same, webhooks.c.disabled_at)),
            "failing_since": case((same, webhooks.c.failing_since)),
        }
        with translating("cannot store the webhook"), self._database.begin() as connection:
            connection.execute(
                command.on_conflict_do_update(
                    index_elements=["id"], set_=changed, where=~webhooks.c.output
                )
            )

    def changes(self) -> dict[str, int]:
        """The number of the entry that made each webhook what it is; 0: none did."""
        query = select(webhooks.c.id, webhooks.c.change).where(~webhooks.c.output)
        with translating("cannot read the webhooks"), self._database.connect() as connection:
            return {row.id: row.change or 0 for row in connection.execute(query)}

    def all(self) -> list[WebhookState]:
        """All webhooks, in the order they were registered."""
        return self._states(_STATES.order_by(webhooks.c.created_at, webhooks.c.id))

    def one(self, webhook_id: str) -> WebhookState:
        """One webhook."""
        found = self._states(_STATES.where(webhooks.c.id == _storable(webhook_id)))
        if not found:
            raise _unknown(webhook_id)
        return found[0]

    def delete(self, webhook_id: str) -> None:
        """Remove a webhook and all its deliveries."""
        named = webhooks.c.id == _storable(webhook_id)
        command = delete(webhooks).where(named, ~webhooks.c.output)
        with translating("cannot delete the webhook"), self._database.begin() as connection:
            if not connection.execute(command).rowcount:
                raise _unknown(webhook_id)

    def enable(self, webhook_id: str) -> None:
        """Deliver to a webhook again; what waits for it is sent."""
        self._change(webhook_id, disabled_at=None, failing_since=None)

    def rotate(self, webhook_id: str, secret: str, until: datetime) -> None:
        """Sign with another secret; the present one signs, too, until then."""
        self._change(webhook_id, old_secret=webhooks.c.secret, old_until=until, secret=secret)

    def log(
        self, webhook_id: str, state: str | None, limit: int, before: int | None = None
    ) -> list[LoggedDelivery]:
        """Up to ``limit`` deliveries of a webhook with an id below ``before``, newest first."""
        self.one(webhook_id)
        query = _LOG.where(deliveries.c.webhook_id == webhook_id)
        if state is not None:
            query = query.where(deliveries.c.status == state)
        if before is not None:
            query = query.where(deliveries.c.id < before)
        query = query.order_by(deliveries.c.id.desc()).limit(limit)
        with translating("cannot read the deliveries"), self._database.connect() as connection:
            return [_logged(row) for row in connection.execute(query)]

    def resend(self, delivery_id: int, now: datetime) -> LoggedDelivery:
        """Make a delivery due now, whatever became of it before."""
        command = (
            update(deliveries)
            .where(
                deliveries.c.id == delivery_id,
                deliveries.c.webhook_id.in_(select(webhooks.c.id).where(~webhooks.c.output)),
            )
            .values(status="pending", attempts=0, next_attempt_at=now)
        )
        with translating("cannot write the outbox"), self._database.begin() as connection:
            if not connection.execute(command).rowcount:
                raise UnknownDelivery(f"there is no delivery {delivery_id}")
            found = connection.execute(_LOG.where(deliveries.c.id == delivery_id))
            return _logged(found.one())

    def recover(self, webhook_id: str, since: datetime, until: datetime, now: datetime) -> int:
        """Make all dead deliveries of what was raised in ``[since, until)`` due now.

        Returns:
            How many there are.
        """
        self.one(webhook_id)
        with translating("cannot write the outbox"), self._database.begin() as connection:
            values = {"id": webhook_id, "since": since, "until": until, "now": now}
            return connection.execute(_RECOVER, values).rowcount

    def set_outputs(self, outputs: Sequence[Webhook]) -> dict[str, int]:
        """Make these all outputs there are: what is stored from now on is delivered to them.

        Returns:
            The ids of those that are gone, each with the number of deliveries dropped with it.
        """
        waiting = (
            select(webhooks.c.id, func.count(deliveries.c.id))
            .outerjoin(
                deliveries,
                (deliveries.c.webhook_id == webhooks.c.id) & (deliveries.c.status == "pending"),
            )
            .where(webhooks.c.output, webhooks.c.id.not_in([each.id for each in outputs]))
            .group_by(webhooks.c.id)
        )
        with translating("cannot store the outputs"), self._database.begin() as connection:
            gone = {row[0]: int(row[1]) for row in connection.execute(waiting)}
            connection.execute(delete(webhooks).where(webhooks.c.id.in_(gone)))
            for each in outputs:
                changed = {"url": each.url, "queries": list(each.queries)}
                command = upsert(webhooks).values({**_row(each), "output": True})
                connection.execute(
                    command.on_conflict_do_update(index_elements=["id"], set_=changed)
                )
        return gone

    def _states(self, query: Select[Any]) -> list[WebhookState]:
        with translating("cannot read the webhooks"), self._database.connect() as connection:
            return [
                WebhookState(
                    webhook_of(row),
                    row.disabled_at,
                    row.failing_since,
                    None if row.id is None else _logged(row),
                )
                for row in connection.execute(query)
            ]

    def _change(self, webhook_id: str, **values: object) -> None:
        named = webhooks.c.id == _storable(webhook_id)
        command = update(webhooks).where(named, ~webhooks.c.output).values(**values)
        with translating("cannot change the webhook"), self._database.begin() as connection:
            if not connection.execute(command).rowcount:
                raise _unknown(webhook_id)


WEBHOOK_COLUMNS: Final = tuple(
    webhooks.c[name].label(f"webhook_{name}")
    for name in (
        *("id", "url", "secret", "created_at", "queries", "output", "format"),
        *("old_secret", "old_until"),
    )
)


def deliveries_of_alerts(database: Engine, ids: Collection[str]) -> list[LoggedDelivery]:
    """The deliveries of some alerts to webhooks, oldest first.

    Raises:
        HistoryError: the database cannot be read.
    """
    query = (
        _LOG.join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
        .where(deliveries.c.alert_id.in_(list(ids)), ~webhooks.c.output)
        .order_by(deliveries.c.id)
    )
    with translating("cannot read the deliveries"), database.connect() as connection:
        return [_logged(row) for row in connection.execute(query)]


_EVENT: Final = (
    func.coalesce(deliveries.c.alert_id, deliveries.c.report_id).label("event_id"),
    func.coalesce(alerts.c.raised_at, deliveries.c.reported_at).label("raised_at"),
)
_LOGGED: Final = (
    deliveries.c.id,
    deliveries.c.webhook_id,
    deliveries.c.report_query,
    *_EVENT,
    *(
        deliveries.c[name]
        for name in (
            *("status", "attempts", "next_attempt_at", "attempted_at", "seconds", "answered"),
            *("answer", "last_error"),
        )
    ),
)
_LOG: Final = select(*_LOGGED).outerjoin(alerts, alerts.c.id == deliveries.c.alert_id)
_LAST: Final = (
    _LOG.where(deliveries.c.webhook_id == webhooks.c.id, deliveries.c.attempted_at.is_not(None))
    .order_by(deliveries.c.attempted_at.desc())
    .limit(1)
    .lateral("last")
)
_STATES: Final = (
    select(
        webhooks.c.disabled_at,
        webhooks.c.failing_since,
        *WEBHOOK_COLUMNS,
        *(each for each in _LAST.c if each.name != "webhook_id"),
    )
    .select_from(webhooks)
    .outerjoin(_LAST, true())
    .where(~webhooks.c.output)
)
_RECOVER: Final = text(
    """
    update store.deliveries d set status = 'pending', attempts = 0, next_attempt_at = :now
    from store.deliveries e left join store.alerts a on a.id = e.alert_id
    where e.id = d.id and d.webhook_id = :id and d.status = 'dead'
      and coalesce(a.raised_at, e.reported_at) >= :since
      and coalesce(a.raised_at, e.reported_at) < :until
    """
)


def _row(webhook: Webhook) -> dict[str, object]:
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": webhook.secret,
        "created_at": webhook.created_at,
        "queries": list(webhook.queries),
    }


def webhook_of(row: Row[*tuple[Any, ...]]) -> Webhook:
    """A webhook from a row with :data:`WEBHOOK_COLUMNS`."""
    return Webhook(
        row.webhook_id,
        row.webhook_url,
        row.webhook_secret,
        row.webhook_created_at,
        tuple(row.webhook_queries),
        row.webhook_output,
        row.webhook_format,
        row.webhook_old_secret,
        row.webhook_old_until,
    )


def _logged(row: Row[*tuple[Any, ...]]) -> LoggedDelivery:
    return LoggedDelivery(
        id=row.id,
        webhook_id=row.webhook_id,
        event_id=row.event_id,
        query=row.report_query,
        raised_at=row.raised_at,
        state=row.status,
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at,
        attempted_at=row.attempted_at,
        seconds=row.seconds,
        status=row.answered,
        answer=row.answer,
        error=row.last_error,
    )


def _storable(webhook_id: str) -> str:
    """An id that PostgreSQL can be asked for."""
    if "\x00" in webhook_id:
        raise _unknown(webhook_id)
    return webhook_id


def _unknown(webhook_id: str) -> UnknownWebhook:
    return UnknownWebhook(f"there is no webhook '{webhook_id}'")
