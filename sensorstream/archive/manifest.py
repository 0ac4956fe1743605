"""The list of the archive's parts, which is kept in PostgreSQL: ``store.archives``.

A part has the rows of one partition of ``store.statements``, and the stays that ended in its span.
Its state decides where the rows are, and changes in the transaction that moves them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from psycopg2.extras import Json

from sensorstream.archive.parquet_layout import TABLES, ArchivedTable
from sensorstream.errors import ArchiveError
from sensorstream.history.database import connect, one_value, opened, translating
from sensorstream.model.frozen import field, frozen

if TYPE_CHECKING:
    from psycopg2 import extensions

_LOCK: Final = 0x53535741
_COLUMNS: Final = "id, name, ended_from, ended_before, state, files, bytes"


class State(Enum):
    """The place of a part's rows, and which of its files are there."""

    WRITING = "writing"
    """The rows are in PostgreSQL; files may be there, and mean nothing."""
    ARCHIVED = "archived"
    """The rows are in the files, and nowhere else."""
    RESTORED = "restored"
    """The rows are in PostgreSQL again; the files are deleted."""
    DELETED = "deleted"
    """Nowhere; the files are deleted."""


@frozen
class FileContent:
    """The content of a file: the number of its rows, and the SHA-256 digest of its bytes."""

    rows: int
    digest: str


@frozen
class ArchivePart:
    """A part of the archive: the statements with ``ended_from <= valid_to < ended_before``.

    ``held`` is the content of its files, by the name of the table; ``bytes`` the size of all.
    """

    id: int
    name: str
    ended_from: int
    ended_before: int
    state: State
    held: Mapping[str, FileContent] = field(default_factory=dict)
    bytes: int = 0

    def rows(self, table: ArchivedTable) -> int:
        """The number of rows of one of its files."""
        return self.held[table.name].rows

    def file(self, folder: Path, table: ArchivedTable) -> Path:
        """The path of the part's file for a table, in the archive's folder."""
        return folder / table.name / f"{self.name}.{self.id}.parquet"

    def there(self, folder: Path, table: ArchivedTable) -> Path:
        """The path of the part's file for a table; raises ArchiveError if it is not there."""
        file = self.file(folder, table)
        if not file.exists():
            raise ArchiveError(
                f"{file} is missing: expected the files that the archive's manifest lists"
            )
        return file

    def files(self, folder: Path) -> Mapping[ArchivedTable, Path]:
        """The paths of the part's files."""
        return {table: self.file(folder, table) for table in TABLES}


def parts(cursor: extensions.cursor, *states: State) -> Sequence[ArchivePart]:
    """The parts in some states, by time."""
    cursor.execute(
        f"select {_COLUMNS} from store.archives where state = any(%s) order by ended_before, id",
        ([each.value for each in states],),
    )
    return [
        ArchivePart(
            id_,
            name,
            low,
            high,
            State(state),
            {n: FileContent(*held) for n, held in files.items()},
            size,
        )
        for id_, name, low, high, state, files, size in cursor
    ]


def begin(cursor: extensions.cursor, name: str, low: int, high: int) -> ArchivePart:
    """A new part, to be written."""
    number = one_value(
        cursor,
        "insert into store.archives (name, ended_from, ended_before, state) "
        "values (%s, %s, %s, %s) returning id",
        (name, low, high, State.WRITING.value),
    )
    return ArchivePart(number, name, low, high, State.WRITING)


def record(cursor: extensions.cursor, part: ArchivePart) -> None:
    """Set the state of a part, and the contents of its files."""
    cursor.execute(
        "update store.archives set state = %s, files = %s, bytes = %s, changed_at = now() "
        "where id = %s",
        (
            part.state.value,
            Json({name: [each.rows, each.digest] for name, each in part.held.items()}),
            part.bytes,
            part.id,
        ),
    )


@contextmanager
def changing(connection: extensions.connection) -> Iterator[None]:
    """Be the one process that changes the archive; raises ArchiveError if another one does."""
    with connection, connection.cursor() as cursor:
        if not one_value(cursor, "select pg_try_advisory_lock(%s)", (_LOCK,)):
            raise ArchiveError("another process changes the archive: wait until it has finished")
    try:
        yield
    finally:
        if not connection.closed:
            connection.rollback()
            with connection, connection.cursor() as cursor:
                cursor.execute("select pg_advisory_unlock(%s)", (_LOCK,))


@contextmanager
def opened_archive(
    url: str, doing: str, application: str = "sensorstream archive"
) -> Iterator[extensions.connection]:
    """A connection of the one process that changes the archive of the history at ``url``.

    Raises:
        ArchiveError: another process does.
        HistoryError: the database failed; ``doing`` begins the message.
    """
    with (
        translating(doing),
        closing(connect(url, application=application)) as connection,
        changing(connection),
    ):
        yield connection


def kept_parts(url: str, *states: State) -> Sequence[ArchivePart]:
    """The parts in some states of the history at ``url``, by time; HistoryError if unreadable."""
    with opened(url, "cannot read the archive's manifest") as cursor:
        return parts(cursor, *states)
