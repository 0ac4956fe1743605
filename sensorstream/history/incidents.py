"""Alerts, incidents and silences in the history.

Raising, repeating and clearing an alert is written with the effects of the entry that does so
(:mod:`sensorstream.history.routines`); so is the count of an alert's ends, by the wall time at
which their entries arrived. This module has the actions of people and of the wall clock, silences
(the alerts they hold back, the reports at their end), and flapping: an alert that is raised and
cleared again and again is reported as flapping once, and once when it has settled. The raised
alerts are read page by page. All readers raise :class:`.HistoryError` when the database fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, TextClause, select, text

from sensorstream.alerts.alert_records import (
    MOST_SAID,
    MOST_SILENCES,
    AlertChange,
    Incident,
    IncidentState,
    RaisedAlert,
    Silence,
    pattern_of,
    text_of_pattern,
)
from sensorstream.errors import AlertError, UnknownAlert, UnknownSilence
from sensorstream.history.database import record, rows_of, translating
from sensorstream.history.store_rows import text_of
from sensorstream.history.tables import alerts as table
from sensorstream.history.tables import event_head
from sensorstream.journal.notice import WEBHOOK_DISABLED
from sensorstream.journal.records import message_id
from sensorstream.model.events import Alert
from sensorstream.settings.settings import AlertSettings


def last_event(connection: Connection) -> int:
    """The number of the last event; none is added before the transaction ends."""
    found: int = connection.execute(select(event_head.c.last).with_for_update()).scalar_one()
    return found


_SET_DAMPING: Final = text("update store.event_head set flap_count = :count, flap_span = :span")


def set_damping(database: Engine, settings: AlertSettings) -> None:
    """Set the number of ends in a time span from which an alert flaps; below two: never.

    Raises HistoryError if the database fails.
    """
    count = settings.flap_count if settings.flap_count > 1 else 0
    values = {"count": count, "span": timedelta(minutes=settings.flap_span if count else 0)}
    with translating("cannot store the settings of alerts"), database.begin() as connection:
        connection.execute(_SET_DAMPING, values)


def is_flapping(incident: str) -> str:
    """The condition of SQL that an incident is of an alert that flaps."""
    return (
        "exists (select from store.flaps f "
        f"where f.identity = {incident}.identity and f.since is not null)"
    )


def identity_of(kind: str, rule: str, key: str) -> str:
    """The expression of SQL for the identity of an incident."""
    return f"sha256(convert_to({kind} || E'\\n' || {rule} || E'\\n' || {key}, 'UTF8'))"


# Alerts that neither ended nor began for the whole span.
SETTLED: Final = """
    select f.identity, coalesce(o.id, f.incident) as incident
    from store.event_head h, store.flaps f left join store.incidents o
      on o.identity = f.identity and o.state <> 'cleared'
    where f.since is not null and greatest(f.ends[1], o.first_at) <= :now - h.flap_span
    order by f.identity limit :limit
"""
SETTLE: Final = f"""
    delete from store.flaps f using ({SETTLED}) d join store.incidents i on i.id = d.incident
    where f.identity = d.identity
    returning i.id as incident, 'settled' as change, '' as by,
      case i.state when 'cleared' then 'it is cleared' else 'it is open' end as text,
      coalesce(i.escalated, i.severity) as severity, i.count
"""
_OVER: Final = "f.since is null and f.ends[1] <= :now - h.flap_span"
_OLD: Final = text(f"select 1 from store.flaps f, store.event_head h where {_OVER} limit 1")
_FORGET: Final = text(f"delete from store.flaps f using store.event_head h where {_OVER}")


def forget_ends(connection: Connection, values: dict[str, object]) -> None:
    """Delete the ends before the span of alerts that do not flap; ``now`` is in values."""
    if connection.execute(_OLD, values).first():
        # The writer changes these rows after it has locked this one.
        last_event(connection)
        connection.execute(_FORGET, values)


def is_silenced(incident: str, now: str = ":now") -> str:
    """The condition of SQL that a silence covers an incident at the time ``now``."""
    return f"""exists (
      select from store.silences s
      where s.starts_at <= {now} and s.ends_at > {now} and {_matches(incident)}
    )"""


def end_silences(connection: Connection, now: datetime) -> int:
    """Report alerts that ended silences held back and that are still open; return their number.

    Alerts that another silence covers wait for its end.
    """
    values = {"now": now}
    if connection.execute(_ENDED, values).first() is None:
        return 0
    last_event(connection)
    for command in (_HOLD, _DROP):
        connection.execute(command, values)
    return int(connection.execute(_FREE, values).scalar_one())


def _matches(incident: str) -> str:
    return f"""{incident}.key like coalesce(s.key, '%')
        and case when {incident}.rule = '' then {incident}.kind else {incident}.rule end
          like coalesce(s.rule, '%')
        and {incident}.severity = coalesce(s.severity, {incident}.severity)"""


_ENDED: Final = text(
    f"""
    select 1 from store.silences where ends_at <= :now
    union all
    select 1 from store.incidents i where i.held is not null and not {is_silenced("i")} limit 1
    """
)
# The last alert of each: one after the silence would have been reported.
_HOLD: Final = text(
    f"""
    update store.incidents i set held = i.last_alert
    from store.silences s
    where s.ends_at <= :now and i.state = 'open'
      and i.last_at >= s.starts_at and i.last_at < s.ends_at and {_matches("i")}
    """
)
_DROP: Final = text("delete from store.silences where ends_at <= :now")
_FREE: Final = text(
    f"""
    with held as (
      select i.id, i.seq, i.held from store.incidents i
      where i.held is not null and not {is_silenced("i")}
    ), freed as (
      update store.incidents i set held = null from held h where i.id = h.id
    ), told as (
      insert into store.events (seq, alert_id, raised_at, due_at)
        select e.last + row_number() over (order by h.seq), a.id, :now, :now
        from held h join store.incidents i on i.id = h.id
        join store.alerts a on a.id = h.held, store.event_head e
        where i.last_alert = h.held and i.state = 'open' and not {is_flapping("i")}
          and exists (select from store.webhooks)
        returning seq
    ), moved as (
      update store.event_head set last = last + (select count(*) from told)
    )
    select count(*) from told
    """
)


class PostgresIncidents:
    """The incidents. Safe to use from several threads; every method is one transaction.

    All of them raise :class:`.HistoryError` when the database fails; those that name an alert or a
    silence raise :class:`.UnknownAlert` or :class:`.UnknownSilence` if there is none.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def list(
        self, state: IncidentState | None, limit: int, before: int | None, now: datetime
    ) -> Sequence[Incident]:
        """Up to ``limit`` incidents with a ``seq`` below ``before``, the last opened first.

        ``state`` None: those that are not cleared.
        """
        values = {"state": state, "limit": limit, "before": before, "now": now}
        return [record(Incident, row) for row in self._rows(_LIST, values)]

    def one(self, alert: str, now: datetime) -> Incident:
        """The incident that an alert belongs to."""
        with translating("cannot read the alerts"), self._database.connect() as connection:
            return _one(connection, alert, now)

    def history(self, alert: str, limit: int, after: int, now: datetime) -> Sequence[AlertChange]:
        """Up to ``limit`` changes of an incident with a ``seq`` above one, oldest first."""
        with translating("cannot read the alerts"), self._database.connect() as connection:
            values = {"incident": _one(connection, alert, now).id, "after": after, "limit": limit}
            return [record(AlertChange, row) for row in connection.execute(_HISTORY, values)]

    def changes_after(self, seq: int, limit: int) -> Sequence[AlertChange]:
        """Up to ``limit`` changes of all incidents with a ``seq`` above one, oldest first."""
        rows = self._rows(_AFTER, {"after": seq, "limit": limit})
        return [record(AlertChange, row) for row in rows]

    def last_change(self) -> int:
        """The ``seq`` of the last change; 0: there is none."""
        ((found,),) = self._rows(text("select max(seq) from store.alert_changes"), {})
        return found or 0

    def acknowledge(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        """Acknowledge an incident; receivers are told once, even if others acknowledge it too."""
        return self._do(alert, "acknowledged", by, said, now)

    def clear(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        """Clear an incident: the next alert of its rule and key opens another."""
        return self._do(alert, "cleared", by, said, now)

    def comment(self, alert: str, by: str, said: str, now: datetime) -> Incident:
        """Add a comment to an incident."""
        return self._do(alert, "commented", by, said, now)

    def assign(self, alert: str, by: str, to: str, now: datetime) -> Incident:
        """Assign an incident to somebody; "": to nobody."""
        return self._do(alert, "assigned", by, to, now)

    def silences(self, now: datetime) -> Sequence[Silence]:
        """The silences that have not ended, in the order in which they were made."""
        query = text("select * from store.silences where ends_at > :now order by id")
        rows = rows_of(self._database, "cannot read the silences", query, {"now": now})
        return [_silence(row) for row in rows]

    def silence(self, wanted: Silence, now: datetime) -> Silence:
        """Begin a silence and give it an ``id``; raises AlertError if there are too many."""
        values = asdict(wanted) | {
            "rule": pattern_of(wanted.rule),
            "key": pattern_of(wanted.key),
            "by": text_of(wanted.by),
            "comment": text_of(wanted.comment),
        }
        with translating("cannot store the silence"), self._database.begin() as connection:
            last_event(connection)  # one at a time, so that they are counted
            there = text("select count(*) from store.silences where ends_at > :now")
            count = connection.execute(there, {"now": now}).scalar_one()
            if count >= MOST_SILENCES:
                raise AlertError(f"there are {MOST_SILENCES} silences already: end one first")
            return _silence(connection.execute(_SILENCE, values).one())

    def end_silence(self, silence: int, now: datetime) -> None:
        """End a silence, and report the open alerts that it held back."""
        command = text("update store.silences set ends_at = :now where id = :id and ends_at > :now")
        with translating("cannot end the silence"), self._database.begin() as connection:
            last_event(connection)
            if not connection.execute(command, {"id": silence, "now": now}).rowcount:
                raise UnknownSilence(f"there is no silence {silence}")
            end_silences(connection, now)

    def _rows(
        self, query: TextClause, values: Mapping[str, object]
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        return rows_of(self._database, "cannot read the alerts", query, values)

    def _do(self, alert: str, change: str, by: str, said: str, now: datetime) -> Incident:
        with translating("cannot change the alert"), self._database.begin() as connection:
            last = last_event(connection)
            incident = _one(connection, alert, now)
            if change in ("acknowledged", "cleared"):
                if incident.state == change:
                    return incident
                if incident.state == "cleared":
                    raise AlertError(
                        f"the alert '{incident.id}' is cleared: expected one that is not"
                    )
            values = {
                "id": incident.id,
                "change": change,
                "by": text_of(by),
                "text": text_of(said),
                "at": now,
                "last": last,
            }
            said_by_now = connection.execute(_SAID, values).scalar_one()
            if change in ("commented", "assigned") and said_by_now >= MOST_SAID:
                raise AlertError(
                    f"the alert '{incident.id}' has {MOST_SAID} comments and assignments already: "
                    "no more are kept"
                )
            if change in _SET:
                connection.execute(_SET[change], values)
            tell(connection, _CHANGED, values)
            return _one(connection, incident.id, now)


def tell(connection: Connection, changed: str, values: Mapping[str, object]) -> int:
    """Store changes of incidents, and tell receivers of them; return their number.

    ``changed`` selects the columns of the changes; ``values`` are its parameters, and ``at``, the
    wall time. :func:`.last_event` must be called before, with no report since.
    """
    found = connection.execute(text(_TELL.format(changed=changed)), values).one()
    return int(found.changes)


def end_of_system(connection: Connection, webhook: str, said: str, now: datetime) -> None:
    """End the open alert that a webhook is disabled, if there is one.

    :func:`.last_event` must be called before.
    """
    values = {"kind": WEBHOOK_DISABLED, "key": text_of(webhook), "text": said, "at": now}
    tell(connection, _END_OF_SYSTEM, values)


SHOWN: Final = f"i.*, {is_silenced('i')} as silenced, {is_flapping('i')} as flapping"
"""The columns of SQL of an :class:`.Incident`, from ``store.incidents i``, at the time ``:now``."""
_INCIDENT: Final = f"select {SHOWN} from store.incidents i"
_LIST: Final = text(
    f"""
    {_INCIDENT}
    where case when cast(:state as text) is null then i.state <> 'cleared' else i.state = :state end
      and i.seq < coalesce(:before, {2**63 - 1})
    order by i.seq desc limit :limit
    """
)
_ONE: Final = text(
    f"""
    {_INCIDENT}
    where i.id = :alert or i.id = (select incident from store.alerts where id = :alert)
    """
)
_CHANGE: Final = """
    select c.*, i.rule, i.kind, i.key, i.first_at
    from store.alert_changes c join store.incidents i on i.id = c.incident
"""
_HISTORY: Final = text(
    f"{_CHANGE} where c.incident = :incident and c.seq > :after order by c.seq limit :limit"
)
_AFTER: Final = text(f"{_CHANGE} where c.seq > :after order by c.seq limit :limit")
_SAID: Final = text(
    "select count(*) from store.alert_changes "
    "where incident = :id and change in ('commented', 'assigned')"
)
_SET: Final = {
    "acknowledged": text(
        "update store.incidents set state = 'acknowledged', acknowledged_by = :by, "
        "acknowledged_at = :at where id = :id"
    ),
    "cleared": text(
        "update store.incidents set state = 'cleared', cleared_at = :at where id = :id"
    ),
    "assigned": text("update store.incidents set assignee = nullif(:text, '') where id = :id"),
}
_CHANGED: Final = """
    select id as incident, :change as change, :by as by, :text as text, severity, count
    from store.incidents where id = :id
"""
_END_OF_SYSTEM: Final = f"""
    update store.incidents set state = 'cleared', cleared_at = :at
    where state <> 'cleared' and identity = {identity_of(":kind", "''", ":key")}
    returning id as incident, 'cleared' as change, '' as by, :text as text, severity, count
"""
# Flapping is reported to all receivers, because it replaces the changes of state.
_TELL: Final = f"""
    with changed as ({{changed}}), told as (
      insert into store.alert_changes (incident, change, at, by, text, severity, count)
        select incident, change, :at, by, text, severity, count from changed order by incident
        returning seq, incident, change
    ), sent as (
      insert into store.events (seq, change, said, escalated, raised_at, due_at)
        select h.last + row_number() over (order by t.seq), t.seq, t.change,
          t.change = 'escalated' or i.escalated is not null, :at, :at
        from told t join store.incidents i on i.id = t.incident, store.event_head h
        where case when t.change = 'settled'
          then exists (select from store.webhooks) and not {is_silenced("i", ":at")}
          else exists (select from store.webhooks where changes or escalated) end
        returning seq
    ), moved as (
      update store.event_head set last = last + (select count(*) from sent)
    )
    select count(*) as changes from told
"""
_SILENCE: Final = text(
    "insert into store.silences (rule, key, severity, starts_at, ends_at, by, comment) "
    "values (:rule, :key, :severity, :starts_at, :ends_at, :by, :comment) returning *"
)


def _one(connection: Connection, alert: str, now: datetime) -> Incident:
    asked = {"alert": alert, "now": now}
    row = None if "\x00" in alert else connection.execute(_ONE, asked).first()
    if row is None:
        raise UnknownAlert(f"there is no alert '{alert}': expected the 'id' of one in the list")
    return record(Incident, row)


def _silence(row: Row[*tuple[Any, ...]]) -> Silence:
    return record(Silence, row, rule=text_of_pattern(row.rule), key=text_of_pattern(row.key))


def raised_alert(row: Row[*tuple[Any, ...]]) -> RaisedAlert:
    """The alert in a row with the columns of :data:`ALERT`."""
    alert = Alert(
        id=row.alert_id,
        rule=row.alert_rule,
        kind=row.alert_kind,
        severity=row.alert_severity,
        text=row.alert_text,
        key=row.alert_key,
        time=row.alert_time,
        message=row.alert_message_id,
        messages=tuple(map(message_id, row.alert_messages)),
    )
    return RaisedAlert(row.alert_seq, alert, row.alert_raised_at)


ALERT: Final = ", ".join(
    f"a.{each.name} as alert_{each.name}" for each in table.c if each.name != "evidence"
)
"""The columns of SQL of a raised alert, from ``store.alerts a``."""
