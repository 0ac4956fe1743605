"""Reading of the journal, by any process beside its writer; and passing over an entry.

All readers raise :class:`.HistoryError` when the journal cannot be read.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Final, TypeAlias

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.database import one_value, opened
from sensorstream.history.store_rows import MESSAGES, message_rows
from sensorstream.journal.records import Record
from sensorstream.model.events import Message, Status
from sensorstream.model.frozen import frozen

JournalRow: TypeAlias = tuple[
    int, str, str, datetime, int, bytes, str | None, str, bool, str | None
]
"""seq, id, source, received_at, received, content, status, kind, degraded, origin."""

_AT_A_TIME: Final = 500
_SELECT: Final = (
    "select seq, id, source, received_at, received, content, status, kind, degraded, origin "
    "from store.messages where"
)
_MESSAGE: Final = "message"


def journal_rows(
    url: str, after: int, upto: int | None = None, kinds: Collection[str] = ()
) -> Iterator[JournalRow]:
    """The entries above ``after``, up to ``upto`` if it is given, in order, a batch at a time.

    ``kinds`` chooses some kinds of entries; empty: all.
    """
    conditions = ["seq > %s"]
    values: list[object] = [after]
    if upto is not None:
        conditions.append("seq <= %s")
        values.append(upto)
    if kinds:
        if _MESSAGE not in kinds:
            # Other kinds have an index.
            conditions.append(f"kind <> '{_MESSAGE}'")
        conditions.append("kind = any(%s)")
        values.append(list(kinds))
    with _reading(url, "replay", _AT_A_TIME) as cursor:
        cursor.execute(f"{_SELECT} {' and '.join(conditions)} order by seq", values)
        yield from map(_row, cursor)


def journal_changes(url: str, kinds: Collection[str], source: str | None) -> Generator[JournalRow]:
    """The entries of some kinds that are no messages, of ``source`` or of any, in order.

    They are read singly: each may be as large as an ontology.
    """
    with _reading(url, "versions", 1) as cursor:
        cursor.execute(
            f"{_SELECT} kind <> '{_MESSAGE}' and kind = any(%s) "
            "and (%s::text is null or source = %s) order by seq",
            (list(kinds), source, source),
        )
        yield from map(_row, cursor)


def last_messages(url: str, most: int, most_bytes: int) -> list[JournalRow]:
    """The last messages of the journal, oldest first: as many as both limits allow."""
    # A batch is in memory at once.
    with _reading(url, "trial", 10) as cursor:
        cursor.execute(f"{_SELECT} kind = %s order by seq desc limit %s", (_MESSAGE, most))
        return _first(cursor, most_bytes)[::-1]


def numbered_rows(url: str, numbers: Collection[int], most_bytes: int) -> list[JournalRow]:
    """The existing entries with these numbers, newest first, up to a number of bytes."""
    with _reading(url, "why", 1) as cursor:
        cursor.execute(f"{_SELECT} seq = any(%s) order by seq desc", (list(numbers),))
        return _first(cursor, most_bytes)


def change_at(url: str, kind: str, seq: int) -> JournalRow | None:
    """The last accepted entry of a kind up to a number, else the first after it, or None."""
    with _reading(url, "why") as cursor:
        for condition, order in (("<=", "desc"), (">", "asc")):
            cursor.execute(
                f"{_SELECT} kind = %s and kind <> '{_MESSAGE}' and status = 'accepted' "
                f"and seq {condition} %s order by seq {order} limit 1",
                (kind, seq),
            )
            row = cursor.fetchone()
            if row is not None:
                return _row(row)
    return None


def last_entry(url: str, kind: str, source: str) -> JournalRow | None:
    """The last entry of a kind that is no message, from one source."""
    with _reading(url, "input") as cursor:
        cursor.execute(
            f"{_SELECT} kind = %s and kind <> '{_MESSAGE}' and source = %s "
            "order by seq desc limit 1",
            (kind, source),
        )
        row = cursor.fetchone()
        return None if row is None else _row(row)


def record_of(row: JournalRow) -> Record:
    """The record of a row of the journal."""
    seq, name, source, received_at, received, content, status, kind, degraded, origin = row
    message = Message(name, content, received, source)
    return Record(seq, message, received_at, _status(status), kind, degraded, origin or "")


def row_of(record: Record) -> JournalRow:
    """The row of a record; the reverse of :func:`record_of`."""
    message, status = record.message, record.status
    told = None if status is None else status.value
    first = (record.seq, message.id, message.source, record.received_at, message.received)
    return (*first, message.content, told, record.kind, record.degraded, record.origin)


def _reading(
    url: str, what_for: str, at_a_time: int | None = None
) -> AbstractContextManager[extensions.cursor]:
    """A cursor on a connection of its own; it fetches rows ``at_a_time``, or all at once."""
    name = f"sensorstream {what_for}"
    return opened(url, "cannot read the journal", application=name, at_a_time=at_a_time)


def _first(rows: Iterable[tuple[Any, ...]], most_bytes: int) -> list[JournalRow]:
    """The first rows, as many as have no more than this number of bytes together."""
    found: list[JournalRow] = []
    for row in map(_row, rows):
        most_bytes -= len(row[5])
        if most_bytes < 0:
            break
        found.append(row)
    return found


def _row(found: tuple[Any, ...]) -> JournalRow:
    seq, name, source, received_at, received, content, *rest = found
    return (seq, name, source, received_at, received, bytes(content), *rest)


def _status(text: str | None) -> Status | None:
    return None if text is None else Status(text)


# -- for operators ---------------------------------------------------------------------------------

_ENTRY: Final = (
    "select seq, id, kind, source, received_at, received, status, "
    "coalesce(reason, ''), length(content) from store.messages where"
)


@frozen
class JournalEntry:
    """An entry without its content, which has ``bytes`` bytes.

    ``received`` is its time of arrival on the time line; ``status`` is None until it is applied.
    """

    seq: int
    id: str
    kind: str
    source: str
    received_at: datetime
    received: int
    status: Status | None
    reason: str
    bytes: int


def entries(
    url: str, limit: int, before: int | None = None, status: Status | None = None
) -> list[JournalEntry]:
    """Up to ``limit`` entries, newest first, with ``seq`` below ``before``."""
    conditions, values = ["true"], list[object]()
    if before is not None:
        conditions.append("seq < %s")
        values.append(before)
    if status is not None:
        conditions.append("status = %s")
        values.append(status.value)
    return _read(url, f"{' and '.join(conditions)} order by seq desc limit %s", [*values, limit])


def entry_at(url: str, seq: int) -> JournalEntry | None:
    """The entry with a number; None: there is none."""
    return next(iter(_read(url, "seq = %s", [seq])), None)


def content_of(url: str, seq: int) -> bytes:
    """The content of an existing entry."""
    with _reading(url, "journal") as cursor:
        query = "select content from store.messages where seq = %s"
        return bytes(one_value(cursor, query, (seq,)) or b"")


def pass_over(url: str, seq: int, status: Status, reason: str, notice: Record) -> None:
    """Pass over an entry from the next start on, and append the ``notice`` entry about it.

    Only for the process that may write the journal. ``status`` is the entry's from now on. Raises
    HistoryError if nothing was written.
    """
    with opened(url, "cannot write the journal", application="sensorstream journal") as cursor:
        cursor.execute(
            "update store.messages set status = %s, reason = %s where seq = %s",
            (status.value, reason, seq),
        )
        if cursor.rowcount != 1:
            raise HistoryError(f"the journal has no entry {seq}")
        MESSAGES.copy(cursor, message_rows([notice]))


def _read(url: str, where: str, values: list[object]) -> list[JournalEntry]:
    with _reading(url, "journal") as cursor:
        cursor.execute(f"{_ENTRY} {where}", values)
        rows = ((*row[:6], _status(row[6]), *row[7:]) for row in cursor)
        return [JournalEntry(*row) for row in rows]
