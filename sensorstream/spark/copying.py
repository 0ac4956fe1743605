"""PostgreSQL's COPY as Arrow batches, streamed: what is in memory does not grow with the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedReader, FileIO
from threading import Thread
from typing import Final

import pyarrow as pa
from psycopg2 import extensions, sql
from pyarrow import csv

from sensorstream.errors import HistoryError
from sensorstream.spark.source_tables import SourceColumn

# Bytes of CSV that are parsed at once; a row must fit, and rows with texts may be large.
_BLOCK: Final = 4 << 20
_TEXT_BLOCK: Final = 64 << 20

_ARROW = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.int64(),
    "binary": pa.string(),
}


def copied(
    cursor: extensions.cursor, query: sql.Composable, columns: Sequence[SourceColumn]
) -> Iterator[pa.RecordBatch]:
    """The rows of a query, as they come; its columns are those given.

    Raises:
        HistoryError: PostgreSQL did not give all rows.
    """
    text = sql.SQL("copy ({}) to stdout (format csv)").format(query)
    copying = _Copying(cursor, text.as_string(cursor))
    with copying.output as told:
        if told.peek(1):
            yield from _arrow(told, columns)
    copying.finish()


class _Copying:
    """A COPY that runs in a thread of its own into a pipe; ``output`` is the other end of it."""

    def __init__(self, cursor: extensions.cursor, query: str) -> None:
        source, sink = os.pipe()
        self.output = BufferedReader(FileIO(source), 1 << 20)
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, args=(cursor, query, sink), daemon=True)
        self._thread.start()

    def _run(self, cursor: extensions.cursor, query: str, sink: int) -> None:
        try:
            with suppress(BrokenPipeError), os.fdopen(sink, "wb") as file:
                cursor.copy_expert(query, file, size=1 << 16)
        except Exception as error:
            self._error = error

    def finish(self) -> None:
        """Wait for the end.

        Raises:
            HistoryError: PostgreSQL did not give all rows.
        """
        self._thread.join()
        if self._error is not None:
            raise HistoryError(f"cannot read the history: {self._error}") from self._error


def _arrow(
    told: BufferedReader[FileIO], columns: Sequence[SourceColumn]
) -> Iterator[pa.RecordBatch]:
    texts = any(each.kind in ("string", "binary") for each in columns)
    batches = csv.open_csv(
        told,
        read_options=csv.ReadOptions(
            column_names=[each.name for each in columns],
            block_size=_TEXT_BLOCK if texts else _BLOCK,
            use_threads=False,
        ),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={each.name: _ARROW[each.kind] for each in columns},
            # COPY writes NULL as nothing and an empty text as "".
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    for batch in batches:
        yield pa.RecordBatch.from_arrays(
            [_converted(batch.column(n), each.kind) for n, each in enumerate(columns)],
            names=[each.name for each in columns],
        )


def _converted(values: pa.Array, kind: str) -> pa.Array:
    if kind == "timestamp":
        return values.cast(pa.timestamp("us", tz="UTC"))
    if kind == "binary":
        decoded = [None if each is None else bytes.fromhex(each) for each in values.to_pylist()]
        return pa.array(decoded, pa.binary())
    return values
