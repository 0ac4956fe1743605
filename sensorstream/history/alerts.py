"""The raised alerts, page by page."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Engine, Row, Select, select

from sensorstream.alerts.records import RaisedAlert
from sensorstream.history.database import translating
from sensorstream.history.tables import alerts as table
from sensorstream.model.events import Alert


def alerts_before(database: Engine, limit: int, seq: int | None = None) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, newest first, with a number below ``seq``.

    Raises:
        HistoryError: the database cannot be read.
    """
    query = _ALERTS.order_by(table.c.seq.desc()).limit(limit)
    return _read(database, query if seq is None else query.where(table.c.seq < seq))


def alerts_after(database: Engine, limit: int, seq: int) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, oldest first, with a number above ``seq``.

    Raises:
        HistoryError: the database cannot be read.
    """
    return _read(database, _ALERTS.where(table.c.seq > seq).order_by(table.c.seq).limit(limit))


def raised_alert(row: Row[*tuple[Any, ...]]) -> RaisedAlert:
    """The alert in a row that selects :data:`ALERT_COLUMNS`."""
    alert = Alert(
        id=row.alert_id,
        rule=row.alert_rule,
        kind=row.alert_kind,
        severity=row.alert_severity,
        text=row.alert_text,
        key=row.alert_key,
        time=row.alert_time,
        message=row.alert_message_id,
    )
    return RaisedAlert(row.alert_seq, alert, row.alert_raised_at)


ALERT_COLUMNS: Final = tuple(column.label(f"alert_{column.name}") for column in table.c)
_ALERTS: Final = select(*ALERT_COLUMNS)


def _read(database: Engine, query: Select[*tuple[Any, ...]]) -> list[RaisedAlert]:
    with translating("cannot read the alerts"), database.connect() as connection:
        return [raised_alert(row) for row in connection.execute(query)]
