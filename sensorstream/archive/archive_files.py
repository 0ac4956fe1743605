"""Writes a file of the archive whole or not at all, and reads its sum back."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb
import pyarrow as pa
from pyarrow import parquet

from sensorstream.archive.manifest import ArchivePart, FileContent, State
from sensorstream.archive.parquet_layout import DUCKDB_BITS, ArchivedTable, sum_query
from sensorstream.errors import ArchiveError
from sensorstream.history.copied_rows import copied

if TYPE_CHECKING:
    from psycopg2 import extensions

_GROUP: Final = 65_536
"""Rows that are left out together where none of them is asked for."""

Sums: TypeAlias = tuple[int, ...]
"""The result of :func:`.sum_query` for some rows."""

_PART = ".part"


def write_rows(path: Path, table: ArchivedTable, cursor: extensions.cursor, relation: str) -> int:
    """Write the rows of a relation to a new file, and return their number; it is on disk under its
    name then. Raises ArchiveError if the file cannot be written.
    """
    part, rows = part_name(path), 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(parquet.ParquetWriter(part, table.schema, compression="zstd")) as writer:
            query = table.select(relation, ordered=True)
            for batch in copied(cursor, query, table.schema):
                writer.write_batch(batch, _GROUP)
                rows += batch.num_rows
        flush_and_name(part, path)
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"cannot write {path}: {error}") from error
    return rows


def part_name(path: Path) -> Path:
    """The name of a file while it is being written, which other programs do not read."""
    return path.with_name(f".{path.name}{_PART}")


def flush_and_name(part: Path, path: Path) -> None:
    """Give a file its name once it is on disk."""
    _flush(part, os.O_RDWR)
    part.replace(path)
    _flush(path.parent, os.O_RDONLY)


def _flush(path: Path, flags: int) -> None:
    number = os.open(path, flags)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read_sums(path: Path, table: ArchivedTable) -> Sums:
    """The sums of a file on disk; raises ArchiveError if it is unreadable or has other columns."""
    query = sum_query(table, "read_parquet($1)", DUCKDB_BITS)
    try:
        with closing(duckdb.connect(":memory:")) as connection:
            row = connection.execute(query, [pattern(path)]).fetchone()
    except duckdb.Error as error:
        raise ArchiveError(f"cannot read {path}: {error}") from error
    assert row is not None
    return tuple(map(int, row))


def digest(path: Path) -> str:
    """The SHA-256 digest of a file; raises ArchiveError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror}") from error


def archived(part: ArchivePart, folder: Path, rows: Mapping[ArchivedTable, int]) -> ArchivePart:
    """Add to a part the contents of its files on disk, which have so many ``rows``; raises
    ArchiveError if one cannot be read.
    """
    files = part.files(folder)
    held = {table.name: FileContent(rows[table], digest(file)) for table, file in files.items()}
    size = sum(file.stat().st_size for file in files.values())
    return replace(part, state=State.ARCHIVED, held=held, bytes=size)


def check_file(part: ArchivePart, folder: Path, table: ArchivedTable) -> Path:
    """A file of a part; raises ArchiveError if it is unreadable or not what was archived."""
    file = part.file(folder, table)
    if digest(file) != part.held[table.name].digest:
        raise ArchiveError(f"{file} is damaged: it does not hold what was archived")
    return file


def pattern(path: Path) -> str:
    """A path for ``read_parquet``, which takes ``*`` and ``[`` for signs of a pattern."""
    return glob.escape(str(path))


def remove(path: Path) -> None:
    """Delete a file, and the rest of an attempt to write it."""
    for each in (path, part_name(path)):
        with suppress(FileNotFoundError):
            each.unlink()
