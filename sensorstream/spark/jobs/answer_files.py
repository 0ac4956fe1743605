"""Answers of Spark as files: Spark writes them in parts, one Parquet file is kept.

The answer to SQL has its columns. That to SPARQL has a column for each variable, with terms as
N-Triples; a graph has three columns, ASK one truth value. A plan is a table of its parts.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from sqlglot import exp

from sensorstream.errors import SparkError
from sensorstream.history.asking.answer_formats import ARROW, CSV, PARQUET
from sensorstream.history.asking.query_answer import (
    Answer,
    GraphAnswer,
    Solutions,
    answer_of,
    rows_of_batch,
)
from sensorstream.history.read_only_sql import AnswerColumn, SqlStream
from sensorstream.history.sql_formats import arrow_stream, csv_pieces, json_value
from sensorstream.model.terms import Term, Triple, term
from sensorstream.spark.written_answers import typed
from sensorstream.sql.sparql.compiled_query import SqlQuery

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

ANSWER: Final = "answer.parquet"
_PARTS: Final = "parts"
_BATCH: Final = 64 * 1024
_FORM: Final = b"sensorstream.form"
# A solution without variables is a row, too.
_NOTHING: Final = ""


def write_table(
    answer: DataFrame, names: Sequence[str], folder: Path, form: str | None = None
) -> int:
    """Write the rows of an answer to SQL, in their order, as ``answer.parquet``; returns their
    number.

    Two of ``names`` may be the same; ``folder`` exists and, on a cluster, is shared with the
    executors. ``form`` is that of a SPARQL query.

    Raises:
        SparkError: the executors wrote the parts elsewhere.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, batches = _computed(answer, folder)
    schema = pa.schema(
        [pa.field(name, each.type) for name, each in zip(names, columns, strict=True)],
        None if form is None else {_FORM: form.encode()},
    )
    rows = 0
    with pq.ParquetWriter(folder / ANSWER, schema) as writer:
        for batch in batches:
            # Spark writes durations as whole numbers.
            pairs = zip(batch.columns, schema, strict=True)
            cells = [column.cast(field.type) for column, field in pairs]
            writer.write_batch(pa.record_batch(cells, schema=schema))
            rows += batch.num_rows
    shutil.rmtree(folder / _PARTS)
    return rows


def write_terms(answer: DataFrame, query: SqlQuery, folder: Path) -> int:
    """Write the answer to a SPARQL query, as :func:`write_table`; ``query`` says what it means."""
    told = term_rows(answer, query)
    return write_table(told, told.columns, folder, query.form)


def term_rows(answer: DataFrame, query: SqlQuery) -> DataFrame:
    """The answer to a SPARQL query as a data frame, computed where its rows are."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    if query.form == "ASK":
        names, kind = ["boolean"], pa.bool_()
    else:
        names, kind = [each.name for each in query.columns] or [_NOTHING], pa.string()
    schema = pa.schema([pa.field(name, kind) for name in names])
    # The executors need no tree.
    query = replace(query, tree=exp.Select())

    def told(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            found = answer_of(query, iter(rows_of_batch(batch)))
            if isinstance(found, bool):
                columns: list[list[Any]] = [[found]]
            else:
                rows = found.triples if isinstance(found, GraphAnswer) else found.rows
                columns = _columns(rows, len(names))
            yield pa.record_batch([pa.array(each, kind) for each in columns], schema=schema)

    return _numbered(answer).mapInArrow(told, from_arrow_schema(schema))


def write_plan(parts: Mapping[str, str], folder: Path) -> int:
    """Write the parts of a plan that have a text, as :func:`write_table`; each is a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    told = [(part, text) for part, text in parts.items() if text]
    names, texts = ([each[column] for each in told] for column in (0, 1))
    pq.write_table(pa.table({"part": names, "text": texts}), folder / ANSWER)
    return len(told)


def read_answer(file: IO[bytes]) -> Answer:
    """The answer to a SPARQL query; it is read while the file is open."""
    import pyarrow.parquet as pq

    kept = pq.ParquetFile(file)
    form = kept.schema_arrow.metadata[_FORM].decode()
    rows = chain.from_iterable(map(rows_of_batch, kept.iter_batches(_BATCH)))
    if form == "ASK":
        return bool(next(rows)[0])
    names = tuple(name for name in kept.schema_arrow.names if name != _NOTHING)
    found = (
        tuple(None if each is None else term(each) for each in row[: len(names)]) for row in rows
    )
    return (
        Solutions(names, found) if form == "SELECT" else GraphAnswer(cast(Iterator[Triple], found))
    )


def _computed(
    answer: DataFrame, folder: Path
) -> tuple[pyarrow.Schema, Iterator[pyarrow.RecordBatch]]:
    """Let Spark compute an answer; gives its types and its rows, which are gone once they are read.

    Spark's tasks write parts of it at once, so neither this process nor the JVM holds it whole.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    answer = typed(_numbered(answer))
    parts = folder / _PARTS
    shutil.rmtree(parts, ignore_errors=True)
    answer.write.parquet(str(parts))
    written = sorted(parts.glob("part-*.parquet"))
    if not written:
        raise SparkError(
            f"Spark's executors do not write to {folder}: on a cluster, history.folder must be a "
            "folder that they share with this process"
        )
    return to_arrow_schema(answer.schema, timezone="UTC"), _read(written)


def _numbered(answer: DataFrame) -> DataFrame:
    """The answer with other names: Spark writes no Parquet with two columns of one name."""
    return answer.toDF(*(f"c{number}" for number in range(len(answer.columns))))


def _read(parts: Sequence[Path]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow.parquet as pq

    for part in parts:
        with pq.ParquetFile(part) as file:
            yield from file.iter_batches(_BATCH)


def _columns(rows: Iterator[Sequence[Term | None]], width: int) -> list[list[str | None]]:
    told = ([None if each is None else _utf8(each.n3) for each in row] or [None] for row in rows)
    return list(map(list, zip(*told, strict=True))) or [[] for _ in range(width)]


def _utf8(text: str) -> str:
    # A SPARQL escape can make a lone surrogate; UTF-8 cannot hold it.
    return text.encode("utf-8", "replace").decode()


JSON: Final = "application/json"
_READ: Final = 4096
_PIECE: Final = 1 << 18


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


def _arrow(answer: IO[bytes]) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(answer) as file:
        yield from arrow_stream(file.schema_arrow, file.iter_batches(_READ))


PIECES: Final[Mapping[str, Callable[[IO[bytes]], Iterator[bytes]]]] = {
    JSON: _json,
    CSV: lambda answer: csv_pieces(_stream(answer)),
    ARROW: _arrow,
    PARQUET: lambda answer: iter(lambda: answer.read(_PIECE), b""),
}
"""The writers of an answer to SQL by media type, the preferred one first."""


def first_rows(answer: IO[bytes], most: int) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns of an answer to SQL, and its first rows."""
    found = _stream(answer).result(most)
    return found.columns, list(found.rows)


def _stream(answer: IO[bytes]) -> SqlStream:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(answer)
    columns = tuple(map(AnswerColumn, file.schema_arrow.names))
    return SqlStream(columns, map(rows_of_batch, file.iter_batches(_READ)))
