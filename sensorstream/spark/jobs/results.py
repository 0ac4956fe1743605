"""The answer of a job in the formats that clients ask for, a piece at a time."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Final

from sensorstream.history.asking.formats import ARROW, CSV
from sensorstream.history.read_only_sql import Column, SqlStream
from sensorstream.history.sql_formats import csv_pieces, json_value

if TYPE_CHECKING:
    import pyarrow

JSON: Final = "application/json"
PARQUET: Final = "application/vnd.apache.parquet"
_BATCH: Final = 4096
_PIECE: Final = 1 << 18
_TEXT: Final = 25


def _json(answer: IO[bytes]) -> Iterator[bytes]:
    stream = _stream(answer)
    names = json.dumps([each.name for each in stream.columns], ensure_ascii=False)
    yield f'{{"columns": {names}, "truncated": false, "rows": ['.encode()
    before = ""
    for rows in stream.batches:
        told = ",\n".join(
            json.dumps([json_value(value) for value in row], ensure_ascii=False) for row in rows
        )
        if told:
            yield f"{before}{told}".encode()
            before = ",\n"
    yield b"]}\n"


def _csv(answer: IO[bytes]) -> Iterator[bytes]:
    return csv_pieces(_stream(answer))


def _arrow(answer: IO[bytes]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    with pq.ParquetFile(answer) as file, pa.ipc.new_stream(sink, file.schema_arrow) as writer:
        for batch in file.iter_batches(_BATCH):
            writer.write_batch(batch)
            yield _taken(sink)
    yield _taken(sink)


def _parquet(answer: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: answer.read(_PIECE), b"")


PIECES: Final[Mapping[str, Callable[[IO[bytes]], Iterator[bytes]]]] = MappingProxyType(
    {JSON: _json, CSV: _csv, ARROW: _arrow, PARQUET: _parquet}
)
"""The writers of an answer to SQL by media type, the preferred one first."""


def first_rows(answer: IO[bytes], most: int) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns of an answer to SQL, and its first rows."""
    found = _stream(answer).result(most)
    return found.columns, list(found.rows)


def _stream(answer: IO[bytes]) -> SqlStream:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(answer)
    columns = tuple(Column(name, _TEXT) for name in file.schema_arrow.names)
    return SqlStream(columns, (_rows(batch) for batch in file.iter_batches(_BATCH)))


def _rows(batch: pyarrow.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _taken(sink: io.BytesIO) -> bytes:
    piece = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return piece
