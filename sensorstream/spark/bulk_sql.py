"""SQL over history in bulk: the same text, the same views, answered by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sensorstream.errors import QueryError, SparkError
from sensorstream.extras import require
from sensorstream.history.database import connect, translating
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.views import View, numbered, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.spark.session import spark_session
from sensorstream.spark.translation import spark_sql, translate, view_name, view_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_spark_sql(
    url: str,
    text: str,
    *,
    schema: Schema,
    timeline: Timeline,
    master: str,
    row_limit: int,
) -> SqlResult:
    """Start Spark, answer one query of PostgreSQL's SQL over history, stop Spark.

    Args:
        url: the history's URL; every executor must reach it.
        text: one SELECT; names without a schema are the views of ``history``.
        schema: the schema of the ontology, from which the views are made.
        timeline: the time line of the deployment.
        master: Spark's master.
        row_limit: the most rows returned.

    Raises:
        QueryError: the text is not such a SELECT, or Spark cannot answer it.
        SparkError: Spark does not start or breaks down.
        MissingExtra: the extra "spark" is not installed.
        HistoryError: the history cannot be reached.
    """
    require("spark", "SQL on Spark")
    views = view_definitions(schema, timeline)
    # A text that cannot be answered should not cost the start of a JVM.
    translate(text, {view.name: view for view in views})
    with spark_session(master) as spark:
        return ask(spark, url, views, text, row_limit=row_limit)


def ask(
    spark: SparkSession, url: str, views: Sequence[View], text: str, *, row_limit: int
) -> SqlResult:
    """Answer one query with a running Spark; raises as :func:`run_spark_sql`."""
    with answering(spark, url, views, text) as answer:
        table = answer.limit(row_limit + 1).toArrow()
        names = tuple(answer.columns)
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    rows = tuple(zip(*columns, strict=True))
    return SqlResult(names, rows[:row_limit], truncated=len(rows) > row_limit)


@contextmanager
def answering(
    spark: SparkSession, url: str, views: Sequence[View], text: str
) -> Iterator[DataFrame]:
    """The answer as Spark's own data frame, which must be used inside the ``with`` block.

    It reads one state of the history, the one at the block's beginning. Errors of Spark inside
    the block are raised as by :func:`run_spark_sql`.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    query, used = translate(text, {view.name: view for view in views})
    with _snapshot(url) as (snapshot, numbers):
        try:
            _define(spark, url, snapshot, [numbered(view, numbers) for view in used])
            yield spark.sql(spark_sql(query))
        except PySparkException as error:
            raise QueryError(f"Spark: {_first_line(error)}") from error
        except Py4JError as error:
            raise SparkError(f"Spark broke down: {_first_line(error)}") from error


@contextmanager
def _snapshot(url: str) -> Iterator[tuple[str, Mapping[Term, int]]]:
    """A snapshot of the history that every reader can use while the block runs, and the numbers of
    the terms that views name.
    """
    connection = connect(url, application="sensorstream spark snapshot")
    try:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with translating("cannot read the history"), connection.cursor() as cursor:
            cursor.execute("select pg_export_snapshot()")
            row = cursor.fetchone()
            assert row is not None
            cursor.execute(
                "select t.text, t.id from store.vocabulary v join store.terms t on t.id = v.term"
            )
            numbers: dict[Term, int] = {IRI(text): number for text, number in cursor}
        yield row[0], numbers
    finally:
        connection.close()


def _define(spark: SparkSession, url: str, snapshot: str, views: Sequence[View]) -> None:
    """Make the temporary views that a query uses, and the tables that these read."""
    from sensorstream.spark.datasource import FORMAT, HistorySource

    spark.dataSource.register(HistorySource)
    for view in views:
        query, sources = view_query(view)
        for source in sources:
            spark.read.format(FORMAT).options(
                url=url,
                table=source.table,
                columns=",".join(source.columns),
                snapshot=snapshot,
                parallelism=str(spark.sparkContext.defaultParallelism),
                equals=json.dumps(dict(source.equals)),
            ).load().createOrReplaceTempView(source.name)
        spark.sql(spark_sql(query)).createOrReplaceTempView(view_name(view.name))


def _plain(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
