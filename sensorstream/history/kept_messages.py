"""Messages as the journal keeps them, with what became of each; those that were not taken in whole.

All that reads or writes here raises :class:`.HistoryError` when the database fails, or when it took
longer than ``timeout`` seconds, where it has such a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Engine,
    Row,
    Select,
    and_,
    exists,
    func,
    literal,
    select,
    text,
    update,
)

from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction, UnknownMessage
from sensorstream.history.database import limited, record, rows_of
from sensorstream.history.tables import messages, progress
from sensorstream.journal.message import TakeMessage, origin_of_replay, replay_of
from sensorstream.model.timeline import Instant

NOT_WHOLE: Final = (Status.UNMATCHED, Status.PARTIAL, Status.REJECTED, Status.SKIPPED)
_INDEXED: Final = 200
INDEXED_SOURCE: Final[ColumnElement[str]] = func.left(messages.c.source, _INDEXED)
"""What the index of sources has of them."""
_SECONDS: Final = 30.0
_JOURNAL: Final = "cannot read the journal"
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
class QuarantineChoice:
    """Which messages; None is any.

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


EVERY: Final = QuarantineChoice()


def quarantined(
    database: Engine, limit: int, chosen: QuarantineChoice = EVERY, timeout: float = _SECONDS
) -> list[Quarantined]:
    """Up to ``limit`` messages, newest first.

    Those that were replayed or dismissed are left out.
    """
    columns = [messages.c[each.name] for each in fields(Quarantined) if each.name != "code"]
    query = _of(select(*columns, _CODE.label("code")), chosen)
    query = query.order_by(messages.c.seq.desc()).limit(limit)
    with limited(database, "cannot read the quarantine", timeout) as connection:
        return [
            record(
                Quarantined,
                row,
                reason=row.reason or "",
                content=bytes(row.content),
                contradiction=contradiction_of(row.contradiction),
                code=row.code or "",
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


def choose(
    database: Engine, chosen: QuarantineChoice, limit: int, timeout: float = _SECONDS
) -> Choice:
    """Up to ``limit`` of the chosen messages, and the number of all."""
    columns = messages.c
    counting = _of(select(func.count(), func.max(columns.seq)), chosen)
    query = _of(select(columns.seq, columns.id, columns.source), chosen)
    with limited(database, "cannot read the quarantine", timeout) as connection:
        count, newest = connection.execute(counting).one()
        rows = connection.execute(query.order_by(columns.seq).limit(limit))
        return Choice(tuple((row.seq, row.id, row.source) for row in rows), count, newest or 0)


def dismiss(
    database: Engine, chosen: QuarantineChoice, limit: int, now: datetime, timeout: float = _SECONDS
) -> tuple[int, int]:
    """Take up to ``limit`` messages out of quarantine, oldest first; the journal keeps them.

    Returns:
        how many left it, and how many of the chosen ones are left.
    """
    columns = messages.c
    first = _of(select(columns.seq), chosen).order_by(columns.seq).limit(limit)
    change = update(messages).where(columns.seq.in_(first)).values(dismissed_at=now)
    with limited(database, "cannot write the quarantine", timeout) as connection:
        count = connection.execute(_of(select(func.count()), chosen)).scalar_one()
        gone = connection.execute(change).rowcount
    return gone, max(0, count - gone)


def keep_contradiction(database: Engine, id_: str, reason: str, found: Contradiction) -> None:
    """Keep with a refused message what was found out of its contradiction since."""
    change = update(messages).where(messages.c.id == id_)
    with limited(database, "cannot write the quarantine", _SECONDS) as connection:
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


def _of(query: _Query, chosen: QuarantineChoice) -> _Query:
    columns = messages.c
    query = query.where(
        columns.kind == TakeMessage.kind,
        columns.status.in_([each.value for each in NOT_WHOLE]),
        columns.dismissed_at.is_(None),
        ~exists().where(_replays.c.origin == literal(origin_of_replay("")).concat(columns.id)),
    )
    return _narrowed(query, chosen)


def _narrowed(query: _Query, chosen: QuarantineChoice) -> _Query:
    columns = messages.c
    tests = {
        "status": columns.status.__eq__,
        "code": _CODE.__eq__,
        "source": of_source,
        "since": columns.received_at.__ge__,
        "until": columns.received_at.__lt__,
        "after": columns.seq.__gt__,
        "before": columns.seq.__lt__,
    }
    for name, test in tests.items():
        value = getattr(chosen, name)
        if value is not None:
            query = query.where(test(value))
    return query


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
    """The newest message of each origin that the journal has, and the SHA-256 of its content."""
    columns = messages.c
    query = (
        _KEPT.add_columns(func.sha256(columns.content).label("digest"))
        .where(columns.origin.in_(list(origins)))
        .order_by(columns.seq)
    )
    rows = rows_of(database, _JOURNAL, query)
    return {row.origin: (_kept(row), bytes(row.digest)) for row in rows}


def kept_message(database: Engine, name: str) -> KeptMessage:
    """One message.

    Raises:
        UnknownMessage: the journal has none with this id.
    """
    return _kept(_one(database, _KEPT, name))


def replay_of_message(database: Engine, name: str) -> str | None:
    """The id of the message that came instead of a quarantined one; None: there is none."""
    query = select(messages.c.id).where(messages.c.origin == origin_of_replay(name))
    return next((row.id for row in rows_of(database, _JOURNAL, query.limit(1))), None)


def content_of_message(database: Engine, name: str) -> bytes:
    """The content of one message, as it came.

    Raises:
        UnknownMessage: the journal has none with this id.
    """
    query = select(messages.c.content).where(messages.c.kind == TakeMessage.kind)
    return bytes(_one(database, query, name).content)


def kept_messages(
    database: Engine, chosen: QuarantineChoice, limit: int, timeout: float
) -> list[KeptMessage]:
    """Up to ``limit`` messages, newest first."""
    columns, query = messages.c, _KEPT.limit(limit)
    if chosen.status == Status.JOURNALLED.value:
        # These are the last ones alone, and no index has them.
        stored = select(progress.c.watermark).scalar_subquery()
        query = query.where(columns.status.is_(None), columns.seq > func.coalesce(stored, 0))
        chosen = replace(chosen, status=None)
    if chosen.source is not None:
        query = query.order_by(INDEXED_SOURCE.desc())
    query = _narrowed(query, chosen).order_by(columns.seq.desc())
    with limited(database, _JOURNAL, timeout) as connection:
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
    """What history has of one message about some individuals."""
    told = {"names": [each.removeprefix("_:") for each in names], "seq": message.seq}
    with limited(database, "cannot read the statements", timeout) as connection:
        row = connection.execute(_LEFT, told).one()
    return record(Left, row)


_LEFT: Final = text(
    """
    select count(*) filter (where not s.inferred) as asserted,
      count(*) filter (where s.inferred) as inferred, max(y.expired_at) as at
    from store.terms t join store.statements s on s.subject = t.id
    left join store.stays y on y.stay = s.stay
    where t.text = any(:names) and t.kind < 2 and s.message = :seq
    """
)


def _one(database: Engine, query: _Query, name: str) -> Row[*tuple[Any, ...]]:
    query = query.where(messages.c.seq == _number(name))
    for row in rows_of(database, _JOURNAL, query):
        return row
    raise UnknownMessage(f"the journal has no message '{name}': expected an id such as m42")


def _number(name: str) -> int:
    digits = name.removeprefix("m")
    known = name.startswith("m") and digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(digits) if known else 0


def _kept(row: Row[*tuple[Any, ...]]) -> KeptMessage:
    return record(
        KeptMessage,
        row,
        status=None if row.status is None else Status(row.status),
        reason=row.reason or "",
        contradiction=contradiction_of(row.contradiction),
        replay_of=replay_of(row.origin or ""),
    )


_KEPT: Final[Select[*tuple[Any, ...]]] = select(
    *(each for each in messages.c if each is not messages.c.content),
    func.length(messages.c.content).label("size"),
).where(messages.c.kind == TakeMessage.kind)
