"""The alerts that were raised, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, select

from sensorstream.history.database import translating
from sensorstream.history.tables import alerts as table
from sensorstream.model.events import Alert


@dataclass(frozen=True, slots=True)
class RecordedAlert:
    """An alert with its place in the list and the wall time it was stored at."""

    seq: int
    alert: Alert
    raised_at: datetime


def recorded_alerts(
    database: Engine, limit: int, before_seq: int | None = None
) -> list[RecordedAlert]:
    """Up to ``limit`` alerts, newest first; ``before_seq`` goes on where a page ended.

    Raises:
        HistoryError: the database cannot be read.
    """
    query = select(*ALERT_COLUMNS, table.c.seq, table.c.raised_at)
    if before_seq is not None:
        query = query.where(table.c.seq < before_seq)
    with translating("cannot read the alerts"), database.connect() as connection:
        rows = connection.execute(query.order_by(table.c.seq.desc()).limit(limit)).all()
    return [RecordedAlert(row.seq, alert_of(row), row.raised_at) for row in rows]


ALERT_COLUMNS: Final = tuple(
    table.c[name].label(f"alert_{name}")
    for name in ("id", "rule", "kind", "severity", "text", "key", "time", "message_id")
)


def alert_of(row: Row[*tuple[Any, ...]]) -> Alert:
    """The alert in a row that selects :data:`ALERT_COLUMNS`."""
    return Alert(
        id=row.alert_id,
        rule=row.alert_rule,
        kind=row.alert_kind,
        severity=row.alert_severity,
        text=row.alert_text,
        key=row.alert_key,
        time=row.alert_time,
        message=row.alert_message_id,
    )
