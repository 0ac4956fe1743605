"""Rows of PostgreSQL as Arrow batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

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
