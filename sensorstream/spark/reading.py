"""Spark reads the history's tables over PostgreSQL's COPY, as Arrow.

Each task reads a range of a table's pages (of a partition's, where the table has such), so it needs
no index and all are about the same size. All of them read one exported snapshot, in which every row
is on one page: a query sees one state of the history, each row once, even if it takes long and
others write meanwhile. The rows stream: memory does not grow with the range.

The conditions that a view always has ("this class", "this property") are evaluated by PostgreSQL.

A Python Data Source would do the same, but Spark 4.3 starts two Python processes for each relation
of a query to plan it, some seconds on a busy machine; the ranges are planned here instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from io import BufferedReader, FileIO
from threading import Thread
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from psycopg2 import extensions, sql
from pyarrow import csv

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating
from sensorstream.spark.source_tables import SourceColumn, SourceTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# 64 MB of a table, some 600,000 statements.
_MOST_PAGES: Final = 8_192
# Less is not worth a task of its own.
_FEWEST_PAGES: Final = 128
# Of so small a share of the rows, PostgreSQL's index finds all at once.
_SELECTIVE: Final = 0.02
# Bytes of CSV that are parsed at once; a row must fit, and rows with texts may be large.
_BLOCK: Final = 4 << 20
_TEXT_BLOCK: Final = 64 << 20

# The table, or its partitions: name, pages, and rows when last counted.
_RELATIONS: Final = """
select c.oid::regclass::text,
       pg_relation_size(c.oid) / current_setting('block_size')::bigint, c.reltuples
from pg_class c
where c.relkind = 'r'
  and (c.oid = %(name)s::regclass or c.oid in (select relid from pg_partition_tree(%(name)s)))
order by c.oid
"""

_ARROW = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.int64(),
    "binary": pa.string(),
    "decimal(19, 0)": pa.decimal128(19, 0),
}


@dataclass(frozen=True, slots=True)
class Pages:
    """The rows on the pages from ``low`` up to ``high`` of a relation; None: on all pages."""

    relation: str
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Reads some columns of a table in an exported snapshot.

    ``equals`` are columns (also ones that are not read) and the values they must have.
    """

    table: SourceTable
    url: str
    snapshot: str
    parallelism: int
    equals: tuple[tuple[str, str], ...]

    def relation(self, spark: SparkSession) -> DataFrame:
        """The table for Spark, one task a range."""
        ranges = self.partitions()

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from self.read(ranges[number])

        return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(rows, self.table.schema)

    def partitions(self) -> Sequence[Pages]:
        """Ranges of pages; a larger table has more of them."""
        told: list[Pages] = []
        with (
            closing(self._connect()) as connection,
            translating("cannot read the history"),
            connection.cursor() as cursor,
        ):
            cursor.execute(_RELATIONS, {"name": f"store.{self.table.name}"})
            relations = cursor.fetchall()
            whole = sum(pages for _, pages, _ in relations)
            size = min(max(whole // self.parallelism + 1, _FEWEST_PAGES), _MOST_PAGES)
            for relation, pages, rows in relations:
                if pages > size and self._selective(cursor, relation, rows):
                    told.append(Pages(relation))
                else:
                    starts = range(0, pages, size)
                    told += [Pages(relation, start, start + size) for start in starts]
        return told or [Pages(f"store.{self.table.name}", 0, 0)]

    def read(self, pages: Pages) -> Iterator[pa.RecordBatch]:
        """The rows of one range, as they come."""
        with closing(self._connect()) as connection, connection.cursor() as cursor:
            query = sql.SQL("copy ({}) to stdout (format csv)").format(self._select(pages))
            copying = _Copying(cursor, query.as_string(cursor))
            with copying.output as told:
                if told.peek(1):
                    yield from _arrow(told, self.table.columns)
            copying.finish()

    def _selective(self, cursor: extensions.cursor, relation: str, rows: float) -> bool:
        """Whether the equalities leave few rows of a relation."""
        if not self.equals or rows <= 0:
            return False
        cursor.execute(sql.SQL("explain (format json) {}").format(self._select(Pages(relation))))
        (((plan,),),) = cursor.fetchall()
        return bool(plan["Plan"]["Plan Rows"] < _SELECTIVE * rows)

    def _select(self, pages: Pages) -> sql.Composable:
        tests: list[sql.Composable] = [
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in self.equals
        ]
        if pages.high is not None:
            tests += [
                sql.SQL("ctid >= {}::tid").format(sql.Literal(f"({pages.low},0)")),
                sql.SQL("ctid < {}::tid").format(sql.Literal(f"({pages.high},0)")),
            ]
        return sql.SQL("select {} from {} where {}").format(
            sql.SQL(", ".join(each.sql for each in self.table.columns)),
            # PostgreSQL's own writing of the name, with quotes where it needs them.
            sql.SQL(pages.relation),
            sql.SQL(" and ").join(tests or [sql.SQL("true")]),
        )

    def _connect(self) -> extensions.connection:
        connection = connect(self.url, application="sensorstream spark")
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with translating("the history's snapshot is gone"), connection.cursor() as cursor:
            cursor.execute("set transaction snapshot %s", (self.snapshot,))
        return connection


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
