"""Recursive queries: rows that follow from rows, until there are no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensorstream.spark.relations import over_tables
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.sql.spark import Closure, Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.snapshot import Snapshot


def over_snapshot(spark: SparkSession, snapshot: Snapshot, text: Text) -> DataFrame:
    """The answer to a query over the tables of the history."""
    tables = {name: SOURCE_TABLES[table] for name, table in text.tables.items()}
    return over_tables(spark, snapshot, text.sql, tables)


def closure_of(spark: SparkSession, snapshot: Snapshot, closure: Closure) -> DataFrame:
    """The rows of a closure.

    In each round only the rows that are new are looked at; none comes twice, so it ends where
    there are cycles, too.
    """
    columns = list(closure.columns)
    new = over_snapshot(spark, snapshot, closure.first).toDF(*columns).distinct().localCheckpoint()
    steps = over_snapshot(spark, snapshot, closure.steps).distinct().localCheckpoint()
    steps.createOrReplaceTempView(closure.steps_name)
    known = new
    while not new.isEmpty():
        new.createOrReplaceTempView(closure.name)
        found = spark.sql(closure.more).toDF(*columns).distinct()
        # Without the plans of the rounds before.
        new = found.join(known, columns, "left_anti").localCheckpoint()
        known = known.union(new).localCheckpoint()
    return known
