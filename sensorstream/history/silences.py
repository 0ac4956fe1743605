"""Silences: what they hold back, and what is told when they end."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from sensorstream.history.event_head import last_event
from sensorstream.history.flapping import is_flapping


def is_silenced(incident: str, now: str = ":now") -> str:
    """The condition of SQL that a silence is about an incident at the time ``now``."""
    return f"""exists (
      select from store.silences s
      where s.starts_at <= {now} and s.ends_at > {now} and {_matches(incident)}
    )"""


def end_silences(connection: Connection, now: datetime) -> int:
    """Tell receivers of what silences that have ended held back, and is open still.

    What another silence is about waits for its end.

    Returns:
        How many alerts are told.
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
# The last alert of each: had another come after the silence, it would have been told.
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
