"""A Python Data Source: Spark reads the history's tables over PostgreSQL's COPY, as Arrow.

Each partition is a range of stays (or sequence numbers). All of them read one exported snapshot,
so a query sees one state of the history, even if it takes long and others write meanwhile.

The conditions that a view always has ("this class", "this property") are evaluated by PostgreSQL:
the option ``equals``. Spark's own filter push-down is not used: Spark 4.3 keeps one reader per
loaded relation, so two uses of it with different filters would both get the filters of one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from psycopg2 import extensions, sql
from pyarrow import csv
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from sensorstream.history.database import connect, translating
from sensorstream.spark.source_tables import SOURCE_TABLES, SourceColumn, SourceTable

FORMAT = "sensorstream-history"
# A partition is held in memory once as CSV and once as Arrow: some 100 MB of statements.
_LARGEST_PARTITION = 50_000

_ARROW = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.int64(),
    "binary": pa.string(),
}


@dataclass
class KeyRange(InputPartition):  # type: ignore[misc]
    """The rows with ``low <= key < high``."""

    low: int
    high: int


class HistorySource(DataSource):  # type: ignore[misc]
    """Options: ``url`` of the history, ``table``, exported ``snapshot``, ``parallelism``.

    ``columns`` are names with commas between; ``equals`` is a JSON object from text columns (also
    ones that are not read) to the values they must have.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.options = options

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return self._table().schema

    def reader(self, schema: StructType) -> HistoryReader:
        return HistoryReader(
            self._table(),
            self.options["url"],
            self.options["snapshot"],
            int(self.options["parallelism"]),
            tuple(json.loads(self.options["equals"]).items()),
        )

    def _table(self) -> SourceTable:
        table = SOURCE_TABLES[self.options["table"]]
        return table.only(self.options["columns"].split(","))


@dataclass
class HistoryReader(DataSourceReader):  # type: ignore[misc]
    """Planned in a Python process of the driver, run in those of the executors."""

    table: SourceTable
    url: str
    snapshot: str
    parallelism: int
    equals: tuple[tuple[str, str], ...]

    def partitions(self) -> Sequence[InputPartition]:
        """Ranges of the key; more rows give more ranges."""
        query = sql.SQL("select min({key}), max({key}) from {table}").format(
            key=sql.Identifier(self.table.key), table=sql.Identifier("store", self.table.name)
        )
        connection = self._connect()
        try:
            with translating("cannot read the history"), connection.cursor() as cursor:
                cursor.execute(query)
                low, high = cursor.fetchone() or (None, None)
        finally:
            connection.close()
        if low is None:
            return [KeyRange(0, 0)]
        even = -(-(high + 1 - low) // self.parallelism)
        size = min(max(even, 1), _LARGEST_PARTITION)
        return [KeyRange(start, start + size) for start in range(low, high + 1, size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        assert isinstance(partition, KeyRange)
        told = io.BytesIO()
        connection = self._connect()
        try:
            with translating("cannot read the history"), connection.cursor() as cursor:
                cursor.copy_expert(self._copy(cursor, partition), told)
        finally:
            connection.close()
        if told.tell():
            told.seek(0)
            yield from _arrow(told, self.table.columns)

    def _copy(self, cursor: extensions.cursor, partition: KeyRange) -> str:
        key = sql.Identifier(self.table.key)
        tests = [
            sql.SQL("{} >= {}").format(key, sql.Literal(partition.low)),
            sql.SQL("{} < {}").format(key, sql.Literal(partition.high)),
            *(
                sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value))
                for name, value in self.equals
            ),
        ]
        columns = ", ".join(each.sql for each in self.table.columns)
        query = sql.SQL("copy (select {} from {} where {}) to stdout (format csv)").format(
            sql.SQL(columns),
            sql.Identifier("store", self.table.name),
            sql.SQL(" and ").join(tests),
        )
        return query.as_string(cursor)

    def _connect(self) -> extensions.connection:
        connection = connect(self.url, application="sensorstream spark")
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with translating("the history's snapshot is gone"), connection.cursor() as cursor:
            cursor.execute("set transaction snapshot %s", (self.snapshot,))
        return connection


def _arrow(told: io.BytesIO, columns: Sequence[SourceColumn]) -> Iterator[pa.RecordBatch]:
    table = csv.read_csv(
        told,
        read_options=csv.ReadOptions(column_names=[each.name for each in columns]),
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
    for index, column in enumerate(columns):
        if column.kind == "timestamp":
            moments = table.column(index).cast(pa.timestamp("us", tz="UTC"))
            table = table.set_column(index, column.name, moments)
        elif column.kind == "binary":
            values = table.column(index).to_pylist()
            decoded = [None if each is None else bytes.fromhex(each) for each in values]
            table = table.set_column(index, column.name, pa.array(decoded, pa.binary()))
    yield from table.to_batches()
