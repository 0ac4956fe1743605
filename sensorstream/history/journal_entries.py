"""Entries of the journal for those who operate it: read one or many, and pass one over."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sensorstream.engine.outcome import Status
from sensorstream.errors import HistoryError
from sensorstream.history.copying import copy_command, copy_text
from sensorstream.history.database import connect, translating
from sensorstream.history.rows import MESSAGE_COLUMNS, message_rows
from sensorstream.journal.records import Record

_COLUMNS: Final = "seq, id, kind, source, received_at, received, status, reason, length(content)"


@dataclass(frozen=True, slots=True)
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
    """Up to ``limit`` entries, newest first, with ``seq`` below ``before``.

    Raises:
        HistoryError: the journal cannot be read.
    """
    conditions, values = ["true"], list[object]()
    if before is not None:
        conditions.append("seq < %s")
        values.append(before)
    if status is not None:
        conditions.append("status = %s")
        values.append(status.value)
    return _read(url, f"{' and '.join(conditions)} order by seq desc limit %s", [*values, limit])


def entry_at(url: str, seq: int) -> JournalEntry | None:
    """One entry; None: there is none with this number.

    Raises:
        HistoryError: the journal cannot be read.
    """
    return next(iter(_read(url, "seq = %s", [seq])), None)


def content_of(url: str, seq: int) -> bytes:
    """The content of an entry that is there.

    Raises:
        HistoryError: the journal cannot be read.
    """
    with (
        closing(connect(url, application="sensorstream journal")) as connection,
        translating("cannot read the journal"),
        connection.cursor() as cursor,
    ):
        cursor.execute("select content from store.messages where seq = %s", (seq,))
        row = cursor.fetchone()
        return b"" if row is None else bytes(row[0])


def pass_over(url: str, seq: int, status: Status, reason: str, notice: Record) -> None:
    """Write down that an entry is passed over from the next start on, and the entry that tells it.

    Only for the one that may write the journal.

    Args:
        url: that of the history.
        seq: the number of the entry.
        status: what it has from now on.
        reason: why.
        notice: the journal's next entry.

    Raises:
        HistoryError: nothing was written.
    """
    with (
        closing(connect(url, application="sensorstream journal")) as connection,
        translating("cannot write the journal"),
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "update store.messages set status = %s, reason = %s where seq = %s",
            (status.value, reason, seq),
        )
        if cursor.rowcount != 1:
            raise HistoryError(f"the journal has no entry {seq}")
        cursor.copy_expert(
            copy_command("store.messages", MESSAGE_COLUMNS), copy_text(message_rows([notice]))
        )


def _read(url: str, where: str, values: list[object]) -> list[JournalEntry]:
    with (
        closing(connect(url, application="sensorstream journal")) as connection,
        translating("cannot read the journal"),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"select {_COLUMNS} from store.messages where {where}", values)
        return [
            JournalEntry(
                seq,
                name,
                kind,
                source,
                received_at,
                received,
                None if status is None else Status(status),
                reason or "",
                size,
            )
            for seq, name, kind, source, received_at, received, status, reason, size in cursor
        ]
