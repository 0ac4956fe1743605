"""The outbox (transactional) as a dispatcher uses it.

:meth:`sensorstream.history.store.PostgresStore.commit` adds deliveries, in the transaction that
stores their alerts and moves the watermark; a dispatcher takes them from here. A delivery that
succeeds but is not marked before a crash is sent again: receivers recognise its id.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Engine, Row, func, select, text, true, update

from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.records import Backlog, Delivery, KeptReport
from sensorstream.history.alerts import ALERT_COLUMNS, raised_alert
from sensorstream.history.database import translating
from sensorstream.history.tables import alerts, deliveries, webhooks
from sensorstream.history.webhooks import WEBHOOK_COLUMNS, webhook_of

_OF_ONE: Final = 20
"""Deliveries of one receiver that are taken at a time."""
_KEPT: Final = 1000
_KEPT_FOR: Final = timedelta(days=7)
"""Of each receiver, the newest delivered ones stay in the log, for this long."""


class PostgresOutbox:
    """Safe to use from several threads; every method is one transaction. See :class:`.Outbox`.

    All of them raise :class:`~sensorstream.errors.HistoryError` when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> list[Delivery]:
        """Up to ``limit`` deliveries whose time has come: some of each receiver, in its order.

        Of two receivers one cannot take the place of the other, however much waits for it.
        """
        rank = func.row_number().over(order_by=(deliveries.c.next_attempt_at, deliveries.c.id))
        some = (
            select(deliveries, rank.label("rank"))
            .where(
                deliveries.c.webhook_id == webhooks.c.id,
                deliveries.c.status == "pending",
                deliveries.c.next_attempt_at <= now,
            )
            .order_by(deliveries.c.next_attempt_at, deliveries.c.id)
            .limit(_OF_ONE)
            .lateral("some")
        )
        query = (
            select(
                some.c.id,
                some.c.attempts,
                some.c.report_id,
                some.c.report_query,
                some.c.report_data,
                some.c.reported_at,
                *ALERT_COLUMNS,
                *WEBHOOK_COLUMNS,
            )
            .select_from(webhooks)
            .join(some, true())
            .outerjoin(alerts, alerts.c.id == some.c.alert_id)
            .where(webhooks.c.disabled_at.is_(None))
            .order_by(some.c.rank, some.c.next_attempt_at, some.c.id)
            .limit(limit)
        )
        if excluding:
            query = query.where(webhooks.c.id.not_in(excluding))
        with translating("cannot read the outbox"), self._database.connect() as connection:
            return [_delivery(row) for row in connection.execute(query)]

    def latest(self) -> datetime | None:
        """The latest time at which one that waits for its first attempt was added."""
        query = select(func.max(deliveries.c.next_attempt_at)).where(
            deliveries.c.status == "pending", deliveries.c.attempts == 0
        )
        with translating("cannot read the outbox"), self._database.connect() as connection:
            found: datetime | None = connection.execute(query).scalar()
        return found

    def move_back(self, now: datetime, by: timedelta) -> None:
        """The clock was set back by ``by``, to ``now``: what was to wait from then on waits as long
        as it was to."""
        command = (
            update(deliveries)
            .where(deliveries.c.status == "pending", deliveries.c.next_attempt_at > now)
            .values(next_attempt_at=deliveries.c.next_attempt_at - by)
        )
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(command)

    def delivered(self, delivery_id: int, attempt: Attempt) -> None:
        """Mark a delivery as received; its receiver does not fail any more."""
        self._attempted(
            delivery_id, attempt, "null", status="delivered", next_attempt_at=None, last_error=None
        )

    def failed(
        self, delivery_id: int, attempt: Attempt, next_attempt_at: datetime | None
    ) -> datetime:
        """Record a failed attempt: try again at a time, or (None) never again.

        Returns:
            Since when all attempts to reach the receiver have failed.
        """
        return self._attempted(
            delivery_id,
            attempt,
            "coalesce(w.failing_since, :at)",
            attempts=deliveries.c.attempts + 1,
            status="pending" if next_attempt_at is not None else "dead",
            next_attempt_at=next_attempt_at,
            last_error=_reason(attempt),
        )

    def put_off(self, delivery_id: int, attempt: Attempt) -> datetime:
        """Record an attempt that counts for the receiver alone; returns as :meth:`failed`."""
        return self._attempted(
            delivery_id, attempt, "coalesce(w.failing_since, :at)", last_error=_reason(attempt)
        )

    def disable(self, receiver: str, now: datetime) -> None:
        """Deliver to a receiver no more."""
        command = update(webhooks).where(webhooks.c.id == receiver).values(disabled_at=now)
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(command)

    def prune(self, now: datetime) -> None:
        """Forget delivered ones that are older than a week, or not of the newest thousand."""
        values = {"kept": _KEPT, "oldest": now - _KEPT_FOR}
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(_PRUNE, values)

    def backlog(self) -> list[Backlog]:
        """The state of each receiver and what waits for it."""
        with translating("cannot read the outbox"), self._database.connect() as connection:
            return [
                Backlog(row.id, row.disabled_at is None, row.failing_since, row.pending, row.oldest)
                for row in connection.execute(_BACKLOG)
            ]

    def _attempted(
        self, delivery_id: int, attempt: Attempt, failing_since: str, **values: object
    ) -> datetime:
        told = {
            "attempted_at": attempt.at,
            "seconds": attempt.seconds,
            "answered": attempt.status,
            "answer": _stored(attempt.answer),
        }
        command = (
            update(deliveries)
            .where(deliveries.c.id == delivery_id)
            .values(**told, **values)
            .returning(deliveries.c.webhook_id)
        )
        since = text(
            f"update store.webhooks w set failing_since = {failing_since} where id = :id "
            "and (failing_since is not null or :failed) returning failing_since"
        )
        with translating("cannot write the outbox"), self._database.begin() as connection:
            receiver = connection.execute(command).scalar()
            parameters = {"id": receiver, "failed": attempt.failure is not None}
            if ":at" in failing_since:
                parameters["at"] = attempt.at
            found = connection.execute(since, parameters).scalar()
        return attempt.at if found is None else found


_PRUNE: Final = text(
    """
    delete from store.deliveries d
    using (
      select w.id, greatest(:oldest, (
        select attempted_at from store.deliveries
        where webhook_id = w.id and status = 'delivered' and attempted_at is not null
        order by attempted_at desc offset :kept limit 1
      )) as bound
      from store.webhooks w
    ) b
    where d.webhook_id = b.id and d.status = 'delivered' and d.attempted_at <= b.bound
    """
)
_BACKLOG: Final = text(
    """
    select w.id, w.disabled_at, w.failing_since, (
        select count(*) from store.deliveries where webhook_id = w.id and status = 'pending'
      ) as pending, (
        select coalesce(a.raised_at, d.reported_at)
        from store.deliveries d left join store.alerts a on a.id = d.alert_id
        where d.webhook_id = w.id and d.status = 'pending' order by d.id limit 1
      ) as oldest
    from store.webhooks w
    """
)


def _reason(attempt: Attempt) -> str:
    return "" if attempt.failure is None else _stored(attempt.failure.reason)


def _stored(told: str) -> str:
    """A text without what PostgreSQL cannot store."""
    return told.replace("\x00", "\ufffd").encode(errors="replace").decode()


def _delivery(row: Row[*tuple[Any, ...]]) -> Delivery:
    if row.report_id is None:
        return Delivery(row.id, raised_alert(row), webhook_of(row), row.attempts)
    report = KeptReport(row.report_id, row.report_query, row.report_data, row.reported_at)
    return Delivery(row.id, report, webhook_of(row), row.attempts)
