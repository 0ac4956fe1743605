"""Answers in SQL as JSON values, and streamed as CSV or Arrow."""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sensorstream.client.results import Results
from sensorstream.errors import QueryError
from sensorstream.history.asking.answer_formats import ARROW, CSV, csv_batches
from sensorstream.history.read_only_sql import NUMERIC, AnswerColumn, Row, SqlResult, SqlStream
from sensorstream.installation import require

if TYPE_CHECKING:
    import pyarrow

# PostgreSQL's OIDs and Arrow's names of the types.
_ARROW_TYPES: Final[Mapping[int, str]] = {
    16: "bool",
    17: "binary",
    20: "int64",
    21: "int16",
    23: "int32",
    26: "int64",
    700: "float32",
    701: "float64",
    NUMERIC: "float64",
    1082: "date32[day]",
}
_TIMES: Final = {1114: None, 1184: "UTC"}
_LONGEST_DECIMAL: Final = 76


_MOST: Final = int(sys.float_info.max)


def json_value(value: object) -> Any:
    """A database value as a JSON value: times in ISO 8601, NaN and infinities as text; a number
    that no double can hold too.
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _MOST else str(Decimal(value))
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            if not value.is_finite() or abs(value) > _MOST:
                return str(value)
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime() | date() | time():
            return value.isoformat().replace("+00:00", "Z")
        case bytes() | bytearray() | memoryview():
            return _text(bytes(value))
        case list() | tuple():
            return [json_value(each) for each in value]
        case Mapping():
            return {str(name): json_value(each) for name, each in value.items()}
        case _:
            return str(value)


def csv_pieces(stream: SqlStream) -> Iterator[bytes]:
    """The answer as CSV (RFC 4180, with line feeds), head first; NULL is an empty field.

    Numbers are exact, bytes are text where they are UTF-8, else base64; lists and objects are JSON.
    """
    rows = (([_cell(value) for value in row] for row in batch) for batch in stream.batches)
    return csv_batches([each.name for each in stream.columns], rows, "\n")


def arrow_pieces(stream: SqlStream) -> Iterator[bytes]:
    """The answer in Arrow's streaming format, a record batch a piece.

    A ``numeric`` is a decimal if the query has its precision and scale, else a double; types that
    Arrow lacks are text, as in CSV.

    Raises:
        MissingExtra: the extra "frames" is not installed.
        QueryError: a value does not fit the type of its column (NaN as a decimal).
    """
    require("frames", "an answer in Arrow")
    import pyarrow as pa

    schema = pa.schema([pa.field(each.name, _arrow_type(each)) for each in stream.columns])

    def batch(rows: Sequence[Row]) -> pyarrow.RecordBatch:
        columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
        arrays = [_array(values, each) for values, each in zip(columns, schema, strict=True)]
        return pa.record_batch(arrays, schema=schema)

    return arrow_stream(schema, map(batch, stream.batches))


def arrow_stream(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[bytes]:
    """Record batches in Arrow's streaming format, one a piece."""
    import pyarrow as pa

    sink = io.BytesIO()

    def taken() -> bytes:
        piece = sink.getvalue()
        sink.seek(0)
        sink.truncate()
        return piece

    with pa.ipc.new_stream(sink, schema) as writer:
        for each in batches:
            writer.write_batch(each)
            yield taken()
    yield taken()


def csv_table(table: SqlResult) -> bytes:
    """The rows of a result in memory as CSV, like :func:`csv_pieces`."""
    stream = SqlStream(tuple(map(AnswerColumn, table.columns)), iter([table.rows]))
    return b"".join(csv_pieces(stream))


def arrow_table(table: SqlResult) -> bytes:
    """The rows of a result in memory in Arrow's streaming format; types by the values."""
    found = Results(table.columns, table.rows).to_arrow()
    return b"".join(arrow_stream(found.schema, found.to_batches()))


PIECES: Final[Mapping[str, Callable[[SqlStream], Iterator[bytes]]]] = {
    CSV: csv_pieces,
    ARROW: arrow_pieces,
}
"""The writers of the streamed formats, by media type."""
WHOLE: Final[Mapping[str, Callable[[SqlResult], bytes]]] = {CSV: csv_table, ARROW: arrow_table}
"""The writers of the same formats for a result in memory."""


def _cell(value: object) -> object:
    if isinstance(value, str | int | float | Decimal | None) and not isinstance(value, bool):
        return value
    plain = json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _arrow_type(column: AnswerColumn) -> pyarrow.DataType:
    import pyarrow as pa

    if column.type in _TIMES:
        return pa.timestamp("us", tz=_TIMES[column.type])
    if column.precision is not None and column.precision <= _LONGEST_DECIMAL:
        kind = pa.decimal128 if column.precision <= 38 else pa.decimal256
        return kind(column.precision, column.scale)
    return pa.type_for_alias(_ARROW_TYPES.get(column.type, "string"))


def _array(values: Any, field: pyarrow.Field) -> pyarrow.Array:
    import pyarrow as pa

    if pa.types.is_string(field.type):
        values = [None if each is None else str(_cell(each)) for each in values]
    elif pa.types.is_floating(field.type):
        values = [None if each is None else float(each) for each in values]
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowException, OverflowError, ValueError) as error:
        raise QueryError(
            f"column '{field.name}' has a value that is no {field.type} ({error}): "
            "cast it to text or double precision"
        ) from None


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
