"""Messages as the journal keeps them, with what became of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, Select, func, select

from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction
from sensorstream.history.database import translating
from sensorstream.history.quarantine import contradiction_of
from sensorstream.history.tables import messages
from sensorstream.journal.message import TakeMessage


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message without its content, which has ``size`` bytes and the SHA-256 ``digest``.

    ``received`` is its time of arrival on the time line. ``status`` is None until it is taken in.
    ``facts`` are those of :func:`.facts_of`; None: not yet, or an earlier version took it in.
    """

    seq: int
    id: str
    source: str
    received_at: datetime
    received: int
    size: int
    digest: bytes
    status: Status | None
    reason: str
    contradiction: Contradiction | None
    facts: Mapping[str, Any] | None


def kept_by_origins(database: Engine, origins: Collection[str]) -> dict[str, KeptMessage]:
    """The newest message of each origin that the journal has.

    Raises:
        HistoryError: the database cannot be read.
    """
    columns = messages.c
    query = (
        _KEPT.add_columns(columns.origin)
        .where(columns.origin.in_(list(origins)))
        .order_by(columns.seq)
    )
    with translating("cannot read the journal"), database.connect() as connection:
        return {row.origin: _kept(row) for row in connection.execute(query)}


def _kept(row: Row[*tuple[Any, ...]]) -> KeptMessage:
    return KeptMessage(
        row.seq,
        row.id,
        row.source,
        row.received_at,
        row.received,
        row.size,
        bytes(row.digest),
        None if row.status is None else Status(row.status),
        row.reason or "",
        contradiction_of(row.contradiction),
        row.facts,
    )


_KEPT: Final[Select[*tuple[Any, ...]]] = select(
    messages.c.seq,
    messages.c.id,
    messages.c.source,
    messages.c.received_at,
    messages.c.received,
    func.length(messages.c.content).label("size"),
    func.sha256(messages.c.content).label("digest"),
    messages.c.status,
    messages.c.reason,
    messages.c.contradiction,
    messages.c.facts,
).where(messages.c.kind == TakeMessage.kind)
