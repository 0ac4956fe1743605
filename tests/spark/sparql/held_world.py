"""Data sets that Spark holds, and queries compiled for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from sensorstream.history.asking.query_answer import rows_of_batch
from sensorstream.model.terms import IRI
from sensorstream.spark.bulk_sql import spark_errors
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.sparql import spark_query as on_spark
from sensorstream.sparql.algebra import Query
from sensorstream.sql.spark_dialect import spark_query
from sensorstream.sql.sparql.compiled_query import SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query
from tests.history.sparql.world import World

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.source_tables import SourceTable

TYPES: Final = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
}
SAID: Final = SOURCE_TABLES["statements"].only(("subject", "predicate", "object", "stay", "number"))


class SparkWorld(World):
    """Data sets in PostgreSQL; Spark holds the one that is asked about."""

    def __init__(self, url: str, spark: SparkSession) -> None:
        super().__init__(url)
        self._spark = spark
        self._held: dict[str, DataFrame] = {}

    def compiled(self, query: Query, graphs: Mapping[IRI | None, int]) -> SqlQuery:
        """A query over one data set, which Spark holds from now on."""
        scope = replace(self.relations(query, graphs), beside=False, marked=False)
        self._hold(SAID, "said", "true")
        ids = [int(each) for each in scope.ids.values()]
        self._cursor.execute(
            "create temporary table used as select unnest(array[subject, predicate, object]) as id "
            "from said union select unnest(%s::bigint[])",
            (ids,),
        )
        self._hold(SOURCE_TABLES["terms"], "store.terms", "id in (select id from used)")
        self._cursor.execute("drop table used")
        compiled = compile_query(query, scope)
        for each in list(compiled.tree.find_all(exp.Table)):
            if each.name == "said":
                each.replace(exp.table_("statements", db="store", alias=each.alias or "said"))
        return compiled

    def rows(self, query: SqlQuery) -> list[tuple[Any, ...]]:
        """The rows that Spark finds."""
        snapshot: Any = None
        told = spark_query(query.tree)
        with spark_errors():
            for closure in told.closures:
                rows = on_spark.closure_of(self._spark, snapshot, closure)
                rows.createOrReplaceTempView(closure.name)
            found = on_spark.over_snapshot(self._spark, snapshot, told.text).toArrow()
        return [row for batch in found.to_batches() for row in rows_of_batch(batch)]

    def over_held(
        self, spark: SparkSession, _: object, text: str, names: Mapping[str, SourceTable]
    ) -> DataFrame:
        for name, table in names.items():
            self._held[table.name].createOrReplaceTempView(name)
        return spark.sql(text)

    def _hold(self, table: SourceTable, name: str, test: str) -> None:
        columns = ", ".join(each.written for each in table.columns)
        self._cursor.execute(f"select {columns} from {name} where {test}")
        rows = self._cursor.fetchall()
        values = zip(*rows, strict=True) if rows else ([] for _ in table.columns)
        found = {
            each.name: pa.array(column, pa.int64()).cast(TYPES[each.kind])
            if each.kind == "timestamp"
            else pa.array(column, TYPES[each.kind])
            for each, column in zip(table.columns, values, strict=True)
        }
        self._held[table.name] = self._spark.createDataFrame(pa.table(found))
