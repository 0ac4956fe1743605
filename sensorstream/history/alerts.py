"""The raised alerts, page by page; all raises :class:`.HistoryError` when the database fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, text

from sensorstream.alerts.records import RaisedAlert
from sensorstream.errors import UnknownAlert
from sensorstream.history.database import rows_of, translating
from sensorstream.history.rows import decoded
from sensorstream.history.tables import alerts as table
from sensorstream.journal.records import message_id, number_of_message
from sensorstream.model.events import Alert, Evidence
from sensorstream.model.timeline import Instant


def alerts_before(database: Engine, limit: int, seq: int | None = None) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, newest first, with a number below ``seq``."""
    values = {"before": seq, "limit": limit}
    where = f"a.seq < coalesce(:before, {2**63 - 1}) order by a.seq desc limit :limit"
    return _read(database, where, values)


def alerts_after(database: Engine, limit: int, seq: int) -> list[RaisedAlert]:
    """Up to ``limit`` alerts, oldest first, with a number above ``seq``."""
    values = {"after": seq, "limit": limit}
    return _read(database, "a.seq > :after order by a.seq limit :limit", values)


def alerts_named(database: Engine, ids: Collection[str]) -> list[RaisedAlert]:
    """The alerts with some ids, oldest first."""
    where = "a.id = any(cast(:ids as text[])) order by a.seq"
    return _read(database, where, {"ids": list(ids)})


def alerts_of_rules(
    database: Engine, start: Instant | None, end: Instant | None
) -> list[RaisedAlert]:
    """The alerts of rules whose time is in ``[start, end)``, oldest first; None: no bound."""
    where = (
        "a.kind = 'rule' and a.time >= coalesce(:start, a.time) "
        "and (cast(:end as bigint) is null or a.time < :end) order by a.seq"
    )
    return _read(database, where, {"start": start, "end": end})


def evidence_of_alert(database: Engine, id_: str) -> tuple[RaisedAlert, Evidence | None]:
    """An alert, and why its rule fired; None: the system raised it.

    Raises:
        UnknownAlert: there is no alert with this id.
    """
    for found in rows_of(database, "cannot read an alert", _EVIDENCE, {"id": id_}):
        told = None if found.evidence is None else decoded(found.evidence)
        return raised_alert(found), told
    raise _unknown(id_)


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
        found = connection.execute(_EVIDENCE, {"id": id_}).first()
        if found is None:
            raise _unknown(id_)
        raised = raised_alert(found)
        alert = raised.alert
        numbers = sorted(map(number_of_message, alert.messages or [alert.message]))
        wanted = [each for each in numbers if each > after][:limit]
        there = {row.seq: row for row in connection.execute(_BEHIND, {"seqs": wanted})}
    return raised, [
        Behind(seq, row.source, row.received_at, bytes(row.content))
        if (row := there.get(seq)) is not None
        else Behind(seq, None, None, None)
        for seq in wanted
    ]


def _unknown(id_: str) -> UnknownAlert:
    return UnknownAlert(f"there is no alert '{id_[:60]}': expected the 'id' of one in the list")


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
_EVIDENCE: Final = text(f"select {ALERT}, a.evidence from store.alerts a where a.id = :id")
_BEHIND: Final = text(
    "select seq, source, received_at, content from store.messages "
    "where seq = any(cast(:seqs as bigint[]))"
)


def _read(database: Engine, where: str, values: Mapping[str, object]) -> list[RaisedAlert]:
    query = text(f"select {ALERT} from store.alerts a where {where}")
    return [raised_alert(row) for row in rows_of(database, "cannot read the alerts", query, values)]
