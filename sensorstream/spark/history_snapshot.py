"""A state of the history for a question's readers: PostgreSQL's snapshot, the archive's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg2 import extensions, sql

from sensorstream.history.database import connect, one_value, translating
from sensorstream.history.read_only_sql import reading_url
from sensorstream.history.term_dictionary import TermKey, TermKind, look_up
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Term
from sensorstream.spark.source_tables import (
    SOURCE_TABLES,
    ColumnCondition,
    SourceTable,
    condition_of,
    span,
)

if TYPE_CHECKING:
    from sensorstream.archive.manifest import ArchivePart


@frozen
class HistoryPlace:
    """The place of a history: the URL of its PostgreSQL, and the folder of its archive."""

    url: str
    archive: Path


@frozen
class HistorySnapshot:
    """A state of the history; it can be read while the block of :func:`snapshot_of` runs.

    ``url`` is the reading role's, ``id`` PostgreSQL's name of the snapshot, ``cursor`` is in its
    transaction.
    """

    url: str
    id: str
    cursor: extensions.cursor
    folder: Path
    parts: Sequence[ArchivePart]

    def numbers(self, terms: Collection[IRI]) -> Mapping[Term, int]:
        """The numbers of those terms that the history has."""
        with translating("cannot read the history"):
            found = look_up(self.cursor, [TermKey(TermKind.IRI, each) for each in sorted(terms)])
        return {IRI(key.text): number for key, number in found.items()}

    def terms(self, conditions: Collection[ColumnCondition], most: int) -> list[int] | None:
        """The numbers of the terms that fulfil some conditions; None: there are more than that."""
        with translating("cannot read the history"):
            self.cursor.execute(
                sql.SQL("select id from store.terms where {} limit {}").format(
                    condition_of(SOURCE_TABLES["terms"], conditions), sql.Literal(most + 1)
                )
            )
            numbers = [number for (number,) in self.cursor.fetchall()]
        return numbers if len(numbers) <= most else None

    def files(self, table: SourceTable, conditions: Collection[ColumnCondition]) -> list[Path]:
        """The archive's files that may have rows of a table under some conditions; raises
        ArchiveError if one of them is not there.
        """
        from sensorstream.archive.parquet_layout import BY_NAME

        file = BY_NAME.get(table.name)
        if file is None:
            return []
        low, high = span(conditions, file.ended)
        return [
            part.there(self.folder, file)
            for part in self.parts
            if (high is None or part.ended_from <= high)
            and (low is None or low < part.ended_before)
            and part.rows(file)
        ]


@contextmanager
def snapshot_of(place: HistoryPlace) -> Iterator[HistorySnapshot]:
    """The state of the history now, as the role that reads sees it.

    Raises:
        HistoryError: the history cannot be reached, or no role may only read it.
    """
    from sensorstream.archive.manifest import State, parts

    url = reading_url(place.url)
    with closing(connect(url, application="sensorstream spark snapshot")) as connection:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection.cursor() as cursor:
            with translating("cannot read the history"):
                # A question may take hours; its plans must know whole tables.
                cursor.execute(
                    "set idle_in_transaction_session_timeout = 0;"
                    "set max_parallel_workers_per_gather = 0"
                )
                # No partition may go, and no row move to another page, while Spark reads. The locks
                # come first, so that the snapshot sees all changes before them.
                for table in SOURCE_TABLES.values():
                    if table.key is None:
                        cursor.execute(
                            sql.SQL("lock table {} in access share mode").format(table.identifier)
                        )
                exported = one_value(cursor, "select pg_export_snapshot()")
                archived = parts(cursor, State.ARCHIVED)
            yield HistorySnapshot(url, exported, cursor, place.archive, archived)
