"""A SPARQL query over history, answered by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.history.asking.checked_question import (
    ALL,
    CheckedQuestion,
    QuestionPlan,
    question_plan,
)
from sensorstream.history.asking.history_relations import scope_of
from sensorstream.history.asking.query_answer import Answer, answer_of, limited, rows_of_batch
from sensorstream.history.asking.query_run import numbers_of
from sensorstream.history.asking.split_question import in_parts, sql_question
from sensorstream.history.database import translating
from sensorstream.installation import require
from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import GRAPH_STATIC, GRAPH_WINDOW
from sensorstream.spark.bulk_sql import once_more, plan_text, prepare_session, spark_errors
from sensorstream.spark.history_snapshot import HistoryPlace, HistorySnapshot, snapshot_of
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.spark_relations import over_tables
from sensorstream.spark.sparql.numbers import register
from sensorstream.sparql.algebra import Dataset, Graph
from sensorstream.sparql.walk import nodes
from sensorstream.sql.spark_dialect import RecursiveRows, SparkText, spark_query
from sensorstream.sql.sparql.compiled_query import SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

_LIVE: Final = (GRAPH_WINDOW, GRAPH_STATIC)
_SECONDS: Final = 600.0
"""Seconds for functions that SQL does not have."""


def check(question: CheckedQuestion) -> None:
    """Refuse a question that Spark cannot answer, before it starts.

    Raises:
        QueryError, UnsupportedQuery: it cannot be answered.
        MissingExtra: the extra "spark" is not installed.
    """
    require("spark", "SPARQL on Spark")
    for part in nodes(question.query):
        graphs: tuple[IRI, ...]
        match part:
            case Graph(IRI() as graph, _):
                graphs = (graph,)
            case Dataset(default, named):
                graphs = (*default, *named)
            case _:
                continue
        live = [each for each in graphs if each in _LIVE]
        if live:
            raise QueryError(
                f"{live[0].n3}: on Spark there is only what has left the window: ask the server, "
                f"with --on {ALL}",
                position=question.parsed.position(live[0]),
            )
    spark_query(_compiled(question, {}).tree)


def ask(
    spark: SparkSession, place: HistoryPlace, question: CheckedQuestion, *, row_limit: int
) -> Answer:
    """Answer a question to history with a running Spark, in at most ``row_limit`` solutions or
    triples; all executors must reach the history.

    Raises:
        QueryError: it cannot be answered; or, as its rows are read, that they are too many.
        UnsupportedQuery: it has a part that Spark cannot say with the same meaning.
        SparkError: Spark breaks down.
        HistoryError: the history cannot be reached.
        ArchiveError: a file of the archive is missing.
    """

    def asked(question: CheckedQuestion) -> AbstractContextManager[Answer]:
        def collected() -> tuple[SqlQuery, pyarrow.Table]:
            with answering(spark, place, question) as (compiled, frame):
                return compiled, frame.limit(row_limit + 1).toArrow()

        compiled, rows = once_more(collected)
        batches = map(rows_of_batch, rows.to_batches())
        return nullcontext(answer_of(compiled, limited(batches, row_limit)))

    with in_parts(question, asked, seconds=_SECONDS, most=row_limit) as answer:
        return answer


def plan_of(spark: SparkSession, place: HistoryPlace, question: CheckedQuestion) -> QuestionPlan:
    """Spark's SQL for a question, and its plan; raises as :func:`ask`."""
    with answering(spark, place, sql_question(question)) as (compiled, frame):
        told = spark_query(compiled.tree, pretty=True)
        plan = plan_text(frame)
    parts = [
        f"-- {each.name}, first\n{each.first.sql}\n-- {each.steps_name}\n{each.steps.sql}\n"
        f"-- {each.name}, with its new rows until there are none\n{each.more}\n"
        for each in told.closures
    ]
    return question_plan(question.query, "\n".join([*parts, told.text.sql]), plan)


@contextmanager
def answering(
    spark: SparkSession, place: HistoryPlace, question: CheckedQuestion
) -> Iterator[tuple[SqlQuery, DataFrame]]:
    """The answer as Spark's own data frame, which must be used inside the ``with`` block, and what
    its columns mean; raises as :func:`ask`, also inside the block.
    """
    with snapshot_of(place) as snapshot, spark_errors():
        with translating("cannot read the history"):
            ids = numbers_of(snapshot.cursor, question.query, {})
        compiled = _compiled(question, ids)
        query = spark_query(compiled.tree)
        prepare_session(spark)
        register(spark)
        with ExitStack() as stack:
            for closure in query.closures:
                for name in (closure.name, closure.steps_name):
                    stack.callback(spark.catalog.dropTempView, name)
                rows = closure_of(spark, snapshot, closure)
                rows.createOrReplaceTempView(closure.name)
            yield compiled, _planned(spark, snapshot, query.text)


def _planned(spark: SparkSession, snapshot: HistorySnapshot, text: SparkText) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return over_snapshot(spark, snapshot, text)
    except AnalysisException as error:
        told = str(error).partition("\n")[0]
        raise UnsupportedQuery(
            f"not on Spark, which cannot plan it: {told}: ask the same with --on history"
        ) from error


def _compiled(question: CheckedQuestion, ids: Mapping[Term, int]) -> SqlQuery:
    scope = scope_of(question.time, ids, live=False, beside=False)
    return compile_query(question.query, scope)


def over_snapshot(spark: SparkSession, snapshot: HistorySnapshot, text: SparkText) -> DataFrame:
    """The answer to a query over the tables of the history."""
    tables = {name: SOURCE_TABLES[table] for name, table in text.tables.items()}
    return over_tables(spark, snapshot, text.sql, tables)


def closure_of(spark: SparkSession, snapshot: HistorySnapshot, closure: RecursiveRows) -> DataFrame:
    """The rows of a closure. A round looks only at the rows that are new; none comes twice, so it
    also ends where there are cycles.
    """
    columns = list(closure.columns)
    new = over_snapshot(spark, snapshot, closure.first).toDF(*columns).distinct().localCheckpoint()
    steps = over_snapshot(spark, snapshot, closure.steps).distinct().localCheckpoint()
    steps.createOrReplaceTempView(closure.steps_name)
    known = new
    while not new.isEmpty():
        new.createOrReplaceTempView(closure.name)
        found = spark.sql(closure.more).toDF(*columns).distinct()
        # Without the plans of the earlier rounds.
        new = found.join(known, columns, "left_anti").localCheckpoint()
        known = known.union(new).localCheckpoint()
    return known
