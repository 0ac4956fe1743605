"""A SPARQL query over history, answered by Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sensorstream.errors import QueryError
from sensorstream.extras import require
from sensorstream.history.asking.answer import Answer, answer_of, limited
from sensorstream.history.asking.question import ALL, Question
from sensorstream.history.asking.relations import scope_of
from sensorstream.history.database import translating
from sensorstream.history.read_only_sql import open_reader
from sensorstream.history.sparql.forms import compile_query, constants
from sensorstream.history.sparql.scope import SqlQuery
from sensorstream.history.terms import look_up, term_key
from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import GRAPH_STATIC, GRAPH_WINDOW
from sensorstream.spark.bulk_sql import prepare_session, snapshot_of, spark_errors
from sensorstream.spark.reading import HistoryReader
from sensorstream.spark.session import spark_session
from sensorstream.spark.source_tables import SOURCE_TABLES
from sensorstream.spark.sparql.closures import define_closure
from sensorstream.spark.sparql.numbers import register
from sensorstream.spark.sparql.queries import SparkQuery, relation_of, spark_query
from sensorstream.sparql.algebra import Dataset, Graph
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sparql.walk import nodes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LIVE: Final = (GRAPH_WINDOW, GRAPH_STATIC)
_TERMS: Final = SOURCE_TABLES["terms"]
# Numbers of any size.
_TABLES: Final = {
    **SOURCE_TABLES,
    "terms": replace(
        _TERMS,
        columns=tuple(
            replace(each, kind="string") if each.name == "number" else each
            for each in _TERMS.columns
        ),
    ),
}


@contextmanager
def run_spark_sparql(
    url: str, question: Question, *, master: str, row_limit: int
) -> Iterator[Answer]:
    """Start Spark, answer a question to history, stop Spark; rows are read within the block.

    Args:
        url: the history's URL; every executor must reach it.
        question: what is asked.
        master: Spark's master.
        row_limit: the most solutions or triples.

    Raises:
        QueryError: the query cannot be answered, or its answer has too many rows; also while they
            are read.
        UnsupportedQuery: it has a part that Spark cannot say with the same meaning.
        SparkError: Spark does not start or breaks down.
        MissingExtra: the extra "spark" is not installed.
        HistoryError: the history cannot be reached.
    """
    require("spark", "SPARQL on Spark")
    check(question)
    with spark_session(master) as spark, answered(spark, url, question, row_limit) as answer:
        yield answer


def check(question: Question) -> None:
    """Refuse what Spark cannot answer, before it starts.

    Raises:
        QueryError, UnsupportedQuery: see :func:`run_spark_sparql`.
    """
    for part in nodes(question.query):
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
                position=question.parsed.position(part),
            )
    spark_query(_compiled(question, {}).tree)


@contextmanager
def answered(spark: SparkSession, url: str, question: Question, row_limit: int) -> Iterator[Answer]:
    """Answer a question with a running Spark; raises as :func:`run_spark_sparql`."""
    with _asked(spark, url, question) as (compiled, query):
        found = spark.sql(query.text).limit(row_limit + 1)
        yield answer_of(compiled, limited(_batches(found), row_limit))


def run_spark_plan(url: str, question: Question, *, master: str) -> tuple[str, str]:
    """Spark's SQL for a question, and its plan; raises as :func:`run_spark_sparql`."""
    require("spark", "SPARQL on Spark")
    check(question)
    with spark_session(master) as spark:
        return plan_of(spark, url, question)


def plan_of(spark: SparkSession, url: str, question: Question) -> tuple[str, str]:
    """As :func:`run_spark_plan`, with a running Spark."""
    with _asked(spark, url, question) as (compiled, query):
        told = spark_query(compiled.tree, pretty=True)
        parts = [
            f"-- {each.name}, and with the new rows of {each.name} again and again\n"
            f"{each.first}\n-- more of {each.name}\n{each.more}\n"
            for each in told.closures
        ]
        plan = spark.sql(query.text)._jdf.queryExecution().toString()  # noqa: SLF001
        return "\n".join([*parts, told.text]), plan


@contextmanager
def _asked(
    spark: SparkSession, url: str, question: Question
) -> Iterator[tuple[SqlQuery, SparkQuery]]:
    """A question compiled for one snapshot, whose relations are views of Spark in the block."""
    with ExitStack() as stack:
        snapshot, _ = stack.enter_context(snapshot_of(url))
        compiled = _compiled(question, _ids(url, snapshot, question))
        query = spark_query(compiled.tree)
        stack.enter_context(spark_errors())
        prepare_session(spark)
        register(spark)
        _define(spark, url, snapshot, query, stack)
        yield compiled, query


def _compiled(question: Question, ids: Mapping[Term, int]) -> SqlQuery:
    scope = scope_of(question.time, ids, live=False, beside=False)
    return compile_query(question.query, scope)


def _ids(url: str, snapshot: str, question: Question) -> Mapping[Term, int]:
    """The numbers of the query's constants."""
    keys = {term: term_key(term) for term in constants(question.query, HISTORY_GRAPHS)}
    with closing(open_reader(url)) as connection, translating("cannot read the history"):
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection.cursor() as cursor:
            cursor.execute("set transaction snapshot %s", (snapshot,))
            cursor.execute("set local search_path to store")
            found = look_up(cursor, list(keys.values()))
    return {term: found[key] for term, key in keys.items() if key in found}


def _define(
    spark: SparkSession, url: str, snapshot: str, query: SparkQuery, stack: ExitStack
) -> None:
    """Make the views that a query reads."""
    parallelism = spark.sparkContext.defaultParallelism
    for source in query.sources:
        table = _TABLES[source.table].only(source.columns)
        raw = f"{source.name}_read"
        reader = HistoryReader(table, url, snapshot, parallelism, source.equals)
        _view(reader.relation(spark), raw, stack)
        relation = spark.sql(relation_of(source, raw))
        if source.uses > 1 or query.closures:
            # It would be read from PostgreSQL again for each use.
            stack.callback(relation.persist().unpersist)
        _view(relation, source.name, stack)
    for closure in query.closures:
        _view(define_closure(spark, closure), closure.name, stack)


def _view(relation: DataFrame, name: str, stack: ExitStack) -> None:
    relation.createOrReplaceTempView(name)
    stack.callback(relation.sparkSession.catalog.dropTempView, name)


def _batches(answer: DataFrame) -> Iterator[Sequence[Sequence[Any]]]:
    for batch in answer.toArrow().to_batches():
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))
