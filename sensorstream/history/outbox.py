"""The transactional outbox, as a dispatcher uses it.

:meth:`sensorstream.history.store.PostgresStore.commit` adds events, in the transaction that stores
their alerts and moves the watermark. An event is stored once for all receivers; a receiver has a
place among the events: those after it wait. A row for a receiver and an event is written when
delivery was tried, and the place moves on in the same transaction. A delivery that succeeds but is
not marked before a crash is sent again: receivers recognise its id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Engine, Row, TextClause, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from sensorstream.alerts.alert_records import (
    AlertChange,
    AlertGroup,
    Backlog,
    Delivery,
    KeptReport,
    Told,
)
from sensorstream.alerts.poster import Attempt
from sensorstream.history.database import record, rows_of, translating
from sensorstream.history.incidents import ALERT, end_of_system, last_event, raised_alert
from sensorstream.history.store_rows import text_of
from sensorstream.history.tables import deliveries, events, is_for, webhooks
from sensorstream.history.webhook_store import NUMBERS, WEBHOOK, webhook_of

_OF_ONE: Final = 20
"""Deliveries of a receiver that are taken at a time: a long backlog delays no other."""
_KEPT: Final = 1000
"""Delivered ones of a receiver in the log, for 7 days; older ones are deleted."""
_KEPT_FOR: Final = timedelta(days=7)


class PostgresOutbox:
    """An :class:`.Outbox`, which describes the methods; every one is a transaction."""

    def __init__(self, database: Engine) -> None:
        self._database = database

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> list[Delivery]:
        values = {"now": now, "limit": limit, "one": _OF_ONE, "busy": list(excluding)}
        return [_delivery(row) for row in self._rows(_DUE, values)]

    def latest(self) -> datetime | None:
        found: datetime | None
        ((found,),) = self._rows(_LATEST)
        return found

    def move_back(self, now: datetime, by: timedelta) -> None:
        with translating("cannot write the outbox"), self._database.begin() as connection:
            for command in _MOVE_BACK:
                connection.execute(command, {"now": now, "by": by})

    def delivered(self, came: Mapping[int, Attempt]) -> None:
        values = {
            "ids": list(came),
            "at": [each.at for each in came.values()],
            "seconds": [each.seconds for each in came.values()],
            "answered": [each.status for each in came.values()],
            "answers": [text_of(each.answer) for each in came.values()],
        }
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(_DELIVERED, values)

    def failed(
        self, delivery_id: int, attempt: Attempt, next_attempt_at: datetime | None
    ) -> datetime:
        return self._attempted(
            delivery_id,
            attempt,
            attempts=deliveries.c.attempts + 1,
            status="pending" if next_attempt_at is not None else "dead",
            next_attempt_at=next_attempt_at,
            last_error=_reason(attempt),
        )

    def put_off(self, delivery_id: int, attempt: Attempt) -> datetime:
        return self._attempted(delivery_id, attempt, last_error=_reason(attempt))

    def disable(self, receiver: str, now: datetime) -> None:
        """Stop deliveries to a receiver. If it was removed meanwhile, its alert ends."""
        with translating("cannot write the outbox"), self._database.begin() as connection:
            values = {"disabled_at": now, "disabled_from": last_event(connection)}
            command = update(webhooks).where(webhooks.c.id == receiver).values(values)
            if not connection.execute(command).rowcount:
                end_of_system(connection, receiver, "it is removed", now)

    def prune(self, now: datetime) -> None:
        """Delete old deliveries (a week, or beyond the newest thousand) and unneeded events."""
        values = {"kept": _KEPT, "oldest": now - _KEPT_FOR}
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(_PRUNE, values)
        with translating("cannot write the outbox"), self._database.begin() as connection:
            connection.execute(_PASS_BY)
            connection.execute(_PRUNE_EVENTS)

    def backlog(self) -> list[Backlog]:
        return [
            Backlog(row.id, row.disabled_at is None, row.failing_since, row.pending, row.oldest)
            for row in self._rows(_BACKLOG)
        ]

    def _rows(
        self, query: TextClause, values: Mapping[str, object] | None = None
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        return rows_of(self._database, "cannot read the outbox", query, values)

    def _attempted(self, delivery_id: int, attempt: Attempt, **values: object) -> datetime:
        """Store an attempt; the receiver's place moves past it."""
        event = delivery_id >> NUMBERS.bit_length()
        told = {
            "attempted_at": attempt.at,
            "seconds": attempt.seconds,
            "answered": attempt.status,
            "answer": text_of(attempt.answer),
            **values,
        }
        passed = {
            "number": delivery_id & NUMBERS,
            "event": event,
            "at": attempt.at if attempt.failure is not None else None,
        }
        due_at = select(events.c.due_at).where(events.c.seq == event).scalar_subquery()
        with translating("cannot write the outbox"), self._database.begin() as connection:
            receiver = connection.execute(_PASS, passed).first()
            if receiver is None:  # deleted meanwhile
                return attempt.at
            new = {
                "id": delivery_id,
                "event": event,
                "webhook_id": receiver.id,
                # A postponed delivery stays the first.
                "next_attempt_at": due_at,
                **told,
                "attempts": 1 if "attempts" in values else 0,
            }
            command = upsert(deliveries).values(new)
            connection.execute(command.on_conflict_do_update(index_elements=["id"], set_=told))
        return receiver.failing_since or attempt.at


# New events are taken in the order of their numbers, for the receiver's place passes all below.
# Their times may differ from this order: each was read before the transaction that gave the number.
_DUE: Final = text(
    f"""
    with taken as materialized (
      select w.number, each.* from store.webhooks w cross join lateral (
        select *, row_number() over (order by due_at, seq) as rank
        from (
          (select d.event as seq, d.attempts, d.next_attempt_at as due_at
          from store.deliveries d
          where d.webhook_id = w.id and d.status = 'pending' and d.next_attempt_at <= :now
          order by d.next_attempt_at, d.event limit :one)
          union all
          (select seq, 0, due_at
          from (
            select n.seq, max(n.due_at) over (order by n.seq) as due_at
            from store.events n
            where w.place < (select last from store.event_head) and n.seq > w.place
              and {is_for("n", "w")}
            order by n.seq limit :one
          ) next
          where due_at <= :now)
        ) tried_and_new
        order by due_at, seq limit :one
      ) each
      where w.disabled_at is null and w.id <> all(cast(:busy as text[]))
      order by rank, due_at, seq, number limit :limit
    )
    select e.seq as event, w.number, taken.attempts, e.report_id, e.report_query, e.report_data,
      e.group_data, e.raised_at as reported_at, e.change as change_seq, c.*,
      i.rule, i.kind, i.key, i.first_at,
      {ALERT}, {WEBHOOK}
    from taken join store.webhooks w on w.number = taken.number
    join store.events e on e.seq = taken.seq left join store.alerts a on a.id = e.alert_id
    left join store.alert_changes c on c.seq = e.change
    left join store.incidents i on i.id = c.incident
    order by taken.rank, taken.due_at, taken.seq, w.number
    """
)
_LATEST: Final = text(
    """
    select greatest(
      (select max(next_attempt_at) from store.deliveries
        where status = 'pending' and attempts = 0),
      (select max(due_at) from store.events
        where seq > (select min(place) from store.webhooks))
    )
    """
)
_MOVE_BACK: Final = (
    text(
        "update store.deliveries set next_attempt_at = next_attempt_at - :by "
        "where status = 'pending' and next_attempt_at > :now"
    ),
    text("update store.events set due_at = due_at - :by where due_at > :now"),
)
# The start of failures: this attempt unless an earlier one; for a success "at" is null.
_PASS: Final = text(
    """
    update store.webhooks set place = greatest(place, :event),
      failing_since = case when cast(:at as timestamptz) is not null
        then coalesce(failing_since, :at) end
    where number = :number returning id, failing_since
    """
)
# Receivers are locked in the order of their numbers, as for reports of groups, to avoid a deadlock,
# which would repeat deliveries.
_DELIVERED: Final = text(
    f"""
    with came as (
      select id, id & {NUMBERS} as number, id >> {NUMBERS.bit_length()} as event,
        at, seconds, answered, answer
      from unnest(
        cast(:ids as bigint[]), cast(:at as timestamptz[]), cast(:seconds as float8[]),
        cast(:answered as integer[]), cast(:answers as text[])
      ) as told (id, at, seconds, answered, answer)
    ), held as materialized (
      select number from store.webhooks where number in (select number from came)
      order by number for no key update
    ), passed as (
      update store.webhooks w set place = greatest(w.place, last.event), failing_since = null
      from (select number, max(event) as event from came join held using (number) group by number)
        last
      where w.number = last.number returning w.number, w.id
    )
    insert into store.deliveries
      (id, event, webhook_id, status, attempted_at, seconds, answered, answer)
    select c.id, c.event, p.id, 'delivered', c.at, c.seconds, c.answered, c.answer
    from came c join passed p using (number)
    on conflict (id) do update set status = excluded.status, next_attempt_at = null,
      last_error = null, attempted_at = excluded.attempted_at, seconds = excluded.seconds,
      answered = excluded.answered, answer = excluded.answer
    """
)
# Receivers without waiting deliveries, although there are new events: reports for others. A
# receiver that is locked now is moved the next time, so that two writers never wait for each other.
_PASS_BY: Final = text(
    f"""
    with idle as (
      select w.id from store.webhooks w, store.event_head h
      where w.place < h.last and w.disabled_at is null and not exists (
        select from store.events e where e.seq > w.place and {is_for("e", "w")}
      )
      for no key update of w skip locked
    )
    update store.webhooks w set place = greatest(w.place, h.last)
    from store.event_head h, idle where w.id = idle.id
    """
)
_PRUNE_EVENTS: Final = text(
    f"""
    delete from store.events e
    where not exists (select from store.deliveries d where d.event = e.seq)
      and case when e.report_query is null
        then not exists (
          select from store.webhooks w where w.place < e.seq and {is_for("e", "w")}
        )
        else not exists (
          select from store.webhooks w where w.place < e.seq and {is_for("e", "w")}
            and e.seq <= coalesce(w.disabled_from, e.seq)
        ) end
    """
)
# Computed once for each receiver: the planner would compute the bound again for each row of the
# log.
_PRUNE: Final = text(
    """
    with bounds as materialized (
      select w.id, greatest(:oldest, (
        select attempted_at from store.deliveries
        where webhook_id = w.id and status = 'delivered' and attempted_at is not null
        order by attempted_at desc offset :kept limit 1
      )) as bound
      from store.webhooks w
    )
    delete from store.deliveries d using bounds b
    where d.webhook_id = b.id and d.status = 'delivered' and d.attempted_at <= b.bound
    """
)
_BACKLOG: Final = text(
    """
    select w.id, w.disabled_at, w.failing_since, (
        select count(*) from store.deliveries d where d.webhook_id = w.id and d.status = 'pending'
      ) + case when w.place < h.last then (
        select count(*) from store.outbox o
        where o.webhook_id = w.id and o.event > w.place and o.status = 'pending'
      ) else 0 end as pending, (
        select o.raised_at from store.outbox o
        where o.webhook_id = w.id and o.status = 'pending' order by o.event limit 1
      ) as oldest
    from store.webhooks w, store.event_head h
    """
)


def _reason(attempt: Attempt) -> str:
    return "" if attempt.failure is None else text_of(attempt.failure.reason)


def _delivery(row: Row[*tuple[Any, ...]]) -> Delivery:
    told: Told
    if row.change_seq is not None:
        told = record(AlertChange, row)
    elif row.group_data is not None:
        told = AlertGroup(f"group-{row.event}", row.group_data, row.reported_at)
    elif row.report_id is not None:
        told = KeptReport(row.report_id, row.report_query, row.report_data, row.reported_at)
    else:
        told = raised_alert(row)
    id_ = row.event << NUMBERS.bit_length() | row.number
    return Delivery(id_, told, webhook_of(row), row.attempts)
