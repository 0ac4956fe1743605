"""The effects of the wall clock on incidents; all state is in the database, so restarts are safe.

Reminders, escalation and the end of old ones come first, then groups of alerts. Groups learn of
changes of incidents by their numbers, never of single alerts: the number of messages that repeat an
alert costs nothing here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, text

from sensorstream.alerts.alert_formats import MOST_TOLD, AlertsOfGroup, group_json
from sensorstream.alerts.alert_records import Incident
from sensorstream.history.database import record, translating
from sensorstream.history.incidents import (
    SETTLE,
    SETTLED,
    SHOWN,
    end_silences,
    forget_ends,
    is_flapping,
    is_silenced,
    last_event,
    tell,
)
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import AlertSettings

_AT_ONCE: Final = 1000
"""The most incidents that a call changes; the next call continues."""


def tend(database: Engine, settings: AlertSettings, now: datetime) -> int:
    """Do what is due; return the number of incidents changed or reported again.

    Raises HistoryError if the database fails.
    """
    remind = {
        "info": settings.remind_info or settings.remind_every,
        "warning": settings.remind_warning or settings.remind_every,
        "critical": settings.remind_critical or settings.remind_every,
    }
    values = {
        "now": now,
        "at": now,
        "most": settings.most_open,
        "limit": _AT_ONCE,
        "clear": timedelta(days=settings.clear_after),
        "cleared": f"no repeat in {settings.clear_after:g} days",
        "crowded": f"more than {settings.most_open} alerts are open",
        **{f"remind_{name}": timedelta(minutes=each) for name, each in remind.items()},
        "escalate": timedelta(minutes=settings.escalate_after),
    }
    steps = [_CROWDED, (SETTLED, SETTLE)]
    if settings.clear_after:
        steps.append(_OLD)
    if settings.escalate_after:
        steps.append(_ESCALATE)
    if any(remind.values()):
        steps.append(_REMIND)
    with translating("cannot tend the alerts"), database.begin() as connection:
        freed = end_silences(connection, now)
        forget_ends(connection, values)
        # Nothing is locked if nothing is due, because this runs often.
        due = [
            change
            for chosen, change in steps
            if connection.execute(text(f"select 1 from ({chosen}) due limit 1"), values).first()
        ]
        if due:
            last_event(connection)
        return freed + sum(tell(connection, each, values) for each in due)


def _step(chosen: str, change: str, told: str, set_: str) -> tuple[str, str]:
    """The query for incident ids, and the statement that changes these and selects the changes.

    ``told`` is the expression of the text of a change.
    """
    return (
        chosen,
        f"""
        update store.incidents set {set_} where id in ({chosen})
        returning id as incident, '{change}' as change, '' as by, {told} as text, severity, count
    """,
    )


_TELLABLE: Final = f"not {is_silenced('i')} and not {is_flapping('i')}"
_CLEAR: Final = "state = 'cleared', cleared_at = :at"
_OLD: Final = _step(
    "select id from store.incidents where state <> 'cleared' and last_at <= :now - :clear "
    "order by last_at limit :limit",
    "cleared",
    ":cleared",
    _CLEAR,
)
_CROWDED: Final = _step(
    "select id from store.incidents where state <> 'cleared' "
    "order by last_at desc, seq desc offset :most limit :limit",
    "cleared",
    ":crowded",
    _CLEAR,
)
_ESCALATE: Final = _step(
    "select i.id from store.incidents i "
    "where i.state = 'open' and i.escalated is null "
    f"and i.first_at <= :now - :escalate and {_TELLABLE} order by i.seq limit :limit",
    "escalated",
    "escalated",
    "escalated = case severity when 'info' then 'warning' else 'critical' end",
)
# Null without reminders, and so are comparisons with it.
_EVERY: Final = (
    "nullif(case coalesce(i.escalated, i.severity) when 'info' then cast(:remind_info as interval) "
    "when 'warning' then :remind_warning else :remind_critical end, interval '0')"
)
# A reminder in the future is from before the clock was set back.
_REMIND: Final = _step(
    "select i.id from store.incidents i where i.state = 'open' and "
    f"(coalesce(i.reminded_at, i.first_at) <= :now - {_EVERY} "
    f"or i.reminded_at > :now and {_EVERY} is not null) and {_TELLABLE} "
    "order by i.seq limit :limit",
    "reminded",
    "text",
    "reminded_at = :at, reminders = reminders + 1",
)


_LEARNED_AT_ONCE: Final = 10_000
"""The most changes that groups learn in a call, and groups reported; the next call continues."""


def tell_groups(database: Engine, timeline: Timeline, now: datetime) -> int:
    """Tell webhooks of their groups whose time has come; return the number of groups.

    Raises HistoryError if the database fails.
    """
    values = {"now": now, "limit": _LEARNED_AT_ONCE}
    with translating("cannot group the alerts"), database.begin() as connection:
        if not connection.execute(_GROUPED).first():
            return 0
        last = last_event(connection)
        # Read again, because putting a webhook locks the same row.
        for webhook in connection.execute(_GROUPED).all():
            _learn(connection, webhook, now)
        connection.execute(_DROP_UNTOLD)
        due = connection.execute(_DUE, values).all()
        for number, group in enumerate(due, last + 1):
            _tell(connection, number, group, timeline, now)
        connection.execute(_DROP_EMPTY)
        connection.execute(_MOVE, {"last": last + len(due)})
    return len(due)


def _learn(connection: Connection, webhook: Row[*tuple[Any, ...]], now: datetime) -> None:
    values = {
        "after": webhook.grouped,
        "limit": _LEARNED_AT_ONCE,
        "webhook": webhook.id,
        "now": now,
    }
    upto = connection.execute(_UPTO, values).scalar()
    if upto is None:
        return
    asked = {"changes": webhook.changes, "by": webhook.group_by, "escalated": webhook.escalated}
    values |= {"upto": upto, **asked}
    for command in (_CHANGED, _MAKE, _ENTER, _LEARNED):
        connection.execute(command, values)


def _tell(
    connection: Connection,
    number: int,
    group: Row[*tuple[Any, ...]],
    timeline: Timeline,
    now: datetime,
) -> None:
    values = {"group": group.id, "now": now, "most": MOST_TOLD}
    members = connection.execute(_MEMBERS, values).all()
    cleared = members[0].ended
    told = [record(Incident, each) for each in members]
    state = AlertsOfGroup(group.labels, told, members[0].all - cleared, cleared)
    values |= {"seq": number, "receiver": group.webhook_id, "data": group_json(state, timeline)}
    for command in (_TOLD, _LEAVE, _TOLD_AT, _SEND):
        connection.execute(command, values)


_GROUPED: Final = text(
    "select id, group_by, changes, escalated, grouped from store.webhooks "
    "where group_by is not null and disabled_at is null order by number"
)
_UPTO: Final = text(
    "select max(seq) from (select seq from store.alert_changes where seq > :after "
    "order by seq limit :limit) fresh"
)
_HEARD: Final = """
    select distinct c.incident from store.alert_changes c
    where c.seq > :after and c.seq <= :upto
      and (:changes or c.change in ('raised', 'cleared', 'escalated', 'flapping', 'settled'))
"""
_OF_WEBHOOK: Final = "select id from store.alert_groups where webhook_id = :webhook"
_CHANGED: Final = text(
    "update store.alert_group_members set state = 'changed' where state = 'told' "
    f"and group_id in ({_OF_WEBHOOK}) and incident in ({_HEARD})"
)
# An incident stays in its group, also when its severity changes.
_NEW: Final = f"""
    select i.id, l.labels, sha256(convert_to(l.labels::text, 'UTF8')) as digest
    from store.incidents i cross join lateral (
      select coalesce(jsonb_object_agg(name, case name when 'rule' then i.rule
        when 'kind' then i.kind when 'key' then i.key
        else coalesce(i.escalated, i.severity) end), '{{}}') as labels
      from unnest(cast(:by as text[])) name
    ) l
    where i.state <> 'cleared' and (not :escalated or i.escalated is not null)
      and i.id in ({_HEARD}) and not exists (
      select from store.alert_group_members m
      where m.incident = i.id and m.group_id in ({_OF_WEBHOOK})
    )
"""
_MAKE: Final = text(
    "insert into store.alert_groups (webhook_id, digest, labels, made_at) "
    f"select distinct :webhook, digest, labels, cast(:now as timestamptz) from ({_NEW}) new "
    "on conflict do nothing"
)
_ENTER: Final = text(
    "insert into store.alert_group_members (incident, group_id) "
    f"select new.id, g.id from ({_NEW}) new join store.alert_groups g "
    "on g.webhook_id = :webhook and g.digest = new.digest"
)
_LEARNED: Final = text("update store.webhooks set grouped = :upto where id = :webhook")
# An incident that came and went before its group was reported is not reported.
_DROP_UNTOLD: Final = text(
    "delete from store.alert_group_members m using store.incidents i "
    "where m.state = 'new' and i.id = m.incident and i.state = 'cleared'"
)
_DROP_EMPTY: Final = text(
    "delete from store.alert_groups g where not exists "
    "(select from store.alert_group_members m where m.group_id = g.id)"
)
_HEARABLE: Final = f"(i.state = 'cleared' or not {is_silenced('i')} and not {is_flapping('i')})"
# A report in the future is from before the clock was set back.
_DUE: Final = text(
    f"""
    select g.id, g.labels, g.webhook_id
    from store.alert_groups g join store.webhooks w on w.id = g.webhook_id
    where w.disabled_at is null and (
      coalesce(g.told_at, g.made_at) > :now
      or coalesce(g.told_at + w.group_interval * interval '1 second',
        g.made_at + w.group_wait * interval '1 second') <= :now
    ) and exists (
      select from store.alert_group_members m join store.incidents i on i.id = m.incident
      where m.group_id = g.id and m.state <> 'told' and {_HEARABLE}
    )
    order by g.id limit :limit
    """
)
# Unknown to the receiver first.
_MEMBERS: Final = text(
    f"""
    select {SHOWN}, count(*) over () as all,
      count(*) filter (where i.state = 'cleared') over () as ended
    from store.alert_group_members m join store.incidents i on i.id = m.incident
    where m.group_id = :group and {_HEARABLE}
    order by m.state = 'told', i.seq desc limit :most
    """
)
_TOLD: Final = text(
    "update store.alert_group_members m set state = 'told' from store.incidents i "
    f"where m.group_id = :group and i.id = m.incident and m.state <> 'told' and {_HEARABLE}"
)
_LEAVE: Final = text(
    "delete from store.alert_group_members m using store.incidents i "
    "where m.group_id = :group and i.id = m.incident and i.state = 'cleared'"
)
_TOLD_AT: Final = text("update store.alert_groups set told_at = :now where id = :group")
_SEND: Final = text(
    "insert into store.events (seq, receiver, group_data, raised_at, due_at) "
    "values (:seq, :receiver, :data, :now, :now)"
)
_MOVE: Final = text("update store.event_head set last = :last")
