"""Storage of webhooks, outputs, and the log of their deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, TextClause, case, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from sensorstream.alerts.alert_records import LoggedDelivery, Webhook, WebhookState
from sensorstream.errors import UnknownDelivery, UnknownWebhook
from sensorstream.history.database import record, rows_of, translating
from sensorstream.history.incidents import end_of_system, last_event
from sensorstream.history.tables import alert_changes, alert_groups, deliveries, webhooks
from sensorstream.journal.notice import WEBHOOK_DISABLED
from sensorstream.model.webhook_definition import Grouping


class PostgresWebhooks:
    """The webhooks. Safe to use from several threads; every method is one transaction.

    Enabling or removing a webhook also ends the alert that it is disabled. All methods raise
    HistoryError when the database fails; those that name a webhook or a delivery raise
    UnknownWebhook or UnknownDelivery if there is none.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def put(self, webhook: Webhook, change: int) -> None:
        """Deliver all alerts stored from now on to this webhook, and the reports of its queries.

        An existing webhook of this id keeps its secret; another URL makes it enabled. ``change`` is
        the number of the journal's entry that puts it, ``webhook.created_at`` the time of that.
        """
        with translating("cannot store the webhook"), self._database.begin() as connection:
            last = last_event(connection)
            before = connection.execute(
                select(*(webhooks.c[name] for name in _KIND)).where(webhooks.c.id == webhook.id)
            ).first()
            row = {**_row(webhook), "change": change, "place": last}
            if before is not None and before != tuple(row[name] for name in _KIND):
                # Earlier events were for the webhook as it was before.
                set_aside(connection, webhook.id)
            if before is None or before.group_by != row["group_by"]:
                connection.execute(
                    delete(alert_groups).where(alert_groups.c.webhook_id == webhook.id)
                )
                row["grouped"] = func.coalesce(_LAST_CHANGE, 0)
            command = upsert(webhooks).values(row)
            new = command.excluded
            same = webhooks.c.url == new.url
            changed = {
                **{name: new[name] for name in row if name not in _KEPT},
                **{
                    name: case((same, webhooks.c[name]))
                    for name in ("disabled_at", "disabled_from", "failing_since")
                },
            }
            connection.execute(
                command.on_conflict_do_update(
                    index_elements=["id"], set_=changed, where=~webhooks.c.output
                )
            )
            enabled = select(webhooks.c.disabled_at.is_(None)).where(webhooks.c.id == webhook.id)
            if connection.execute(enabled).scalar_one():
                end_of_system(connection, webhook.id, "it is enabled", webhook.created_at)

    def changes(self) -> dict[str, int]:
        """The number of the entry that last put each webhook; 0: none did."""
        query = select(webhooks.c.id, webhooks.c.change).where(~webhooks.c.output)
        rows = rows_of(self._database, "cannot read the webhooks", query)
        return {row.id: row.change or 0 for row in rows}

    def all(self) -> list[WebhookState]:
        """The webhooks, in the order of registration."""
        return self._states(None)

    def one(self, webhook_id: str) -> WebhookState:
        """The webhook with an id."""
        found = self._states(_storable(webhook_id))
        if not found:
            raise _unknown(webhook_id)
        return found[0]

    def delete(self, webhook_id: str, now: datetime) -> None:
        """Remove a webhook and all its deliveries."""
        named = webhooks.c.id == _storable(webhook_id)
        command = delete(webhooks).where(named, ~webhooks.c.output)
        with translating("cannot delete the webhook"), self._database.begin() as connection:
            last_event(connection)
            if not connection.execute(command).rowcount:
                raise _unknown(webhook_id)
            end_of_system(connection, webhook_id, "it is removed", now)

    def enable(self, webhook_id: str, now: datetime) -> None:
        """Deliver to a webhook again; waiting deliveries are sent."""
        values = {"disabled_at": None, "disabled_from": None, "failing_since": None}
        with translating("cannot change the webhook"), self._database.begin() as connection:
            last_event(connection)
            set_aside(connection, _storable(webhook_id))
            _change(connection, webhook_id, values)
            end_of_system(connection, webhook_id, "it is enabled", now)

    def end_stale_alerts(self, now: datetime) -> None:
        """End alerts about disabled webhooks that are enabled: the server was killed in between."""
        with translating("cannot read the webhooks"), self._database.begin() as connection:
            last_event(connection)
            stale = connection.execute(_STALE, {"kind": WEBHOOK_DISABLED}).scalars().all()
            for webhook_id in stale:
                end_of_system(connection, webhook_id, "it is not disabled", now)

    def rotate(self, webhook_id: str, secret: str, until: datetime) -> None:
        """Sign with a new secret; the present one also signs, until ``until``."""
        values = {"old_secret": webhooks.c.secret, "old_until": until, "secret": secret}
        with translating("cannot change the webhook"), self._database.begin() as connection:
            _change(connection, webhook_id, values)

    def log(
        self, webhook_id: str, state: str | None, limit: int, before: int | None = None
    ) -> list[LoggedDelivery]:
        """Up to ``limit`` deliveries of a webhook with an id below ``before``, newest first."""
        self.one(webhook_id)
        values = {"id": webhook_id, "state": state, "before": before, "limit": limit}
        return logged_deliveries(self._database, _PAGE, values)

    def resend(self, delivery_id: int, now: datetime) -> LoggedDelivery:
        """Make a delivery due now, whatever its state."""
        number = delivery_id & NUMBERS
        named = select(webhooks.c.id).where(webhooks.c.number == number, ~webhooks.c.output)
        command = (
            update(deliveries)
            .where(deliveries.c.id == delivery_id)
            .values(status="pending", attempts=0, next_attempt_at=now)
        )
        with translating("cannot write the outbox"), self._database.begin() as connection:
            last_event(connection)
            webhook_id = connection.execute(named).scalar()
            if webhook_id is not None:
                set_aside(connection, webhook_id)
            if webhook_id is None or not connection.execute(command).rowcount:
                raise UnknownDelivery(f"there is no delivery {delivery_id}")
            return _logged(connection.execute(_LOGGED_ONE, {"id": delivery_id}).one())

    def recover(self, webhook_id: str, since: datetime, until: datetime, now: datetime) -> int:
        """Make all dead deliveries of events in ``[since, until)`` due now; return their number."""
        self.one(webhook_id)
        with translating("cannot write the outbox"), self._database.begin() as connection:
            last_event(connection)
            set_aside(connection, webhook_id)
            values = {"id": webhook_id, "since": since, "until": until, "now": now}
            return connection.execute(_RECOVER, values).rowcount

    def set_outputs(self, outputs: Sequence[Webhook]) -> dict[str, int]:
        """Replace all outputs by these: later events are delivered to them.

        Returns the ids of the removed ones, each with the number of its dropped deliveries.
        """
        kept = {"ids": [each.id for each in outputs]}
        with translating("cannot store the outputs"), self._database.begin() as connection:
            last = last_event(connection)
            gone = {row[0]: int(row[1]) for row in connection.execute(_WAITING, kept)}
            connection.execute(delete(webhooks).where(webhooks.c.id.in_(gone)))
            asked = select(webhooks.c.id, webhooks.c.queries, webhooks.c.changes)
            there = connection.execute(asked.where(webhooks.c.output))
            before = {row.id: (row.queries, row.changes) for row in there}
            for each in outputs:
                wanted = (list(each.queries), each.changes)
                if before.get(each.id, wanted) != wanted:
                    set_aside(connection, each.id)
                changed = {"queries": wanted[0], "changes": wanted[1]}
                changed |= {"url": each.url, "format": each.format}
                command = upsert(webhooks).values({**_row(each), "output": True, "place": last})
                connection.execute(
                    command.on_conflict_do_update(index_elements=["id"], set_=changed)
                )
        return gone

    def _states(self, webhook_id: str | None) -> list[WebhookState]:
        return [
            WebhookState(
                webhook_of(row),
                row.disabled_at,
                row.failing_since,
                None if row.id is None else _logged(row),
            )
            for row in rows_of(
                self._database, "cannot read the webhooks", _STATES, {"id": webhook_id}
            )
        ]


NUMBERS: Final = (1 << 20) - 1
"""The part of a delivery's id that is the number of its webhook; the rest is that of the event."""


def set_aside(connection: Connection, webhook_id: str) -> None:
    """Store each missing delivery of a webhook, and move its place to the last event.

    :func:`last_event` must be called before.
    """
    values = {"id": webhook_id}
    connection.execute(_SET_ASIDE, values)
    connection.execute(_TO_THE_END, values)


def _change(connection: Connection, webhook_id: str, values: Mapping[str, object]) -> None:
    named = webhooks.c.id == _storable(webhook_id)
    command = update(webhooks).where(named, ~webhooks.c.output).values(values)
    if not connection.execute(command).rowcount:
        raise _unknown(webhook_id)


_KIND: Final = ("url", "queries", "changes", "group_by", "escalated")
"""The fields that make a webhook another one: earlier events are then not followed up."""
_KEPT: Final = frozenset(
    ("id", "secret", "created_at", "number", "place", "output", "old_secret", "old_until")
)
"""The fields that no change of a webhook sets."""
_LAST_CHANGE: Final = select(func.max(alert_changes.c.seq)).scalar_subquery()
_GROUP: Final = ("group_by", "group_wait", "group_interval")
_PLAIN: Final = tuple(each.name for each in fields(Webhook) if each.name != "group")
WEBHOOK: Final = ", ".join(f"w.{name} as webhook_{name}" for name in (*_PLAIN, *_GROUP))
"""The columns of SQL of a webhook, from ``store.webhooks w``."""


def logged_deliveries(
    database: Engine, query: TextClause, values: Mapping[str, object]
) -> list[LoggedDelivery]:
    """Deliveries to webhooks, by a query of them."""
    return [_logged(row) for row in rows_of(database, "cannot read the deliveries", query, values)]


_LOGGED: Final = """
    o.id, o.report_query, coalesce(
      o.alert_id, o.report_id,
      (select c.incident || '.' || c.seq from store.alert_changes c where c.seq = o.change),
      case when o.group_data is not null then 'group-' || o.event end
    ) as event_id, o.raised_at, o.status, o.attempts, o.next_attempt_at, o.attempted_at, o.seconds,
    o.answered, o.answer, o.last_error
"""
_LOG: Final = f"select o.webhook_id, {_LOGGED} from store.outbox o"
_PAGE: Final = text(
    f"""
    {_LOG}
    where o.webhook_id = :id and o.id < coalesce(:before, {2**63 - 1})
      and (cast(:state as text) is null or o.status = :state)
    order by o.id desc limit :limit
    """
)
_LOGGED_ONE: Final = text(f"{_LOG} where o.id = :id")
OF_ALERTS: Final = text(
    f"""
    {_LOG} join store.webhooks w on w.id = o.webhook_id
    where o.alert_id = any(cast(:ids as text[])) and not w.output order by o.id
    """
)
_STATES: Final = text(
    f"""
    select w.disabled_at, w.failing_since, {WEBHOOK}, last.*
    from store.webhooks w left join lateral (
      select {_LOGGED} from store.outbox o
      where o.webhook_id = w.id and o.attempted_at is not null
      order by o.attempted_at desc limit 1
    ) last on true
    where not w.output and w.id = coalesce(:id, w.id) order by w.created_at, w.id
    """
)
_WAITING: Final = text(
    """
    select w.id, (
      select count(*) from store.outbox o where o.webhook_id = w.id and o.status = 'pending'
    ) from store.webhooks w where w.output and w.id <> all(cast(:ids as text[]))
    """
)
_STALE: Final = text(
    """
    select key from store.incidents i
    where state <> 'cleared' and kind = :kind and rule = '' and not exists (
      select from store.webhooks w where w.id = i.key and w.disabled_at is not null
    )
    """
)
_RECOVER: Final = text(
    """
    update store.deliveries d set status = 'pending', attempts = 0, next_attempt_at = :now
    from store.events e
    where e.seq = d.event and d.webhook_id = :id and d.status = 'dead'
      and e.raised_at >= :since and e.raised_at < :until
    """
)
_SET_ASIDE: Final = text(
    """
    insert into store.deliveries (id, event, webhook_id, status, next_attempt_at, last_error)
    select o.id, o.event, o.webhook_id, o.status, o.next_attempt_at, o.last_error
    from store.outbox o join store.webhooks w on w.id = o.webhook_id
    where o.webhook_id = :id and o.event > w.place
    """
)
_TO_THE_END: Final = text(
    "update store.webhooks set place = last from store.event_head where id = :id"
)
_FREE_NUMBER: Final = (
    select(func.min(text("n")))
    .select_from(text("generate_series(1, (select count(*) from store.webhooks) + 1) as free (n)"))
    .where(text("not exists (select from store.webhooks t where t.number = free.n)"))
    .scalar_subquery()
)


def _row(webhook: Webhook) -> dict[str, Any]:
    group = webhook.group
    told = (None, None, None) if group is None else (list(group.by), group.wait, group.interval)
    return {
        **{name: getattr(webhook, name) for name in _PLAIN},
        "queries": list(webhook.queries),
        **dict(zip(_GROUP, told, strict=True)),
        "number": _FREE_NUMBER,
    }


def webhook_of(row: Row[*tuple[Any, ...]]) -> Webhook:
    """A webhook from a row with the columns of :data:`WEBHOOK`."""
    by, wait, interval = (getattr(row, f"webhook_{name}") for name in _GROUP)
    told = {name: getattr(row, f"webhook_{name}") for name in _PLAIN}
    told["queries"] = tuple(told["queries"])
    return Webhook(**told, group=None if by is None else Grouping(tuple(by), wait, interval))


def _logged(row: Row[*tuple[Any, ...]]) -> LoggedDelivery:
    return record(
        LoggedDelivery,
        row,
        query=row.report_query,
        state=row.status,
        status=row.answered,
        error=row.last_error,
    )


def _storable(webhook_id: str) -> str:
    """The id in a form that PostgreSQL can be asked for."""
    if "\x00" in webhook_id:
        raise _unknown(webhook_id)
    return webhook_id


def _unknown(webhook_id: str) -> UnknownWebhook:
    return UnknownWebhook(f"there is no webhook '{webhook_id}'")
