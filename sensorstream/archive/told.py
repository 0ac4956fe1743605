"""What was told of an individual: alerts and what people said of them, reports, outcomes.

:func:`mark_told` puts what is to go into temporary tables, :func:`erase_told` deletes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sensorstream.alerts.records import text_of_pattern

if TYPE_CHECKING:
    from psycopg2 import extensions

GONE_ALERTS: Final = "gone_alerts"
GONE_EVENTS: Final = "gone_events"


def names(text: str, name: str) -> bool:
    """Whether a text names an IRI, and not only a longer one that begins like it."""
    return re.search(rf"{re.escape(name)}(?![\w/#?=&%~:@-]|\.\w)", text) is not None


def mark_told(cursor: extensions.cursor, name: str) -> None:
    """Mark what names an individual, and what the messages in ``gone_messages`` have raised.

    An open alert whose key names it, or of which a comment does, goes as a whole; else it loses
    those of its alerts that go.
    """
    _alerts(cursor, name)
    _incidents(cursor, name)
    cursor.execute("select id, rule, key, comment from store.silences")
    silences = (
        (id_, f"{text_of_pattern(rule)}\n{text_of_pattern(key)}\n{comment}")
        for id_, rule, key, comment in cursor.fetchall()
    )
    _mark(cursor, "gone_silences", "bigint", _named(silences, name))
    cursor.execute(
        "select seq, told from (select seq, coalesce(report_data, group_data) as told "
        "  from store.events) e where strpos(told, %s) > 0",
        (name,),
    )
    _mark(cursor, GONE_EVENTS, "bigint", _named(cursor.fetchall(), name))
    cursor.execute(
        "insert into gone_events "
        "select e.seq from store.events e join gone_alerts a on a.id = e.alert_id union "
        "select e.seq from store.events e join store.alert_changes c on c.seq = e.change "
        "join gone_incidents i on i.id = c.incident"
    )
    # Of messages that stay: a reply, a warning or a contradiction may name others.
    cursor.execute(
        "select seq, told from (select seq, "
        "  concat_ws(E'\\n', reason, contradiction::text, facts::text) as told "
        "  from store.messages) m "
        "where strpos(told, %s) > 0 and seq not in (select seq from gone_messages)",
        (name,),
    )
    _mark(cursor, "gone_outcomes", "bigint", _named(cursor.fetchall(), name))


def erase_told(cursor: extensions.cursor) -> None:
    """Delete what is marked; nothing refers to it any more."""
    cursor.execute(
        "delete from store.deliveries where event in (select seq from gone_events);"
        "delete from store.events where seq in (select seq from gone_events);"
        "delete from store.silences where id in (select id from gone_silences);"
        "update store.messages set reason = null, contradiction = null, facts = null "
        "where seq in (select id from gone_outcomes);"
        "update store.alerts set evidence = null where id in (select id from gone_evidence);"
        "delete from store.incidents where id in (select id from gone_incidents);"
        # Their labels may be its name.
        "delete from store.alert_groups g where not exists "
        "(select from store.alert_group_members m where m.group_id = g.id);"
        "update store.alerts set incident = null "
        "where incident in (select id from gone_incidents);"
        "delete from store.alerts where id in (select id from gone_alerts);"
        "update store.alert_changes set text = '' where seq in (select id from gone_texts);"
        # What is left of the others is as if the alerts that went had not been.
        "update store.incidents i set count = i.count - f.fewer, text = l.text, "
        "  severity = l.severity, last_time = l.time, last_at = l.raised_at, last_alert = l.id "
        "from fewer_alerts f cross join lateral ("
        "  select a.* from store.alerts a where a.incident = f.incident order by a.seq desc limit 1"
        ") l where i.id = f.incident"
    )


def _alerts(cursor: extensions.cursor, name: str) -> None:
    cursor.execute("select id, text || E'\\n' || key from store.alerts")
    _mark(cursor, GONE_ALERTS, "text", _named(cursor.fetchall(), name))
    cursor.execute(
        "insert into gone_alerts select a.id from store.alerts a "
        "join gone_messages g on a.message_id = 'm' || g.seq "
        "where a.id not in (select id from gone_alerts)"
    )
    cursor.execute("select id, evidence from store.alerts where strpos(evidence, %s) > 0", (name,))
    _mark(cursor, "gone_evidence", "text", _named(cursor.fetchall(), name))


def _incidents(cursor: extensions.cursor, name: str) -> None:
    cursor.execute(
        "select id, concat_ws(E'\\n', key, assignee, (select string_agg(c.text, E'\\n') "
        "  from store.alert_changes c where c.incident = i.id and c.change <> 'raised')) "
        "from store.incidents i"
    )
    _mark(cursor, "gone_incidents", "text", _named(cursor.fetchall(), name))
    cursor.execute(
        "create temporary table fewer_alerts on commit drop as "
        "select incident, count(*) as fewer from store.alerts "
        "where id in (select id from gone_alerts) and incident is not null group by incident;"
        "insert into gone_incidents select f.incident from fewer_alerts f where not exists ("
        "  select from store.alerts a where a.incident = f.incident "
        "  and a.id not in (select id from gone_alerts)) "
        "and f.incident not in (select id from gone_incidents);"
        "delete from fewer_alerts where incident in (select id from gone_incidents)"
    )
    # Its last alert was deleted before, by retention.
    cursor.execute(
        "select id, text from store.incidents where id not in "
        "(select incident from fewer_alerts union all select id from gone_incidents)"
    )
    cursor.execute(
        "insert into gone_incidents select unnest(%s::text[])", (_named(cursor.fetchall(), name),)
    )
    # A change has the text of the alert that it tells of.
    cursor.execute(
        "select seq, text from store.alert_changes "
        "where incident not in (select id from gone_incidents)"
    )
    _mark(cursor, "gone_texts", "bigint", _named(cursor.fetchall(), name))


def _named(texts: Iterable[tuple[object, str]], name: str) -> list[object]:
    return [id_ for id_, text in texts if names(text, name)]


def _mark(cursor: extensions.cursor, table: str, kind: str, ids: list[object]) -> None:
    column = "seq" if table == GONE_EVENTS else "id"
    cursor.execute(
        f"create temporary table {table} on commit drop as select unnest(%s::{kind}[]) as {column}",
        (ids,),
    )
