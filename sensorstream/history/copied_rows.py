"""PostgreSQL's COPY as a stream of Arrow batches; memory does not grow with the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader, FileIO
from threading import Thread
from typing import Final

import pyarrow as pa
from psycopg2 import extensions
from pyarrow import csv

from sensorstream.errors import HistoryError

# Bytes of CSV that are parsed at once; a row must fit, and texts may be long.
_BLOCK: Final = 4 << 20
_TEXT_BLOCK: Final = 64 << 20


def copied(cursor: extensions.cursor, query: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a query, as they come; its columns are those given.

    The query gives a timestamp as its microseconds since 1970, and bytes as hexadecimal digits.
    Raises HistoryError if PostgreSQL did not give all rows.
    """
    source, sink = os.pipe()
    failed: list[Exception] = []

    def run() -> None:
        try:
            with suppress(BrokenPipeError), os.fdopen(sink, "wb") as file:
                cursor.copy_expert(f"copy ({query}) to stdout (format csv)", file, size=1 << 16)
        except Exception as error:
            failed.append(error)

    copying = Thread(target=run, daemon=True)
    copying.start()
    try:
        with BufferedReader(FileIO(source), 1 << 20) as told:
            if told.peek(1):
                yield from _arrow(told, columns)
    finally:
        copying.join()
    for error in failed:
        raise HistoryError(f"cannot read the history: {error}") from error


def _arrow(told: BufferedReader[FileIO], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    plain = {each.name: _plain(each.type) for each in columns}
    texts = pa.string() in plain.values()
    batches = csv.open_csv(
        told,
        read_options=csv.ReadOptions(
            column_names=columns.names,
            block_size=_TEXT_BLOCK if texts else _BLOCK,
            use_threads=False,
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
    for batch in batches:
        pairs = zip(batch.columns, columns, strict=True)
        yield pa.RecordBatch.from_arrays(
            [_converted(values, each.type) for values, each in pairs], schema=columns
        )


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a type in COPY."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.string() if pa.types.is_binary(kind) else kind


def _converted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return values.cast(kind)
    if pa.types.is_binary(kind):
        decoded = [None if each is None else bytes.fromhex(each) for each in values.to_pylist()]
        return pa.array(decoded, kind)
    return values
