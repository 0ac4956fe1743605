"""Reads rows of the journal: any process may, beside the one that writes it."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any, Final, TypeAlias

from psycopg2 import extensions

from sensorstream.engine.outcome import Status
from sensorstream.history.database import connect, translating
from sensorstream.journal.records import Record
from sensorstream.model.events import Message

JournalRow: TypeAlias = tuple[
    int, str, str, datetime, int, bytes, str | None, str, bool, str | None
]
"""seq, id, source, received_at, received, content, status, kind, degraded, origin."""

_AT_A_TIME: Final = 500
_COLUMNS: Final = "seq, id, source, received_at, received, content, status, kind, degraded, origin"
_MESSAGE: Final = "message"


def journal_rows(
    url: str, after: int, upto: int | None = None, kinds: Collection[str] = ()
) -> Iterator[JournalRow]:
    """The entries above ``after``, up to ``upto`` if it is given, in order, a batch at a time.

    ``kinds`` chooses some kinds of entries; empty: all.

    Raises:
        HistoryError: the journal cannot be read.
    """
    conditions = ["seq > %s"]
    values: list[object] = [after]
    if upto is not None:
        conditions.append("seq <= %s")
        values.append(upto)
    if kinds:
        if _MESSAGE not in kinds:
            # The others have an index.
            conditions.append(f"kind <> '{_MESSAGE}'")
        conditions.append("kind = any(%s)")
        values.append(list(kinds))
    with _reading(url, "replay", _AT_A_TIME) as cursor:
        cursor.execute(
            f"select {_COLUMNS} from store.messages where {' and '.join(conditions)} order by seq",
            values,
        )
        yield from map(_row, cursor)


def journal_changes(url: str, kinds: Collection[str], source: str | None) -> Generator[JournalRow]:
    """The entries of some kinds that are no messages, of one source if it is given, in order.

    One at a time: each may be as large as an ontology.

    Raises:
        HistoryError: the journal cannot be read.
    """
    with _reading(url, "versions", 1) as cursor:
        cursor.execute(
            f"select {_COLUMNS} from store.messages where kind <> '{_MESSAGE}' "
            "and kind = any(%s) and (%s::text is null or source = %s) order by seq",
            (list(kinds), source, source),
        )
        yield from map(_row, cursor)


def last_messages(url: str, most: int, most_bytes: int) -> list[JournalRow]:
    """The last messages of the journal, oldest first: as many as both limits allow.

    Raises:
        HistoryError: the journal cannot be read.
    """
    # A batch is in memory at once.
    with _reading(url, "trial", 10) as cursor:
        cursor.execute(
            f"select {_COLUMNS} from store.messages where kind = %s order by seq desc limit %s",
            (_MESSAGE, most),
        )
        return _first(cursor, most_bytes)[::-1]


def numbered_rows(url: str, numbers: Collection[int], most_bytes: int) -> list[JournalRow]:
    """The entries with some numbers that are still there, newest first, up to so many bytes.

    Raises:
        HistoryError: the journal cannot be read.
    """
    with _reading(url, "why", 1) as cursor:
        cursor.execute(
            f"select {_COLUMNS} from store.messages where seq = any(%s) order by seq desc",
            (list(numbers),),
        )
        return _first(cursor, most_bytes)


def change_at(url: str, kind: str, seq: int) -> JournalRow | None:
    """The last accepted entry of a kind up to a number, else the first after it, if there is one.

    Raises:
        HistoryError: the journal cannot be read.
    """
    with _reading(url, "why") as cursor:
        for condition, order in (("<=", "desc"), (">", "asc")):
            cursor.execute(
                f"select {_COLUMNS} from store.messages where kind = %s and kind <> '{_MESSAGE}' "
                f"and status = 'accepted' and seq {condition} %s order by seq {order} limit 1",
                (kind, seq),
            )
            row = cursor.fetchone()
            if row is not None:
                return _row(row)
    return None


def record_of(row: JournalRow) -> Record:
    """The record that a row of the journal is."""
    seq, name, source, received_at, received, content, status, kind, degraded, origin = row
    return Record(
        seq,
        Message(name, content, received, source),
        received_at,
        None if status is None else Status(status),
        kind,
        degraded,
        origin or "",
    )


@contextmanager
def _reading(url: str, what_for: str, at_a_time: int | None = None) -> Iterator[extensions.cursor]:
    """A cursor on a connection of its own; its rows come so many ``at_a_time``, or all at once."""
    with (
        closing(connect(url, application=f"sensorstream {what_for}")) as connection,
        translating("cannot read the journal"),
        connection.cursor(None if at_a_time is None else what_for) as cursor,
    ):
        if at_a_time is not None:
            cursor.itersize = at_a_time
        yield cursor


def _first(rows: Iterable[tuple[Any, ...]], most_bytes: int) -> list[JournalRow]:
    """The first rows whose contents have no more bytes together."""
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
