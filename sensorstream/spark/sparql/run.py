"""A SPARQL query over history, answered by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from sensorstream.errors import ArchiveError, QueryError, UnsupportedQuery
from sensorstream.extras import require
from sensorstream.history.asking.answer import Answer, answer_of, limited
from sensorstream.history.asking.question import ALL, Question, QuestionPlan, question_plan
from sensorstream.history.asking.relations import scope_of
from sensorstream.history.database import translating
from sensorstream.history.terms import look_up, term_key
from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import GRAPH_STATIC, GRAPH_WINDOW
from sensorstream.spark.bulk_sql import plan_text, prepare_session, spark_errors
from sensorstream.spark.launch import spark_session
from sensorstream.spark.snapshot import Place, Snapshot, snapshot_of
from sensorstream.spark.sparql.closures import closure_of, over_snapshot
from sensorstream.spark.sparql.numbers import register
from sensorstream.sparql.algebra import Dataset, Graph
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sparql.walk import nodes
from sensorstream.sql.spark import Text, spark_query
from sensorstream.sql.sparql.forms import compile_query, constants
from sensorstream.sql.sparql.scope import SqlQuery

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

_LIVE: Final = (GRAPH_WINDOW, GRAPH_STATIC)


def run_spark_sparql(place: Place, question: Question, *, master: str, row_limit: int) -> Answer:
    """Start Spark, answer a question to history, stop Spark.

    Args:
        place: the history; every executor must reach it.
        question: what is asked.
        master: Spark's master.
        row_limit: the most solutions or triples.

    Raises:
        QueryError: the query cannot be answered; or, as its rows are read, that they are too many.
        UnsupportedQuery: it has a part that Spark cannot say with the same meaning.
        SparkError: Spark does not start or breaks down.
        MissingExtra: the extra "spark" is not installed.
        HistoryError: the history cannot be reached.
        ArchiveError: a file of the archive is missing.
    """
    require("spark", "SPARQL on Spark")
    check(question)
    with spark_session(master) as spark:
        return ask(spark, place, question, row_limit=row_limit)


def check(question: Question) -> None:
    """Refuse what Spark cannot answer, before it starts.

    Raises:
        QueryError, UnsupportedQuery: see :func:`run_spark_sparql`.
    """
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


def ask(spark: SparkSession, place: Place, question: Question, *, row_limit: int) -> Answer:
    """Answer a question with a running Spark; raises as :func:`run_spark_sparql`."""
    try:
        compiled, rows = _collected(spark, place, question, row_limit)
    except ArchiveError:
        # A part was restored, or an individual erased, while Spark read the files of before.
        compiled, rows = _collected(spark, place, question, row_limit)
    return answer_of(compiled, limited(_batches(rows), row_limit))


def _collected(
    spark: SparkSession, place: Place, question: Question, row_limit: int
) -> tuple[SqlQuery, pyarrow.Table]:
    with answering(spark, place, question) as (compiled, frame):
        return compiled, frame.limit(row_limit + 1).toArrow()


def run_spark_plan(place: Place, question: Question, *, master: str) -> QuestionPlan:
    """Spark's SQL for a question, and its plan; raises as :func:`run_spark_sparql`."""
    require("spark", "SPARQL on Spark")
    check(question)
    with spark_session(master) as spark:
        return plan_of(spark, place, question)


def plan_of(spark: SparkSession, place: Place, question: Question) -> QuestionPlan:
    """As :func:`run_spark_plan`, with a running Spark."""
    with answering(spark, place, question) as (compiled, frame):
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
    spark: SparkSession, place: Place, question: Question
) -> Iterator[tuple[SqlQuery, DataFrame]]:
    """The answer as Spark's own data frame, which must be used inside the ``with`` block, and what
    its columns mean; raises as :func:`run_spark_sparql`, also inside the block.
    """
    with snapshot_of(place) as snapshot, spark_errors():
        compiled = _compiled(question, _ids(snapshot, question))
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


def _planned(spark: SparkSession, snapshot: Snapshot, text: Text) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return over_snapshot(spark, snapshot, text)
    except AnalysisException as error:
        told = str(error).partition("\n")[0]
        raise UnsupportedQuery(
            f"not on Spark, which cannot plan it: {told}: ask the same with --on history"
        ) from error


def _compiled(question: Question, ids: Mapping[Term, int]) -> SqlQuery:
    scope = scope_of(question.time, ids, live=False, beside=False)
    return compile_query(question.query, scope)


def _ids(snapshot: Snapshot, question: Question) -> Mapping[Term, int]:
    """The numbers of the query's constants."""
    keys = {term: term_key(term) for term in constants(question.query, HISTORY_GRAPHS)}
    with translating("cannot read the history"):
        found = look_up(snapshot.cursor, list(keys.values()))
    return {term: found[key] for term, key in keys.items() if key in found}


def _batches(rows: pyarrow.Table) -> Iterator[Sequence[Sequence[Any]]]:
    for batch in rows.to_batches():
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))
