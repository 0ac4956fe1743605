"""Messages as the journal keeps them, with what became of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, Select, func, select, text

from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction, UnknownMessage
from sensorstream.history.database import translating
from sensorstream.history.latest import limit_time
from sensorstream.history.quarantine import INDEXED_SOURCE, contradiction_of, of_source
from sensorstream.history.tables import messages, progress
from sensorstream.journal.message import TakeMessage, origin_of_replay, replay_of
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message without its content, which has ``size`` bytes.

    ``received`` is its time of arrival on the time line. ``status`` is None until it is taken in.
    ``facts`` are those of :func:`.facts_of`; None: not yet.
    ``replay_of`` names the quarantined message that it came instead of; "": none.
    """

    seq: int
    id: str
    source: str
    received_at: datetime
    received: int
    size: int
    status: Status | None
    reason: str
    contradiction: Contradiction | None
    facts: Mapping[str, Any] | None
    replay_of: str = ""
    dismissed_at: datetime | None = None


def kept_by_origins(
    database: Engine, origins: Collection[str]
) -> dict[str, tuple[KeptMessage, bytes]]:
    """The newest message of each origin that the journal has, and the SHA-256 of its content.

    Raises:
        HistoryError: the database cannot be read.
    """
    columns = messages.c
    query = (
        _KEPT.add_columns(func.sha256(columns.content).label("digest"))
        .where(columns.origin.in_(list(origins)))
        .order_by(columns.seq)
    )
    with translating("cannot read the journal"), database.connect() as connection:
        return {row.origin: (_kept(row), bytes(row.digest)) for row in connection.execute(query)}


def kept_message(database: Engine, name: str) -> KeptMessage:
    """One message.

    Raises:
        UnknownMessage: the journal has none with this id.
        HistoryError: the database cannot be read.
    """
    query = _KEPT.where(messages.c.seq == _number(name))
    with translating("cannot read the journal"), database.connect() as connection:
        row = connection.execute(query).first()
    if row is None:
        raise _unknown(name)
    return _kept(row)


def replay_of_message(database: Engine, name: str) -> str | None:
    """The id of the message that came instead of a quarantined one; None: there is none.

    Raises:
        HistoryError: the database cannot be read.
    """
    query = select(messages.c.id).where(messages.c.origin == origin_of_replay(name))
    with translating("cannot read the journal"), database.connect() as connection:
        return connection.execute(query.limit(1)).scalar()


def content_of_message(database: Engine, name: str) -> bytes:
    """The content of one message, as it came.

    Raises:
        UnknownMessage: the journal has none with this id.
        HistoryError: the database cannot be read.
    """
    query = select(messages.c.content).where(
        messages.c.seq == _number(name), messages.c.kind == TakeMessage.kind
    )
    with translating("cannot read the journal"), database.connect() as connection:
        row = connection.execute(query).first()
    if row is None:
        raise _unknown(name)
    return bytes(row.content)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which messages: None is any. ``before`` is a ``seq``, ``status`` the text of one."""

    status: str | None = None
    source: str | None = None
    since: datetime | None = None
    before: int | None = None


def kept_messages(
    database: Engine, wanted: Wanted, limit: int, timeout: float
) -> list[KeptMessage]:
    """Up to ``limit`` messages, newest first.

    Raises:
        HistoryError: the database cannot be read, or it took longer than ``timeout`` seconds.
    """
    columns, query = messages.c, _KEPT.limit(limit)
    if wanted.status == Status.JOURNALLED.value:
        # These are the last ones alone, and no index has them.
        stored = select(progress.c.watermark).scalar_subquery()
        query = query.where(columns.status.is_(None), columns.seq > func.coalesce(stored, 0))
    elif wanted.status is not None:
        query = query.where(columns.status == wanted.status)
    if wanted.source is not None:
        query = query.where(of_source(wanted.source)).order_by(INDEXED_SOURCE.desc())
    if wanted.since is not None:
        query = query.where(columns.received_at >= wanted.since)
    if wanted.before is not None:
        query = query.where(columns.seq < wanted.before)
    query = query.order_by(columns.seq.desc())
    with translating("cannot read the journal"), database.begin() as connection:
        limit_time(connection, timeout)
        return [_kept(row) for row in connection.execute(query)]


@dataclass(frozen=True, slots=True)
class Left:
    """What history has of one message: statements, and when the last of their stays ended."""

    asserted: int = 0
    inferred: int = 0
    at: Instant | None = None


def left_for_history(
    database: Engine, message: KeptMessage, names: Collection[str], timeout: float
) -> Left:
    """What history has of one message about some individuals.

    Raises:
        HistoryError: the database cannot be read, or it took longer than ``timeout`` seconds.
    """
    told = {"names": [each.removeprefix("_:") for each in names], "seq": message.seq}
    with translating("cannot read the statements"), database.begin() as connection:
        limit_time(connection, timeout)
        row = connection.execute(_LEFT, told).one()
    return Left(row.asserted, row.inferred, row.at)


_LEFT: Final = text(
    """
    select count(*) filter (where not s.inferred) as asserted,
      count(*) filter (where s.inferred) as inferred, max(y.expired_at) as at
    from store.terms t join store.statements s on s.subject = t.id
    left join store.stays y on y.stay = s.stay
    where t.text = any(:names) and t.kind < 2 and s.message = :seq
    """
)


def _number(name: str) -> int:
    digits = name.removeprefix("m")
    known = name.startswith("m") and digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(digits) if known else 0


def _unknown(name: str) -> UnknownMessage:
    return UnknownMessage(f"the journal has no message '{name}': expected an id such as m42")


def _kept(row: Row[*tuple[Any, ...]]) -> KeptMessage:
    return KeptMessage(
        row.seq,
        row.id,
        row.source,
        row.received_at,
        row.received,
        row.size,
        None if row.status is None else Status(row.status),
        row.reason or "",
        contradiction_of(row.contradiction),
        row.facts,
        replay_of(row.origin or ""),
        row.dismissed_at,
    )


_KEPT: Final[Select[*tuple[Any, ...]]] = select(
    messages.c.seq,
    messages.c.id,
    messages.c.source,
    messages.c.received_at,
    messages.c.received,
    func.length(messages.c.content).label("size"),
    messages.c.status,
    messages.c.reason,
    messages.c.contradiction,
    messages.c.facts,
    messages.c.origin,
    messages.c.dismissed_at,
).where(messages.c.kind == TakeMessage.kind)
