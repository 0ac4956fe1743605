"""Moves old partitions of history to Parquet files; takes parts back, or deletes them.

For each partition, in this order:

1. The manifest gets a part in state ``writing``.
2. The files are written from one snapshot, and put on disk under their names.
3. The files are read back; their sums must be those that PostgreSQL finds in the snapshot.
4. One transaction locks the partition, finds the rows as they were in the snapshot, sets the state
   ``archived`` and drops the partition and its stays.

A kill before the end of step 4 leaves all rows in PostgreSQL, after it all in the files. The next
run deletes files that hold no rows of the archive. Late rows in the span of an archived part go to
a new partition, which becomes a part of its own.

A part comes back in one transaction: its terms, its rows, the state ``restored``. The files are
deleted afterwards; if that is broken off, the next run that changes the archive does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
from psycopg2 import errors, extensions
from pyarrow import parquet

from sensorstream.archive.archive_files import (
    Sums,
    archived,
    check_file,
    read_sums,
    remove,
    write_rows,
)
from sensorstream.archive.manifest import (
    ArchivePart,
    FileContent,
    State,
    begin,
    kept_parts,
    opened_archive,
    parts,
    record,
)
from sensorstream.archive.parquet_layout import (
    POSTGRES_BITS,
    STATEMENTS,
    STAYS,
    TABLES,
    ArchivedTable,
    sum_query,
)
from sensorstream.errors import ArchiveError
from sensorstream.history.copying import RowShape
from sensorstream.history.database import one_value, opened
from sensorstream.history.effects_store import tell_ends
from sensorstream.history.partitions import FIRST, Partitions, StatementPartition, partitions
from sensorstream.history.store_rows import STATEMENTS as STATEMENT_ROWS
from sensorstream.history.store_rows import STAYS as STAY_ROWS
from sensorstream.history.term_dictionary import Dictionary
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.timeline import Instant, Timeline

_DAY: Final = timedelta(days=1) // timedelta(microseconds=1)


def name_of(partition: StatementPartition, timeline: Timeline) -> str:
    """The day of a partition's statements, or the ends of its span: ``2014-08-01_2014-08-05``.

    On the integer line it has both ends, ``0_65536``; without a beginning: ``first_2014-08-01``.
    """
    low, high = partition.low, partition.high
    if low % _DAY == 0 and high - low == _DAY and timeline is Timeline.DATETIME:
        return _told(low, timeline)
    return f"{'first' if low == FIRST else _told(low, timeline)}_{_told(high, timeline)}"


def _told(instant: Instant, timeline: Timeline) -> str:
    # Partitions begin and end at midnight; years without such a text are far away.
    try:
        return timeline.format(instant).removesuffix("T00:00:00Z").replace(":", "")
    except OverflowError:
        return str(instant)


# Below PostgreSQL's deadlock_timeout of a second, so that this process gives way and never the
# server that writes.
_LOCK_MILLISECONDS: Final = 500
_PATIENCE: Final = 60.0
_ATTEMPTS: Final = 3

Say = Callable[[str], None]

_PRINT: Final = "row(count(*), sum(hashtextextended(s::text, 0)::numeric))::text"


@frozen
class _Source:
    """The rows that leave: those of a partition, and the stays that ended in its span."""

    partition: StatementPartition

    @property
    def statements(self) -> str:
        return f'store."{self.partition.name}"'

    @property
    def ended(self) -> str:
        low, high = self.partition.low, self.partition.high
        return f"{STAYS.ended} >= {low} and {STAYS.ended} < {high}"

    @property
    def stays(self) -> str:
        return f"(select * from store.stays where {self.ended})"

    def relation(self, table: ArchivedTable) -> str:
        """The rows of a file."""
        return self.statements if table is STATEMENTS else self.stays

    @property
    def prints(self) -> str:
        """A query that gives something else when the rows have changed."""
        return (
            f"select (select {_PRINT} from {self.statements} s), "
            f"(select {_PRINT} from {self.stays} s)"
        )

    @property
    def farewell(self) -> str:
        """The same query, which deletes the stays too."""
        return (
            f"with gone as (delete from store.stays where {self.ended} returning *) "
            f"select (select {_PRINT} from {self.statements} s), (select {_PRINT} from gone s)"
        )


def archive(
    url: str, folder: Path, before: int, timeline: Timeline, say: Say = lambda _: None
) -> Sequence[ArchivePart]:
    """Move every partition whose statements ended before an instant; safe beside a server.

    Partitions without rows stay where they are. ``url`` is of the history's writer, ``folder`` the
    archive's; ``say`` is told each step. Returns the new parts.

    Raises:
        ArchiveError: a file cannot be written or does not hold the same as PostgreSQL, or another
            process changes the archive or the rows. Nothing is lost.
        HistoryError: the database failed.
    """
    moved = []
    with opened_archive(url, "cannot archive") as connection:
        sweep(connection, folder)
        with connection, connection.cursor() as cursor:
            found = partitions(cursor)
        for each in found:
            if each.high <= before:
                part = _move(connection, folder, each, timeline, say)
                moved += [part] if part is not None else []
    return moved


def movable(url: str, before: int, timeline: Timeline) -> Sequence[ArchivePart]:
    """The parts that :func:`archive` would make now; raises HistoryError if the database failed."""
    found = []
    with opened(url, "cannot look for what is old") as cursor:
        for each in partitions(cursor):
            source = _Source(each)
            held = {}
            for table in (STATEMENTS, STAYS) if each.high <= before else ():
                held[table.name] = FileContent(_count(cursor, source.relation(table)), "")
            if held and held[STATEMENTS.name].rows:
                name = name_of(each, timeline)
                found.append(ArchivePart(0, name, each.low, each.high, State.WRITING, held))
    return found


def sweep(connection: extensions.connection, folder: Path) -> None:
    """Delete the files whose rows are not theirs, because an archiving or a restore was killed."""
    with connection, connection.cursor() as cursor:
        for part in parts(cursor, State.WRITING, State.RESTORED, State.DELETED):
            for file in part.files(folder).values():
                remove(file)
        cursor.execute("delete from store.archives where state = %s", (State.WRITING.value,))


def _move(
    connection: extensions.connection,
    folder: Path,
    partition: StatementPartition,
    timeline: Timeline,
    say: Say,
) -> ArchivePart | None:
    source = _Source(partition)
    name = name_of(partition, timeline)
    for _ in range(_ATTEMPTS):
        with connection, connection.cursor() as cursor:
            if not one_value(cursor, f"select exists (select from {source.statements})"):
                return None
            part = begin(cursor, name, partition.low, partition.high)
        files = part.files(folder)
        for file in files.values():
            if file.exists():
                raise ArchiveError(
                    f"{file} is there already: expected an archive folder of this history alone"
                )
        say(f"{name}: writing")
        sums, prints = _write(connection, source, files)
        say(f"{name}: checking")
        for table, file in files.items():
            _check(file, table, sums[table])
        part = archived(part, folder, {table: rows for table, (rows, *_) in sums.items()})
        say(f"{name}: leaving PostgreSQL")
        if _leave(connection, source, part, prints):
            say(f"{name}: done")
            return part
        sweep(connection, folder)
    raise ArchiveError(f"the statements of {name} keep changing: try again when they rest")


def _write(
    connection: extensions.connection, source: _Source, files: Mapping[ArchivedTable, Path]
) -> tuple[Mapping[ArchivedTable, Sums], object]:
    """Write the files from one snapshot; returns their contents, and the prints of the rows."""
    connection.set_session(isolation_level="REPEATABLE READ")
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(source.prints)
            prints = cursor.fetchone()
            sums = {
                table: _copy(cursor, table, source.relation(table), file)
                for table, file in files.items()
            }
    finally:
        connection.set_session(isolation_level="DEFAULT")
    return sums, prints


def _copy(cursor: extensions.cursor, table: ArchivedTable, relation: str, path: Path) -> Sums:
    counted = _count(cursor, relation)
    rows = write_rows(path, table, cursor, relation)
    if counted != rows:
        raise ArchiveError(
            f"{counted} rows of store.{table.name} give {rows}: a term is missing "
            "in store.terms; nothing was archived"
        )
    cursor.execute(sum_query(table, f"({table.select(relation)})", POSTGRES_BITS))
    row = cursor.fetchone()
    assert row is not None
    return tuple(map(int, row))


def _count(cursor: extensions.cursor, relation: str) -> int:
    return int(one_value(cursor, f"select count(*) from {relation} as s"))


def _check(path: Path, table: ArchivedTable, expected: Sums) -> None:
    found = read_sums(path, table)
    if found != expected:
        raise ArchiveError(
            f"{path} does not hold what PostgreSQL holds (sums {found}, expected {expected}): "
            "nothing was archived; check the disk"
        )


def _leave(
    connection: extensions.connection, source: _Source, part: ArchivePart, prints: object
) -> bool:
    """Make the part the only place of its rows; False: the rows are others by now."""
    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(f"set local lock_timeout = {_LOCK_MILLISECONDS}")
                # Other processes may read meanwhile.
                cursor.execute(f"lock table {source.statements} in share mode")
                # A stay that is stored meanwhile stays.
                cursor.execute(source.farewell)
                if cursor.fetchone() != prints:
                    connection.rollback()
                    return False
                record(cursor, part)
                # The writer must not rely on a partition that is gone.
                cursor.execute("update store.progress set removals = removals + 1")
                cursor.execute(f"drop table {source.statements}")
            return True
        except errors.LockNotAvailable:
            if time.monotonic() > patience:
                raise ArchiveError(
                    f"the history was read or written without a pause for {_PATIENCE:.0f} s, so "
                    f"{part.name} stays in PostgreSQL: try again later"
                ) from None
            time.sleep(_LOCK_MILLISECONDS / 1000)


_BATCH: Final = 20_000

_TERMS: Final = ("subject", "predicate", "object")

ArchivedRow: TypeAlias = Mapping[str, Any]
"""A row of a file, by column."""


def restore(
    url: str, folder: Path, name: str, timeline: Timeline, say: Say = lambda _: None
) -> Sequence[ArchivePart]:
    """Take the parts with a name, such as a day, back into PostgreSQL; safe beside a server, which
    stores nothing while the rows go in.

    Raises:
        ArchiveError: no part has this name, a file is damaged, or another process changes the
            archive; nothing has changed.
        HistoryError: the database failed.
    """
    with opened_archive(url, "cannot restore") as connection:
        sweep(connection, folder)
        with connection, connection.cursor() as cursor:
            there = parts(cursor, State.ARCHIVED)
        found = [each for each in there if each.name == name]
        if not found:
            names = ", ".join(dict.fromkeys(each.name for each in there)) or "none"
            raise ArchiveError(f"the archive has no part '{name}': its parts are {names}")
        for each in found:
            say(f"{name}: checking")
            for table in TABLES:
                check_file(each, folder, table)
            say(f"{name}: going into PostgreSQL")
            with connection, connection.cursor() as cursor:
                _put_back(cursor, each, folder, timeline)
            sweep(connection, folder)
    return found


def _put_back(
    cursor: extensions.cursor, part: ArchivePart, folder: Path, timeline: Timeline
) -> None:
    # From here on the writer waits: no term gets two numbers, no partition is made twice.
    cursor.execute("update store.progress set removals = removals + 1")
    dictionary, known = Dictionary(), Partitions(timeline)
    told: set[int] = set()
    for rows in _batches(part.file(folder, STATEMENTS)):
        said = [(named(row["subject"]), IRI(row["predicate"]), object_of(row)) for row in rows]
        told.update(row["stay"] for row in rows)
        numbers = dictionary.numbers(cursor, (term for triple in said for term in triple))
        known.make(cursor, {row["valid_to"] for row in rows})
        cells = (
            {**row, **dict(zip(_TERMS, map(numbers.__getitem__, triple), strict=True))}
            for row, triple in zip(rows, said, strict=True)
        )
        _put(cursor, STATEMENT_ROWS, cells)
        dictionary.settle()
    for rows in _batches(part.file(folder, STAYS)):
        numbers = dictionary.numbers(cursor, [named(row["name"]) for row in rows])
        cells = ({**row, "name": numbers[named(row["name"])]} for row in rows)
        _put(cursor, STAY_ROWS, cells)
        dictionary.settle()
        told.difference_update(row["stay"] for row in rows)
    # Late statements are a part of their own, so their stays may be back already.
    tell_ends(cursor, told)
    known.analyze_used(cursor)
    record(cursor, replace(part, state=State.RESTORED))


def _put(cursor: extensions.cursor, shape: RowShape, rows: Iterable[ArchivedRow]) -> None:
    shape.copy(cursor, (tuple(row[each] for each in shape.columns) for row in rows))


def _batches(file: Path) -> Iterator[Sequence[ArchivedRow]]:
    try:
        content = parquet.ParquetFile(file)
        # Moments are derived from the texts again; Python has none before the year 1.
        columns = [each.name for each in content.schema_arrow if each.name != "moment"]
        for batch in content.iter_batches(_BATCH, columns=columns):
            yield batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"cannot read {file}: {error}") from error


def named(text: str) -> Subject:
    """The IRI or blank node with this text in the archive."""
    return BlankNode(text) if text.startswith("_:") else IRI(text)


def object_of(row: ArchivedRow) -> Term:
    """The object of a statement of the archive."""
    if row["kind"] == "literal":
        return Literal(row["object"], row["datatype"], row["language"])
    return named(row["object"])


def deletable(url: str, before: Instant) -> Sequence[ArchivePart]:
    """The parts that :func:`delete` would delete now; raises HistoryError if the database fails."""
    return [each for each in kept_parts(url, State.ARCHIVED) if each.ended_before <= before]


def delete(
    url: str, folder: Path, before: Instant, say: Say = lambda _: None
) -> Sequence[ArchivePart]:
    """Delete the parts whose statements all ended before an instant, for good.

    Raises:
        ArchiveError: a file cannot be deleted, or another process changes the archive.
        HistoryError: the database failed.
    """
    with opened_archive(url, "cannot delete from the archive") as connection:
        with connection, connection.cursor() as cursor:
            old = [each for each in parts(cursor, State.ARCHIVED) if each.ended_before <= before]
            for each in old:
                say(f"{each.name}: deleting")
                record(cursor, replace(each, state=State.DELETED))
        sweep(connection, folder)
    return old
