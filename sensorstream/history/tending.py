"""What the wall clock does with incidents: reminders, escalation, and the end of old ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Engine, text

from sensorstream.history.database import translating
from sensorstream.history.event_head import last_event
from sensorstream.history.flapping import SETTLE, SETTLED, forget_ends, is_flapping
from sensorstream.history.incidents import tell
from sensorstream.history.silences import end_silences, is_silenced
from sensorstream.settings import AlertSettings

_AT_ONCE: Final = 1000
"""Incidents that one look changes; the next one goes on."""


def tend(database: Engine, settings: AlertSettings, now: datetime) -> int:
    """Do what is due; all of it stands in the database, so a restart forgets nothing.

    Returns:
        How many incidents were changed, or are told of again.

    Raises:
        HistoryError: the database fails.
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
        # Whoever has nothing to do locks nothing: it is looked at often.
        due = [
            change
            for chosen, change in steps
            if connection.execute(text(f"select 1 from ({chosen}) due limit 1"), values).first()
        ]
        if due:
            last_event(connection)
        return freed + sum(tell(connection, each, values) for each in due)


def _step(chosen: str, change: str, told: str, set_: str) -> tuple[str, str]:
    """Which incidents (their ids), and the statement that changes them and selects their changes.

    ``told`` is the expression of the text of a change.
    """
    return (
        chosen,
        f"""
        update store.incidents set {set_} where id in ({chosen})
        returning id as incident, '{change}' as change, '' as by, {told} as text, severity, count
    """,
    )


_HEARD: Final = f"not {is_silenced('i')} and not {is_flapping('i')}"
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
    f"and i.first_at <= :now - :escalate and {_HEARD} order by i.seq limit :limit",
    "escalated",
    "escalated",
    "escalated = case severity when 'info' then 'warning' else 'critical' end",
)
# Where there are none, it is null, and so is what is compared with it.
_EVERY: Final = (
    "nullif(case coalesce(i.escalated, i.severity) when 'info' then cast(:remind_info as interval) "
    "when 'warning' then :remind_warning else :remind_critical end, interval '0')"
)
# One that was last reminded of in the future is of a time before the clock was set back.
_REMIND: Final = _step(
    "select i.id from store.incidents i where i.state = 'open' and "
    f"(coalesce(i.reminded_at, i.first_at) <= :now - {_EVERY} "
    f"or i.reminded_at > :now and {_EVERY} is not null) and {_HEARD} order by i.seq limit :limit",
    "reminded",
    "text",
    "reminded_at = :at, reminders = reminders + 1",
)
