"""SQL over history in bulk: the same text, the same views, answered by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from psycopg2 import sql

from sensorstream.errors import QueryError, SparkError
from sensorstream.extras import require
from sensorstream.history.database import connect, translating
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.history.views import View, numbered, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.spark.launch import spark_session
from sensorstream.spark.numerics import register
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.translation.described import Prepared, prepare
from sensorstream.spark.translation.translate import spark_text
from sensorstream.spark.translation.views import view_name, view_query

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import DataFrame, SparkSession

# In every session, also one that another program started.
_MEANING: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Digits that do not fit are an error, not lost.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # Backslashes in literals are escaped by the translation.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.percentileDiscCalculation": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.caseSensitive": "true",
}


def run_spark_sql(
    url: str,
    text: str,
    *,
    schema: Schema,
    timeline: Timeline,
    master: str,
    timeout: float,
    row_limit: int,
) -> SqlResult:
    """Start Spark, answer one query of PostgreSQL's SQL over history, stop Spark.

    Args:
        url: the history's URL; every executor must reach it.
        text: one SELECT; names without a schema are the views of ``history``.
        schema: the schema of the ontology, from which the views are made.
        timeline: the time line of the deployment.
        master: Spark's master.
        timeout: seconds that PostgreSQL may take to plan the query.
        row_limit: the most rows returned.

    Raises:
        QueryError: PostgreSQL refuses the text, Spark would answer it otherwise, or cannot.
        SparkError: Spark does not start or breaks down.
        MissingExtra: the extra "spark" is not installed.
        HistoryError: the history cannot be reached.
    """
    require("spark", "SQL on Spark")
    # A text that cannot be answered should not cost the start of a JVM.
    prepared = prepare(url, text, timeout=timeout)
    with spark_session(master) as spark:
        return ask(spark, url, view_definitions(schema, timeline), prepared, row_limit=row_limit)


def ask(
    spark: SparkSession, url: str, views: Sequence[View], prepared: Prepared, *, row_limit: int
) -> SqlResult:
    """Answer one query with a running Spark; raises as :func:`run_spark_sql`."""
    with answering(spark, url, views, prepared) as answer:
        return _result(answer, prepared, row_limit)


def collected(spark: SparkSession, prepared: Prepared, *, row_limit: int) -> SqlResult:
    """Answer one query over temporary views that are there; raises as :func:`run_spark_sql`."""
    with spark_errors():
        return _result(spark.sql(prepared.query.text), prepared, row_limit)


def _result(answer: DataFrame, prepared: Prepared, row_limit: int) -> SqlResult:
    table = answer.limit(row_limit + 1).toArrow()
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    rows = tuple(zip(*columns, strict=True))
    return SqlResult(prepared.names, rows[:row_limit], truncated=len(rows) > row_limit)


@contextmanager
def answering(
    spark: SparkSession, url: str, views: Sequence[View], prepared: Prepared
) -> Iterator[DataFrame]:
    """The answer as Spark's own data frame, which must be used inside the ``with`` block.

    It reads one state of the history, the one at the block's beginning. Errors of Spark inside
    the block are raised as by :func:`run_spark_sql`.
    """
    known = {view.name: view for view in views}
    foreign = [name for name in prepared.query.views if name not in known]
    if foreign:
        raise QueryError(f"not on Spark: the view {foreign[0]} is not one of SensorStream's")
    with snapshot_of(url) as (snapshot, numbers), spark_errors():
        prepare_session(spark)
        used = [numbered(known[name], numbers) for name in prepared.query.views]
        define_views(spark, url, snapshot, used)
        yield spark.sql(prepared.query.text)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into errors of the tree."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise QueryError(f"Spark: {_reason(error)}") from error
    except Py4JJavaError as error:
        cause = _cause(error)
        if cause is None:
            raise SparkError(f"Spark broke down: {_reason(error)}") from error
        raise QueryError(f"Spark: {_reason(cause)}") from error
    except Py4JError as error:
        raise SparkError(f"Spark broke down: {_reason(error)}") from error


def prepare_session(spark: SparkSession) -> None:
    """Make a session compute as PostgreSQL does; the translation counts on it."""
    for name, value in _MEANING.items():
        spark.conf.set(name, value)
    register(spark)


@contextmanager
def snapshot_of(url: str) -> Iterator[tuple[str, Mapping[Term, int]]]:
    """A snapshot of the history that every reader can use while the block runs, and the numbers of
    the terms that views name.
    """
    connection = connect(url, application="sensorstream spark snapshot")
    try:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with translating("cannot read the history"), connection.cursor() as cursor:
            # None of them may lose a partition, or move its rows to other pages, while Spark reads.
            for table in SOURCE_TABLES:
                cursor.execute(
                    sql.SQL("lock table {} in access share mode").format(
                        sql.Identifier("store", table)
                    )
                )
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


def define_views(spark: SparkSession, url: str, snapshot: str, views: Sequence[View]) -> None:
    """Make temporary views of history, and of the tables that these read."""
    from sensorstream.spark.reading import HistoryReader

    parallelism = spark.sparkContext.defaultParallelism
    known: set[str] = set()
    for view in views:
        query, sources = view_query(view)
        for source in sources:
            if source.name not in known:
                known.add(source.name)
                table = SOURCE_TABLES[source.table].only(source.columns)
                reader = HistoryReader(table, url, snapshot, parallelism, source.equals)
                reader.relation(spark).createOrReplaceTempView(source.name)
        spark.sql(spark_text(query)).createOrReplaceTempView(view_name(view.name))


def _plain(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _cause(error: Py4JJavaError) -> Exception | None:
    """The error of the query inside one of Spark, such as that a task could not be finished."""
    from pyspark.errors.exceptions.captured import UnknownException, convert_exception

    inner = error.java_exception.getCause()
    while inner is not None:
        converted: Exception = convert_exception(inner)
        if not isinstance(converted, UnknownException):
            return converted
        inner = inner.getCause()
    return None


def _reason(error: Exception) -> str:
    """What is wrong, without the stack: of an error in Python its last line."""
    lines = str(error).strip().split("\n")
    if "PythonException" in type(error).__name__ or "Traceback" in str(error):
        told = [line for line in lines if line and not line.startswith((" ", "\t"))]
        named = [line for line in told if "Error: " in line]
        return named[-1].partition(": ")[2] if named else lines[0]
    return lines[0]
