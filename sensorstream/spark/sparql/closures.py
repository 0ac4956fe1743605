"""Recursive queries: rows that follow from rows, until there are no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensorstream.spark.sparql.queries import Closure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def define_closure(spark: SparkSession, closure: Closure) -> DataFrame:
    """The rows of a closure.

    In each round only the rows that are new are looked at; none comes twice, so it ends where
    there are cycles, too.
    """
    columns = list(closure.columns)
    new = spark.sql(closure.first).toDF(*columns).distinct().localCheckpoint()
    known = new
    while not new.isEmpty():
        new.createOrReplaceTempView(closure.name)
        found = spark.sql(closure.more).toDF(*columns).distinct()
        # Without the plans of the rounds before.
        new = found.join(known, columns, "left_anti").localCheckpoint()
        known = known.union(new).localCheckpoint()
    return known
