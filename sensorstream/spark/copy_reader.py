"""Spark reads the history's tables over PostgreSQL's COPY, as Arrow.

Each task reads a range of the pages of a table or of its partition, so it needs no index and all
are about the same size. All read one exported snapshot, in which every row is on one page: a query
sees one state of the history, each row once, even if it takes long and others write meanwhile. The
rows stream: memory does not grow with the range.

Conditions are evaluated by PostgreSQL: it leaves out partitions, and finds few rows by its indexes.

A Python Data Source would do the same, but Spark 4.3 starts two Python processes for each relation
of a query to plan it, some seconds on a busy machine; the ranges are planned here instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from psycopg2 import extensions, sql

from sensorstream.history.database import connect, translating
from sensorstream.history.partitions import END, FIRST, StatementPartition, partition_of
from sensorstream.model.frozen import frozen, replace
from sensorstream.spark.source_tables import SourceTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# 64 MB of a table, some 600,000 statements.
_MOST_PAGES: Final = 8_192
# Fewer pages are not worth a task of their own.
_FEWEST_PAGES: Final = 128
# PostgreSQL's index finds so small a share of the rows at once.
_SELECTIVE: Final = 0.02
# The most tasks of a table, or tasks for each core; a task has a connection.
_MOST_TASKS: Final = 64
_ROUNDS: Final = 4

_ARROW_TYPES: Final = {
    "bigint": "int64",
    "string": "string",
    "double": "double",
    "boolean": "bool",
    "binary": "binary",
}
"""Arrow's names of Spark's types."""

# For some relations: bounds as partitions, pages, also with those of long texts, and rows when last
# counted.
_SIZES: Final = """
select relname, pg_get_expr(relpartbound, oid),
  pg_relation_size(oid) / current_setting('block_size')::bigint,
  pg_table_size(oid) / current_setting('block_size')::bigint, reltuples
from pg_class where relnamespace = 'store'::regnamespace and relname = any(%s) order by oid
"""


@frozen
class Range:
    """The rows of a table, or of one of its partitions, on the pages from ``low`` up to ``high``.

    With a ``key``, the rows with a value of this column in that range; ``high`` None: all rows.
    """

    relation: str
    partition: StatementPartition | None = None
    low: int = 0
    high: int | None = None
    key: str | None = None

    @property
    def tests(self) -> list[sql.Composable]:
        """The conditions of its rows."""
        told = []
        if self.partition is not None:
            # The reading role may read the table, not its partitions by their names; PostgreSQL
            # goes to the only one that these bounds leave.
            if self.partition.low > FIRST:
                told.append(f"valid_to >= {self.partition.low}")
            if self.partition.high < END:
                told.append(f"valid_to < {self.partition.high}")
        if self.high is not None:
            key, form = ("ctid", "'({},0)'::tid") if self.key is None else (self.key, "{}")
            told += [f"{key} >= {form.format(self.low)}", f"{key} < {form.format(self.high)}"]
        return [sql.SQL(each) for each in told]


@frozen
class HistoryReader:
    """Reads some columns of a table in an exported snapshot, as the role that reads; ``tests`` is a
    condition in SQL, also on other columns. Without a snapshot: as the table is then.
    """

    table: SourceTable
    url: str
    snapshot: str | None
    tests: sql.Composable

    def relation(self, spark: SparkSession, ranges: Sequence[Range]) -> DataFrame:
        """Some ranges for Spark."""

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from self.read(ranges[number] for number in batch.column(0).to_pylist())

        count = len(ranges)
        tasks = min(count, max(_MOST_TASKS, _ROUNDS * spark.sparkContext.defaultParallelism))
        return spark.range(0, count, 1, tasks).mapInArrow(rows, self.table.schema)

    def ranges(self, cursor: extensions.cursor, parallelism: int) -> list[Range]:
        """The ranges of all rows, more for a larger table, read by ``cursor`` in the snapshot's
        transaction; ``parallelism`` tasks run at once.
        """
        with translating("cannot read the history"):
            if self.table.key is not None:
                return self._by_key(cursor, self.table.key, parallelism)
            return self._by_pages(cursor, parallelism)

    def read(self, ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
        """The rows of some ranges, as they come."""
        import pyarrow as pa

        from sensorstream.history.copied_rows import copied

        types = {**_ARROW_TYPES, "timestamp": pa.timestamp("us", tz="UTC")}
        schema = pa.schema([(each.name, types[each.kind]) for each in self.table.columns])
        with closing(self._connect()) as connection, connection.cursor() as cursor:
            for each in ranges:
                yield from copied(cursor, self._select(each).as_string(cursor), schema)

    def _by_pages(self, cursor: extensions.cursor, parallelism: int) -> list[Range]:
        expected = self._expected(cursor)
        cursor.execute(_SIZES, (list(expected),))
        sizes = cursor.fetchall()
        size = _size(sum(pages for _, _, pages, _, _ in sizes), parallelism)
        told: list[Range] = []
        for name, bounds, pages, _, rows in sizes:
            whole = Range(name, partition_of(bounds))
            if not pages:
                continue
            if pages <= size or (rows > 0 and expected[name] < _SELECTIVE * rows):
                told.append(whole)
            else:
                starts = range(0, pages, size)
                told += [replace(whole, low=each, high=each + size) for each in starts]
        return told

    def _by_key(self, cursor: extensions.cursor, key: str, parallelism: int) -> list[Range]:
        cursor.execute(_SIZES, ([self.table.name],))
        ((_, _, _, pages, _),) = cursor.fetchall()
        cursor.execute(
            sql.SQL("select min({0}), max({0}) from {1}").format(
                sql.Identifier(key), self.table.identifier
            )
        )
        ((low, high),) = cursor.fetchall()
        if low is None:
            return []
        width = -(-(high + 1 - low) * _size(pages, parallelism) // max(pages, 1))
        starts = range(low, high + 1, max(width, 1))
        return [Range(self.table.name, None, each, each + width, key) for each in starts]

    def _expected(self, cursor: extensions.cursor) -> Mapping[str, float]:
        """The relations that PostgreSQL would read, and how many rows it expects in each."""
        whole = self._select(Range(self.table.name))
        cursor.execute(sql.SQL("explain (verbose, format json) {}").format(whole))
        (((plan,),),) = cursor.fetchall()
        found: dict[str, float] = {}
        waiting: list[Mapping[str, Any]] = [plan["Plan"]]
        while waiting:
            node = waiting.pop()
            waiting += node.get("Plans", ())
            if "Relation Name" in node:
                found[node["Relation Name"]] = node["Plan Rows"]
        return found

    def _select(self, range_: Range) -> sql.Composable:
        columns = sql.SQL(", ".join(each.written for each in self.table.columns))
        return sql.SQL("select {} from {} where {}").format(
            columns,
            self.table.identifier,
            sql.SQL(" and ").join([self.tests, *range_.tests]),
        )

    def _connect(self) -> extensions.connection:
        connection = connect(self.url, application="sensorstream spark")
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        if self.snapshot is not None:
            with translating("the history's snapshot is gone"), connection.cursor() as cursor:
                cursor.execute("set transaction snapshot %s", (self.snapshot,))
        return connection


def _size(pages: int, parallelism: int) -> int:
    """The number of pages that a task reads."""
    return min(max(pages // parallelism + 1, _FEWEST_PAGES), _MOST_PAGES)
