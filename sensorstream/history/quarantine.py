"""Messages that were journalled but not taken in, or not whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    exists,
    func,
    literal,
    select,
    update,
)

from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction
from sensorstream.history.database import translating
from sensorstream.history.latest import limit_time
from sensorstream.history.tables import messages
from sensorstream.journal.message import TakeMessage, origin_of_replay

NOT_WHOLE: Final = (Status.UNMATCHED, Status.PARTIAL, Status.REJECTED, Status.SKIPPED)
_INDEXED: Final = 200
INDEXED_SOURCE: Final[ColumnElement[str]] = func.left(messages.c.source, _INDEXED)
"""What the index of sources has of them."""
_SECONDS: Final = 30.0
_Query: TypeAlias = Select[*tuple[Any, ...]]
_replays: Final = messages.alias()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A message that was not taken in, or not all of it, and why.

    ``code`` is that of the error that rejected it; "": there was none.
    """

    seq: int
    id: str
    source: str
    received_at: datetime
    status: Literal["unmatched", "partial", "rejected", "skipped"]
    reason: str
    content: bytes
    contradiction: Contradiction | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which messages in quarantine; None is any.

    ``code`` is that of an error. Received from ``since`` on and before ``until``; with a ``seq``
    above ``after`` and below ``before``.
    """

    status: str | None = None
    code: str | None = None
    source: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    before: int | None = None


EVERY: Final = Chosen()


def quarantined(
    database: Engine, limit: int, chosen: Chosen = EVERY, timeout: float = _SECONDS
) -> list[Quarantined]:
    """Up to ``limit`` messages, newest first.

    Those that were replayed or dismissed are left out.

    Raises:
        HistoryError: the database cannot be read, or it took longer than ``timeout`` seconds.
    """
    columns = messages.c
    query = _of(
        select(
            columns.seq,
            columns.id,
            columns.source,
            columns.received_at,
            columns.status,
            columns.reason,
            columns.content,
            columns.contradiction,
            _CODE.label("code"),
        ),
        chosen,
    )
    query = query.order_by(columns.seq.desc()).limit(limit)
    with translating("cannot read the quarantine"), database.begin() as connection:
        limit_time(connection, timeout)
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
                row.code or "",
            )
            for row in connection.execute(query)
        ]


@dataclass(frozen=True, slots=True)
class Choice:
    """Of chosen messages the first, oldest first: ``seq``, id, source; and how many there are.

    ``newest`` is the ``seq`` of the last one; 0: there is none.
    """

    first: tuple[tuple[int, str, str], ...]
    count: int
    newest: int


def choose(database: Engine, chosen: Chosen, limit: int, timeout: float = _SECONDS) -> Choice:
    """Up to ``limit`` of the chosen messages, and the number of all.

    Raises:
        HistoryError: the database cannot be read, or it took longer than ``timeout`` seconds.
    """
    columns = messages.c
    counting = _of(select(func.count(), func.max(columns.seq)), chosen)
    query = _of(select(columns.seq, columns.id, columns.source), chosen)
    with translating("cannot read the quarantine"), database.begin() as connection:
        limit_time(connection, timeout)
        count, newest = connection.execute(counting).one()
        rows = connection.execute(query.order_by(columns.seq).limit(limit))
        return Choice(tuple((row.seq, row.id, row.source) for row in rows), count, newest or 0)


def dismiss(
    database: Engine, chosen: Chosen, limit: int, now: datetime, timeout: float = _SECONDS
) -> tuple[int, int]:
    """Take up to ``limit`` messages out of quarantine, oldest first; the journal keeps them.

    Returns:
        how many left it, and how many of the chosen ones are left.

    Raises:
        HistoryError: the database cannot be written, or it took longer than ``timeout`` seconds.
    """
    columns = messages.c
    first = _of(select(columns.seq), chosen).order_by(columns.seq).limit(limit)
    change = update(messages).where(columns.seq.in_(first)).values(dismissed_at=now)
    with translating("cannot write the quarantine"), database.begin() as connection:
        limit_time(connection, timeout)
        count = connection.execute(_of(select(func.count()), chosen)).scalar_one()
        gone = _rows(connection, change)
    return gone, max(0, count - gone)


def keep_contradiction(
    database: Engine, id_: str, reason: str, found: Contradiction, timeout: float = _SECONDS
) -> None:
    """Keep with a refused message what was found out of its contradiction since.

    Raises:
        HistoryError: the database cannot be written, or it took longer than ``timeout`` seconds.
    """
    change = update(messages).where(messages.c.id == id_)
    with translating("cannot write the quarantine"), database.begin() as connection:
        limit_time(connection, timeout)
        connection.execute(change.values(reason=reason, contradiction=asdict(found)))


def of_source(name: str) -> ColumnElement[bool]:
    """Whether a message is of a source.

    As a range, so that a question ordered by :data:`INDEXED_SOURCE` first uses the index of
    sources: by an equality the planner would rather pass over the whole journal.
    """
    name = name.replace("\0", "\ufffd")
    start = name[:_INDEXED]
    return and_(start <= INDEXED_SOURCE, start >= INDEXED_SOURCE, messages.c.source == name)


def contradiction_of(data: Mapping[str, Any] | None) -> Contradiction | None:
    """A contradiction as the journal keeps it."""
    if data is None:
        return None
    return Contradiction(tuple(data["triples"]), tuple(data["axioms"]), data["limits"])


_CODE: Final[ColumnElement[str]] = func.coalesce(
    messages.c.facts["settled"]["error"]["code"].astext, messages.c.facts["error"]["code"].astext
)


def _of(query: _Query, chosen: Chosen) -> _Query:
    columns, code = messages.c, _CODE
    query = query.where(
        columns.kind == TakeMessage.kind,
        columns.status.in_([each.value for each in NOT_WHOLE]),
        columns.dismissed_at.is_(None),
        ~exists().where(_replays.c.origin == literal(origin_of_replay("")).concat(columns.id)),
    )
    if chosen.status is not None:
        query = query.where(columns.status == chosen.status)
    if chosen.code is not None:
        query = query.where(code == chosen.code)
    if chosen.source is not None:
        query = query.where(of_source(chosen.source))
    if chosen.since is not None:
        query = query.where(columns.received_at >= chosen.since)
    if chosen.until is not None:
        query = query.where(columns.received_at < chosen.until)
    if chosen.after is not None:
        query = query.where(columns.seq > chosen.after)
    if chosen.before is not None:
        query = query.where(columns.seq < chosen.before)
    return query


def _rows(connection: Connection, change: Any) -> int:
    return int(connection.execute(change).rowcount)
