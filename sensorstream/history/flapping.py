"""Alerts that are raised and cleared again and again: receivers are told once that they are.

The writer counts the ends of an alert, where the engine decides them, by the wall time at which
their entries arrived (:mod:`sensorstream.history.routines`); here is how it knows when that is too
often, and when an alert has settled.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, Engine, text

from sensorstream.history.database import translating
from sensorstream.history.event_head import last_event
from sensorstream.settings import AlertSettings

_SET: Final = text("update store.event_head set flap_count = :count, flap_span = :span")


def set_damping(database: Engine, settings: AlertSettings) -> None:
    """From how many ends within how long on an alert flaps; less than two: none does.

    Raises:
        HistoryError: the database fails.
    """
    count = settings.flap_count if settings.flap_count > 1 else 0
    values = {"count": count, "span": timedelta(minutes=settings.flap_span if count else 0)}
    with translating("cannot store the settings of alerts"), database.begin() as connection:
        connection.execute(_SET, values)


def is_flapping(incident: str) -> str:
    """The condition of SQL that an incident is of an alert that flaps."""
    return (
        "exists (select from store.flaps f "
        f"where f.identity = {incident}.identity and f.since is not null)"
    )


# What neither ended nor began for the whole span.
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
    """Of alerts that do not flap, ends of before the span are of no use; ``now`` is in values."""
    if connection.execute(_OLD, values).first():
        # The writer changes these rows, and has locked this one before.
        last_event(connection)
        connection.execute(_FORGET, values)
