"""Messages that were journalled but not taken in, or not whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import Engine, select

from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction
from sensorstream.history.database import translating
from sensorstream.history.tables import messages
from sensorstream.journal.message import TakeMessage

_NOT_WHOLE: Final = (Status.UNMATCHED, Status.PARTIAL, Status.REJECTED, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A message that was not taken in, or not all of it, and why."""

    seq: int
    id: str
    source: str
    received_at: datetime
    status: Literal["unmatched", "partial", "rejected", "skipped"]
    reason: str
    content: bytes
    contradiction: Contradiction | None = None


def quarantined(database: Engine, limit: int, before: int | None = None) -> list[Quarantined]:
    """Up to ``limit`` messages, newest first, with ``seq`` below ``before``.

    Raises:
        HistoryError: the database cannot be read.
    """
    columns = messages.c
    query = (
        select(
            columns.seq,
            columns.id,
            columns.source,
            columns.received_at,
            columns.status,
            columns.reason,
            columns.content,
            columns.contradiction,
        )
        .where(columns.kind == TakeMessage.kind)
        .where(columns.status.in_([each.value for each in _NOT_WHOLE]))
        .order_by(columns.seq.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(columns.seq < before)
    with translating("cannot read the quarantine"), database.connect() as connection:
        return [
            Quarantined(
                row.seq,
                row.id,
                row.source,
                row.received_at,
                row.status,
                row.reason or "",
                bytes(row.content),
                contradiction_of(row.contradiction),
            )
            for row in connection.execute(query)
        ]


def contradiction_of(data: Mapping[str, Any] | None) -> Contradiction | None:
    """A contradiction as the journal keeps it."""
    if data is None:
        return None
    return Contradiction(tuple(data["triples"]), tuple(data["axioms"]), data["limits"])
