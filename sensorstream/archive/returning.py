"""Takes parts of the archive back into PostgreSQL, or deletes them.

A part comes back in one transaction: its terms, its rows, the state ``restored``. The files are
deleted afterwards; if that is broken off, the next run that changes the archive does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from pyarrow import parquet

from sensorstream.archive.files import digest, remove
from sensorstream.archive.layout import STATEMENTS, STAYS
from sensorstream.archive.manifest import Part, State, kept_parts, opened_archive, parts, record
from sensorstream.archive.moving import Say, sweep
from sensorstream.errors import ArchiveError
from sensorstream.history.copying import RowShape
from sensorstream.history.effects_store import tell_ends
from sensorstream.history.partitions import Partitions
from sensorstream.history.rows import STATEMENTS as STATEMENT_ROWS
from sensorstream.history.rows import STAYS as STAY_ROWS
from sensorstream.history.terms import Dictionary
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.timeline import Instant, Timeline

if TYPE_CHECKING:
    from psycopg2 import extensions

_BATCH: Final = 20_000

_TERMS: Final = ("subject", "predicate", "object")

ArchivedRow: TypeAlias = Mapping[str, Any]
"""A row of a file, by column."""


def restore(
    url: str, folder: Path, name: str, timeline: Timeline, say: Say = lambda _: None
) -> Sequence[Part]:
    """Take the parts with a name, such as a day, back into PostgreSQL; safe beside a server.

    The server stores nothing while the rows go in.

    Raises:
        ArchiveError: no part has this name, a file is damaged, or another process changes the
            archive; nothing has changed.
        HistoryError: the database failed.
    """
    with opened_archive(url, "cannot restore") as connection:
        sweep(connection, folder)
        with connection, connection.cursor() as cursor:
            archived = parts(cursor, State.ARCHIVED)
        found = [each for each in archived if each.name == name]
        if not found:
            names = ", ".join(dict.fromkeys(each.name for each in archived)) or "none"
            raise ArchiveError(f"the archive has no part '{name}': its parts are {names}")
        for each in found:
            say(f"{name}: checking")
            for table, file in each.files(folder).items():
                if digest(file) != each.held[table.name].digest:
                    raise ArchiveError(f"{file} is damaged: it does not hold what was archived")
            say(f"{name}: going into PostgreSQL")
            with connection, connection.cursor() as cursor:
                _put_back(cursor, each, folder, timeline)
            sweep(connection, folder)
    return found


def _put_back(cursor: extensions.cursor, part: Part, folder: Path, timeline: Timeline) -> None:
    # From here on the writer waits: no term gets two numbers, and no partition is made twice.
    cursor.execute("update store.progress set removals = removals + 1")
    dictionary, partitions = Dictionary(), Partitions(timeline)
    told: set[int] = set()
    for rows in _batches(part.file(folder, STATEMENTS)):
        said = [(named(row["subject"]), IRI(row["predicate"]), object_of(row)) for row in rows]
        told.update(row["stay"] for row in rows)
        numbers = dictionary.numbers(cursor, (term for triple in said for term in triple))
        partitions.make(cursor, {row["valid_to"] for row in rows})
        cells = (
            {**row, **dict(zip(_TERMS, map(numbers.__getitem__, triple), strict=True))}
            for row, triple in zip(rows, said, strict=True)
        )
        _copy(cursor, STATEMENT_ROWS, cells)
        dictionary.settle()
    for rows in _batches(part.file(folder, STAYS)):
        numbers = dictionary.numbers(cursor, [named(row["name"]) for row in rows])
        cells = ({**row, "name": numbers[named(row["name"])]} for row in rows)
        _copy(cursor, STAY_ROWS, cells)
        dictionary.settle()
        told.difference_update(row["stay"] for row in rows)
    # Statements that came late are a part of their own: their stays may be back already.
    tell_ends(cursor, told)
    partitions.analyze_used(cursor)
    record(cursor, replace(part, state=State.RESTORED))


def _copy(cursor: extensions.cursor, shape: RowShape, rows: Iterable[ArchivedRow]) -> None:
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


def deletable(url: str, before: Instant) -> Sequence[Part]:
    """The parts that :func:`delete` would delete now; nothing is changed.

    Raises:
        HistoryError: the database failed.
    """
    return [each for each in kept_parts(url, State.ARCHIVED) if each.ended_before <= before]


def delete(url: str, folder: Path, before: Instant, say: Say = lambda _: None) -> Sequence[Part]:
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
        for each in old:
            for file in each.files(folder).values():
                remove(file)
    return old
