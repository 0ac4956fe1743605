"""The raised alerts, page by page; all raises :class:`.HistoryError` when the database fails."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, Select, select

from sensorstream.alerts.records import RaisedAlert
from sensorstream.errors import UnknownAlert
from sensorstream.history.database import rows_of, translating
from sensorstream.history.rows import decoded
from sensorstream.history.tables import alerts as table
from sensorstream.history.tables import messages as journal
from sensorstream.journal.records import message_id, number_of_message
from sensorstream.model.events import Alert, Evidence
from sensorstream.model.timeline import Instant


def alerts_before(database: Engine, limit: int, seq: int | None = None) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, newest first, with a number below ``seq``."""
    query = _ALERTS.order_by(table.c.seq.desc()).limit(limit)
    return _read(database, query if seq is None else query.where(table.c.seq < seq))


def alerts_after(database: Engine, limit: int, seq: int) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, oldest first, with a number above ``seq``."""
    return _read(database, _ALERTS.where(table.c.seq > seq).order_by(table.c.seq).limit(limit))


def alerts_named(database: Engine, ids: Collection[str]) -> list[RaisedAlert]:
    """The alerts with some ids, oldest first."""
    return _read(database, _ALERTS.where(table.c.id.in_(list(ids))).order_by(table.c.seq))


def alerts_of_rules(
    database: Engine, start: Instant | None, end: Instant | None
) -> list[RaisedAlert]:
    """The alerts of rules whose time is in ``[start, end)``, oldest first; None: no bound."""
    query = _ALERTS.where(table.c.kind == "rule").order_by(table.c.seq)
    if start is not None:
        query = query.where(table.c.time >= start)
    if end is not None:
        query = query.where(table.c.time < end)
    return _read(database, query)


def evidence_of_alert(database: Engine, id_: str) -> tuple[RaisedAlert, Evidence | None]:
    """An alert, and why its rule fired; None: the system raised it.

    Raises:
        UnknownAlert: there is no alert with this id.
    """
    query = _ALERTS.add_columns(table.c.evidence).where(table.c.id == id_)
    found = next(iter(rows_of(database, "cannot read an alert", query)), None)
    if found is None:
        raise _unknown(id_)
    return raised_alert(found), None if found.evidence is None else decoded(found.evidence)


@dataclass(frozen=True, slots=True)
class Behind:
    """A message behind an alert; what is None was deleted with its entry of the journal."""

    seq: int
    source: str | None
    received_at: datetime | None
    content: bytes | None

    @property
    def dropped(self) -> bool:
        """Whether the journal does not have it any more."""
        return self.received_at is None


def messages_behind(
    database: Engine, id_: str, limit: int, after: int = 0
) -> tuple[RaisedAlert, list[Behind]]:
    """An alert, and up to ``limit`` of the messages behind it, in order, with numbers above one.

    They are those that said, or caused, what the alert's rule matched. An alert of the system
    has the message that raised it.

    Raises:
        UnknownAlert: there is no alert with this id.
    """
    with translating("cannot read the messages of an alert"), database.connect() as connection:
        found = connection.execute(_ALERTS.where(table.c.id == id_)).first()
        if found is None:
            raise _unknown(id_)
        raised = raised_alert(found)
        alert = raised.alert
        numbers = sorted(map(number_of_message, alert.messages or [alert.message]))
        wanted = [each for each in numbers if each > after][:limit]
        columns = journal.c
        rows = connection.execute(
            select(columns.seq, columns.source, columns.received_at, columns.content).where(
                columns.seq.in_(wanted)
            )
        )
        there = {row.seq: row for row in rows}
    return raised, [
        Behind(seq, row.source, row.received_at, bytes(row.content))
        if (row := there.get(seq)) is not None
        else Behind(seq, None, None, None)
        for seq in wanted
    ]


def _unknown(id_: str) -> UnknownAlert:
    return UnknownAlert(f"there is no alert '{id_[:60]}': expected the 'id' of one in the list")


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
        messages=tuple(map(message_id, row.alert_messages)),
    )
    return RaisedAlert(row.alert_seq, alert, row.alert_raised_at)


ALERT_COLUMNS: Final = tuple(
    column.label(f"alert_{column.name}") for column in table.c if column is not table.c.evidence
)
_ALERTS: Final = select(*ALERT_COLUMNS)


def _read(database: Engine, query: Select[*tuple[Any, ...]]) -> list[RaisedAlert]:
    return [raised_alert(row) for row in rows_of(database, "cannot read the alerts", query)]
