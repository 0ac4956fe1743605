"""What the store tells a pipeline that goes on where an earlier one has stopped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from psycopg2 import extensions

from sensorstream.engine import query_alerts
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant


def whole(cursor: extensions.cursor) -> bool:
    """Whether the journal still has all its entries: retention deletes the oldest."""
    cursor.execute("select coalesce(max(seq), 0) = count(*) from store.messages")
    return cursor.fetchone() == (True,)


def last_accepted(cursor: extensions.cursor, kind: str, upto: int) -> Message | None:
    """The last entry of a kind that was accepted, not after ``upto``; None: there is none."""
    cursor.execute(
        "select id, content, received, source from store.messages "
        "where kind = %s and status = 'accepted' and seq <= %s "
        "order by seq desc limit 1",
        (kind, upto),
    )
    row = cursor.fetchone()
    if row is None:
        return None
    name, content, received, source = row
    return Message(name, bytes(content), received, source)


def rejected(cursor: extensions.cursor, ids: Collection[str]) -> frozenset[str]:
    """Those of some messages that were rejected."""
    cursor.execute(
        "select id from store.messages where status = 'rejected' and id = any(%s)", (list(ids),)
    )
    return frozenset(row[0] for row in cursor)


def departed(cursor: extensions.cursor, stays: Collection[int]) -> frozenset[int]:
    """Those of some stays that have ended."""
    cursor.execute("select stay from store.stays where stay = any(%s)", (list(stays),))
    return frozenset(row[0] for row in cursor)


def told_until(cursor: extensions.cursor, message: str) -> Instant | None:
    """The last time for which the passing of time raised an alert after a message."""
    # The ids are those of sensorstream.engine.elapsing.
    cursor.execute(
        "select max(time) from store.alerts where message_id = %s and starts_with(id, %s)",
        (message, f"{message}-t"),
    )
    row = cursor.fetchone()
    return None if row is None else row[0]


def reported(cursor: extensions.cursor, entries: Collection[str]) -> Mapping[str, int]:
    """See :meth:`.Store.reported`."""
    cursor.execute(
        "select split_part(id, '-', 1), max(split_part(id, '-', 2)::bigint) from ("
        "  select id from store.alerts where kind = %(kind)s union all"
        "  select id from store.incidents where kind = %(kind)s union all"
        "  select report_id from store.events where report_id is not null"
        ") told (id) where split_part(id, '-', 1) = any(%(entries)s) group by 1",
        {"kind": query_alerts.KIND, "entries": list(entries)},
    )
    return dict(cursor.fetchall())


def last_moment(cursor: extensions.cursor) -> Instant | None:
    """The time at which an individual left the window last; None: none has. O(stays)."""
    cursor.execute("select max(expired_at) from store.stays")
    row = cursor.fetchone()
    return None if row is None else row[0]
