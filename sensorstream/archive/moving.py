"""Moves old partitions of history from PostgreSQL to Parquet files.

For each partition, in this order:

1. The manifest gets a part in state ``writing``.
2. The files are written from one snapshot, and put on disk under their names.
3. The files are read back; their sums must be those that PostgreSQL finds in the snapshot.
4. One transaction locks the partition, finds the rows as they were in the snapshot, sets the state
   ``archived`` and drops the partition and its stays.

A kill before the end of step 4 leaves all rows in PostgreSQL, after it all in the files. The next
run deletes files whose rows are not theirs. Rows that come later with a time in the span of an
archived part go to a new partition, which becomes a part of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from psycopg2 import errors, extensions

from sensorstream.archive.files import Sums, digest, read_sums, remove, write_rows
from sensorstream.archive.layout import POSTGRES_BITS, STATEMENTS, STAYS, ArchivedTable, sum_query
from sensorstream.archive.manifest import Held, Part, State, begin, opened_archive, parts, record
from sensorstream.errors import ArchiveError
from sensorstream.history.database import one_value, opened
from sensorstream.history.partitions import FIRST, Partition, partitions
from sensorstream.model.timeline import Instant, Timeline

_DAY: Final = timedelta(days=1) // timedelta(microseconds=1)


def name_of(partition: Partition, timeline: Timeline) -> str:
    """The day of a partition's statements, or both ends of its span: ``2014-08-01_2014-08-05``.

    On the integer line the two ends: ``0_65536``. Without a beginning: ``first_2014-08-01``.
    """
    low, high = partition.low, partition.high
    if low % _DAY == 0 and high - low == _DAY and timeline is Timeline.DATETIME:
        return _told(low, timeline)
    return f"{'first' if low == FIRST else _told(low, timeline)}_{_told(high, timeline)}"


def _told(instant: Instant, timeline: Timeline) -> str:
    # Partitions begin and end at midnight; the years that have no such text are far away.
    try:
        return timeline.format(instant).removesuffix("T00:00:00Z").replace(":", "")
    except OverflowError:
        return str(instant)


# Below PostgreSQL's deadlock_timeout of a second: it is this process that gives way, never the
# server that writes.
_LOCK_MILLISECONDS: Final = 500
_PATIENCE: Final = 60.0
_ATTEMPTS: Final = 3

Say = Callable[[str], None]


_PRINT: Final = "row(count(*), sum(hashtextextended(s::text, 0)::numeric))::text"


@dataclass(frozen=True, slots=True)
class _Source:
    """The rows that leave: those of a partition, and the stays that ended in its span."""

    partition: Partition

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
) -> Sequence[Part]:
    """Move every partition whose statements ended before an instant; safe beside a server.

    Args:
        url: the history's URL, of its writer.
        folder: the archive's folder.
        before: partitions that end later stay.
        timeline: that of the history.
        say: is told each step.

    Returns:
        The new parts. Partitions without rows stay where they are.

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


def movable(url: str, before: int, timeline: Timeline) -> Sequence[Part]:
    """The parts that :func:`archive` would make now; nothing is changed.

    Raises:
        HistoryError: the database failed.
    """
    found = []
    with opened(url, "cannot look for what is old") as cursor:
        for each in partitions(cursor):
            source = _Source(each)
            held = {}
            for table in (STATEMENTS, STAYS) if each.high <= before else ():
                held[table.name] = Held(_count(cursor, source.relation(table)), "")
            if held and held[STATEMENTS.name].rows:
                name = name_of(each, timeline)
                found.append(Part(0, name, each.low, each.high, State.WRITING, held))
    return found


def sweep(connection: extensions.connection, folder: Path) -> None:
    """Delete the files whose rows are not theirs: an archiving, or a restore, was killed."""
    with connection, connection.cursor() as cursor:
        for part in parts(cursor, State.WRITING, State.RESTORED, State.DELETED):
            for file in part.files(folder).values():
                remove(file)
        cursor.execute("delete from store.archives where state = %s", (State.WRITING.value,))


def _move(
    connection: extensions.connection,
    folder: Path,
    partition: Partition,
    timeline: Timeline,
    say: Say,
) -> Part | None:
    source = _Source(partition)
    name = name_of(partition, timeline)
    for _ in range(_ATTEMPTS):
        with connection, connection.cursor() as cursor:
            if not one_value(cursor, f"select exists (select from {source.statements})"):
                return None
            part = begin(cursor, name, partition.low, partition.high)
        for file in part.files(folder).values():
            if file.exists():
                raise ArchiveError(
                    f"{file} is there already: expected an archive folder of this history alone"
                )
        say(f"{name}: writing")
        sums, prints = _write(connection, source, part.files(folder))
        say(f"{name}: checking")
        for table, file in part.files(folder).items():
            _check(file, table, sums[table])
        part = replace(
            part,
            state=State.ARCHIVED,
            held={
                table.name: Held(sums[table][0], digest(file))
                for table, file in part.files(folder).items()
            },
            bytes=sum(file.stat().st_size for file in part.files(folder).values()),
        )
        say(f"{name}: leaving PostgreSQL")
        if _leave(connection, source, part, prints):
            say(f"{name}: done")
            return part
        sweep(connection, folder)
    raise ArchiveError(f"the statements of {name} keep changing: try again when they rest")


def _write(
    connection: extensions.connection, source: _Source, files: Mapping[ArchivedTable, Path]
) -> tuple[Mapping[ArchivedTable, Sums], object]:
    """Write the files from one snapshot; what they must hold, and the prints of the rows."""
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


def _leave(connection: extensions.connection, source: _Source, part: Part, prints: object) -> bool:
    """Make the part the only place of its rows; False: the rows are others by now."""
    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(f"set local lock_timeout = {_LOCK_MILLISECONDS}")
                # Others may read meanwhile.
                cursor.execute(f"lock table {source.statements} in share mode")
                # A stay that is stored meanwhile is not deleted.
                cursor.execute(source.farewell)
                if cursor.fetchone() != prints:
                    connection.rollback()
                    return False
                record(cursor, part)
                # The writer must not believe that the partition is there.
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
