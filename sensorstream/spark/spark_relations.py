"""A query over the history's tables as a data frame: PostgreSQL and the archive as one.

Every use of a table in a query has a relation of its own, which reads only the columns and the rows
that the query needs there; see :mod:`.needed_columns`. A row is either in PostgreSQL or in a file
of the archive; the terms of both are in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sqlglot import exp

from sensorstream.errors import QueryError
from sensorstream.history.tables import STORE
from sensorstream.spark.copy_reader import HistoryReader
from sensorstream.spark.history_snapshot import HistorySnapshot
from sensorstream.spark.needed_columns import Wanted, wanted
from sensorstream.spark.source_tables import (
    SOURCE_TABLES,
    ColumnComparison,
    ColumnCondition,
    SourceTable,
    condition_of,
)
from sensorstream.sql.postgres.sql_reader import spark_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# If a text has more terms, they are not looked for.
_FEW: Final = 32
_PATTERN_SIGNS: Final = "{}[]*?\\"


def over_history(spark: SparkSession, snapshot: HistorySnapshot, tree: exp.Expr) -> DataFrame:
    """The answer to a query over the tables of schema ``store``, which is read when Spark runs.

    ``spark`` is a prepared session, ``tree`` the query in Spark's SQL.

    Raises:
        QueryError: it names a table that is not read, or Spark has no such SQL.
        ArchiveError: a file of the archive is not there.
    """
    tree = tree.copy()
    tables = dict(_named(tree))
    return over_tables(spark, snapshot, spark_text(tree), tables)


def over_tables(
    spark: SparkSession, snapshot: HistorySnapshot, text: str, tables: Mapping[str, SourceTable]
) -> DataFrame:
    """The answer to a text of Spark's SQL, which has names of its own for the history's tables;
    other names are the session's.

    A name's relation has only what the text needs there: give each use of a table its own.

    Raises:
        ArchiveError: a file of the archive is not there.
    """
    chosen: dict[str, ColumnCondition] = {}

    def analyzed(frames: Mapping[str, DataFrame]) -> DataFrame:
        told = {name: _with(frame, chosen.get(name)) for name, frame in frames.items()}
        with _views(told):
            return spark.sql(text)

    stands = {
        # The range tells which table it is; it never runs.
        name: spark.range(n, n + 1, 1, 1).mapInArrow(_unread, table.schema)
        for n, (name, table) in enumerate(tables.items())
    }
    names = list(tables)

    def needed() -> dict[str, Wanted]:
        told = {names[n]: each for n, each in wanted(analyzed(stands)).items()}
        return {name: each for name, each in told.items() if tables[name].unique not in each.keys}

    needs = needed()
    nothing = {name: _nothing(spark, tables[name]) for name in names if name not in needs}
    chosen |= _known_terms(snapshot, tables, needs)
    if nothing or chosen:
        # Without some tables, and with the numbers of terms, less is needed of the other tables.
        stands |= nothing
        needs = needed()
    made: dict[tuple[str, Wanted], DataFrame] = {}
    for name, need in needs.items():
        key = (tables[name].name, need)
        if key not in made:
            made[key] = _relation(spark, snapshot, tables[name], need)
    nothing = {name: _nothing(spark, tables[name]) for name in names if name not in needs}
    read = {name: made[tables[name].name, need] for name, need in needs.items()}
    return analyzed(nothing | read)


def _unread(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _named(tree: exp.Expr) -> Iterator[tuple[str, SourceTable]]:
    """Give each use of a table a name of its own; the names with the tables."""
    prefix = f"store_{uuid4().hex}"
    for number, table in enumerate(list(tree.find_all(exp.Table))):
        if table.db != STORE:
            continue
        if table.name not in SOURCE_TABLES:
            raise QueryError(f"not on Spark: the table {STORE}.{table.name}")
        name = f"{prefix}_{number}"
        yield name, SOURCE_TABLES[table.name]
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(name))
        table.set("db", None)


@contextmanager
def _views(frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Temporary views, which a query needs only until it is analyzed."""
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name, frame in frames.items():
            frame.sparkSession.catalog.dropTempView(name)


def _known_terms(
    snapshot: HistorySnapshot, tables: Mapping[str, SourceTable], needs: Mapping[str, Wanted]
) -> Iterator[tuple[str, ColumnCondition]]:
    """The numbers of the terms where the query says their text."""
    for name, need in needs.items():
        if tables[name] is SOURCE_TABLES["terms"] and any(
            each.column == "text" for each in need.conditions
        ):
            numbers = snapshot.terms(need.conditions, _FEW)
            if numbers is not None:
                yield name, ColumnCondition("id", ColumnComparison.IN, tuple(numbers))


def _with(frame: DataFrame, condition: ColumnCondition | None) -> DataFrame:
    if condition is None:
        return frame
    if not condition.values:
        return frame.limit(0)
    return frame.filter(frame[condition.column].isin(list(condition.values)))


def _relation(
    spark: SparkSession, snapshot: HistorySnapshot, table: SourceTable, need: Wanted
) -> DataFrame:
    """The rows of a table that are needed; columns that are not are NULL."""
    every = [each.name for each in table.columns]
    columns = [name for name in every if need.columns is None or name in need.columns] or every[:1]
    told = condition_of(table, need.conditions)
    reader = HistoryReader(table.only(columns), snapshot.url, snapshot.id, told)
    ranges = reader.ranges(snapshot.cursor, spark.sparkContext.defaultParallelism)
    parts = [reader.relation(spark, ranges)] if ranges else []
    files = snapshot.files(table, need.conditions)
    if files:
        parts.append(_archived(spark, table.only(columns), files))
    if not parts:
        return _nothing(spark, table)
    found = reduce(lambda one, two: one.union(two), parts)
    return found.selectExpr(
        *(
            f"`{each.name}`" if each.name in columns else f"cast(null as {each.kind}) `{each.name}`"
            for each in table.columns
        )
    )


def _archived(spark: SparkSession, table: SourceTable, files: Collection[Path]) -> DataFrame:
    """The rows of some files; Spark leaves out those parts in which no row can be needed."""
    from sensorstream.archive.parquet_layout import BY_NAME

    ids = BY_NAME[table.name].ids
    names = {each.name: ids.get(each.name, each.name) for each in table.columns}
    schema = ", ".join(f"`{names[each.name]}` {each.kind}" for each in table.columns)
    # The names are no patterns.
    reader = spark.read.schema(schema).option("__globPaths__", "false")
    paths = [f"file:{each.absolute()}" for each in files]
    if any(sign in path for path in paths for sign in _PATTERN_SIGNS):
        # For each path that looks like a pattern, Spark 4.3 would read all paths.
        found = reduce(lambda one, two: one.union(two), map(reader.parquet, paths))
    else:
        found = reader.parquet(*paths)
    return found.selectExpr(*(f"`{there}` `{name}`" for name, there in names.items()))


def _nothing(spark: SparkSession, table: SourceTable) -> DataFrame:
    nulls = (f"cast(null as {each.kind}) `{each.name}`" for each in table.columns)
    return spark.range(0, 0, 1, 1).selectExpr(*nulls)
