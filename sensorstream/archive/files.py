"""Writes a file of the archive whole or not at all, and reads its sum back."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb
import pyarrow as pa
from pyarrow import parquet

from sensorstream.archive.layout import DUCKDB_BITS, ArchivedTable, sum_query
from sensorstream.errors import ArchiveError

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg2 import extensions

_BATCH_ROWS: Final = 65_536
_BATCH_BYTES: Final = 32 * 1024 * 1024


def copy_batches(
    cursor: extensions.cursor,
    query: str,
    columns: pa.Schema,
    take: Callable[[pa.RecordBatch], None],
) -> int:
    """Give the rows of a query to ``take``, in its order, some tens of thousands at a time.

    The columns of the query are those of ``columns``, in order; a timestamp is given as its
    microseconds since 1970. A batch holds at most about 32 MiB, or one row.

    Returns:
        The number of rows.
    """
    batches = _Batches(columns, take)
    cursor.copy_expert(f"copy ({query}) to stdout (format csv)", batches)
    batches.flush()
    return batches.rows


class _Batches:
    """A file for COPY: psycopg2 writes one whole row at a time, whatever breaks it holds."""

    def __init__(self, columns: pa.Schema, take: Callable[[pa.RecordBatch], None]) -> None:
        self.rows = 0
        self._columns = columns
        self._take = take
        self._lines: list[bytes] = []
        self._bytes = 0

    def write(self, line: bytes) -> int:
        self._lines.append(line)
        self._bytes += len(line)
        if len(self._lines) == _BATCH_ROWS or self._bytes >= _BATCH_BYTES:
            self.flush()
        return len(line)

    def flush(self) -> None:
        if not self._lines:
            return
        table = _parse(b"".join(self._lines), self._columns)
        assert table.num_rows == len(self._lines), "a row of COPY was cut"
        self.rows += table.num_rows
        self._lines, self._bytes = [], 0
        for batch in table.to_batches():
            self._take(batch)


def _parse(content: bytes, columns: pa.Schema) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    plain = {
        each.name: pa.int64() if pa.types.is_timestamp(each.type) else each.type for each in columns
    }
    table = csv.read_csv(
        pa.BufferReader(content),
        # One block: a row must not cross the end of one.
        read_options=csv.ReadOptions(
            column_names=list(plain), block_size=len(content) + 1, use_threads=False
        ),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=plain,
            # COPY writes NULL as nothing and an empty text as "".
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return table.cast(columns)


Sums: TypeAlias = tuple[int, ...]
"""What :func:`.sum_query` gives for some rows."""

_PART = ".part"


def write_rows(path: Path, table: ArchivedTable, cursor: extensions.cursor, relation: str) -> int:
    """Write the rows of a relation to a new file; it is on disk under its name when this returns.

    Returns:
        The number of rows.

    Raises:
        ArchiveError: the file cannot be written.
    """
    part = part_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(parquet.ParquetWriter(part, table.schema, compression="zstd")) as writer:
            query = table.select(relation, ordered=True)
            rows = copy_batches(cursor, query, table.schema, writer.write_batch)
        flush_and_name(part, path)
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"cannot write {path}: {error}") from error
    return rows


def part_name(path: Path) -> Path:
    """The name of a file while it is being written."""
    return path.with_name(path.name + _PART)


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
    """The sums of a file, from what is on disk.

    Raises:
        ArchiveError: the file cannot be read, or is no Parquet file with these columns.
    """
    query = sum_query(table, "read_parquet($1)", DUCKDB_BITS)
    try:
        with closing(duckdb.connect(":memory:")) as connection:
            row = connection.execute(query, [pattern(path)]).fetchone()
    except duckdb.Error as error:
        raise ArchiveError(f"cannot read {path}: {error}") from error
    assert row is not None
    return tuple(map(int, row))


def digest(path: Path) -> str:
    """The SHA-256 digest of a file.

    Raises:
        ArchiveError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror}") from error


def pattern(path: Path) -> str:
    """A path for ``read_parquet``, which takes ``*`` and ``[`` for signs of a pattern."""
    return glob.escape(str(path))


def remove(path: Path) -> None:
    """Delete a file, and what is left of an attempt to write it."""
    for each in (path, part_name(path)):
        with suppress(FileNotFoundError):
            each.unlink()
