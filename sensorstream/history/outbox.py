"""Webhooks and their pending deliveries (a transactional outbox).

:meth:`sensorstream.history.store.PostgresStore.commit` adds deliveries, in the transaction that
stores their alerts and moves the watermark; a dispatcher takes them from here. A delivery that
succeeds but is not marked before a crash is sent again: receivers recognise its id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Row, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from sensorstream.alerts.records import Delivery, KeptReport, Webhook
from sensorstream.history.alerts import ALERT_COLUMNS, raised_alert
from sensorstream.history.database import translating
from sensorstream.history.tables import alerts, deliveries, webhooks


class PostgresOutbox:
    """Safe to use from several threads; every method is one transaction.

    All of them raise :class:`~sensorstream.errors.HistoryError` when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def register(self, webhook: Webhook) -> None:
        """Deliver all alerts stored from now on to this webhook, and the reports of its queries."""
        row = {
            "id": webhook.id,
            "url": webhook.url,
            "secret": webhook.secret,
            "created_at": webhook.created_at,
            "queries": list(webhook.queries),
        }
        with translating("cannot store the webhook"), self._database.begin() as connection:
            connection.execute(insert(webhooks).values(row))

    def webhooks(self) -> list[Webhook]:
        """All webhooks, in the order they were registered."""
        query = (
            select(*_WEBHOOK_COLUMNS)
            .where(~webhooks.c.output)
            .order_by(webhooks.c.created_at, webhooks.c.id)
        )
        with translating("cannot read the webhooks"), self._database.connect() as connection:
            return [_webhook(row) for row in connection.execute(query)]

    def delete(self, webhook_id: str) -> bool:
        """Remove a webhook and its pending deliveries; False if it does not exist."""
        command = delete(webhooks).where(webhooks.c.id == webhook_id, ~webhooks.c.output)
        with translating("cannot delete the webhook"), self._database.begin() as connection:
            return connection.execute(command).rowcount == 1

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
                row = {
                    "id": each.id,
                    "url": each.url,
                    "secret": each.secret,
                    "created_at": each.created_at,
                    "queries": list(each.queries),
                    "output": True,
                }
                changed = {"url": each.url, "queries": list(each.queries)}
                command = upsert(webhooks).values(row)
                connection.execute(
                    command.on_conflict_do_update(index_elements=["id"], set_=changed)
                )
        return gone

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> list[Delivery]:
        """Up to ``limit`` deliveries whose time has come, those due for the longest time first.

        ``excluding`` are ids of webhooks to leave out.
        """
        query = (
            _DELIVERIES.where(deliveries.c.status == "pending", deliveries.c.next_attempt_at <= now)
            .order_by(deliveries.c.next_attempt_at, deliveries.c.id)
            .limit(limit)
        )
        if excluding:
            query = query.where(deliveries.c.webhook_id.not_in(excluding))
        with translating("cannot read the outbox"), self._database.connect() as connection:
            return [_delivery(row) for row in connection.execute(query)]

    def delivered(self, delivery_id: int) -> None:
        """Mark a delivery as received; for a report, remove it."""
        this = deliveries.c.id == delivery_id
        done = {"status": "delivered", "next_attempt_at": None, "last_error": None}
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(delete(deliveries).where(this, deliveries.c.alert_id.is_(None)))
            connection.execute(update(deliveries).where(this).values(done))

    def failed(self, delivery_id: int, error: str, next_attempt_at: datetime | None) -> None:
        """Record a failed attempt: try again at a time, or (None) never again."""
        self._set(
            delivery_id,
            attempts=deliveries.c.attempts + 1,
            status="pending" if next_attempt_at is not None else "dead",
            next_attempt_at=next_attempt_at,
            last_error=error.replace("\x00", "\ufffd"),
        )

    def _set(self, delivery_id: int, **values: object) -> None:
        command = update(deliveries).where(deliveries.c.id == delivery_id).values(values)
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(command)


_WEBHOOK_COLUMNS = tuple(
    webhooks.c[name].label(f"webhook_{name}")
    for name in ("id", "url", "secret", "created_at", "queries", "output")
)
_DELIVERIES = (
    select(
        deliveries.c.id,
        deliveries.c.attempts,
        deliveries.c.report_id,
        deliveries.c.report_query,
        deliveries.c.report_data,
        deliveries.c.reported_at,
        *ALERT_COLUMNS,
        *_WEBHOOK_COLUMNS,
    )
    .outerjoin(alerts, alerts.c.id == deliveries.c.alert_id)
    .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
)


def _webhook(row: Row[*tuple[Any, ...]]) -> Webhook:
    return Webhook(
        row.webhook_id,
        row.webhook_url,
        row.webhook_secret,
        row.webhook_created_at,
        tuple(row.webhook_queries),
        row.webhook_output,
    )


def _delivery(row: Row[*tuple[Any, ...]]) -> Delivery:
    if row.report_id is None:
        return Delivery(row.id, raised_alert(row), _webhook(row), row.attempts)
    report = KeptReport(row.report_id, row.report_query, row.report_data, row.reported_at)
    return Delivery(row.id, report, _webhook(row), row.attempts)
