"""SQL over history in bulk: the same text, the same views, answered by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from psycopg2 import extensions
from sqlglot import exp

from sensorstream.errors import ArchiveError, QueryError, SparkError
from sensorstream.history.database import one_value
from sensorstream.history.read_only_sql import SqlResult, describe_sql
from sensorstream.history.view_definitions import (
    View,
    look_up_all,
    numbered,
    terms_of,
    view_definitions,
)
from sensorstream.installation import require
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.spark.launch import spark_session
from sensorstream.spark.numerics import register
from sensorstream.spark.spark_failures import report_of, sentence
from sensorstream.spark.spark_relations import over_history
from sensorstream.spark.written_answers import check_output, write_answer
from sensorstream.sql.postgres.sql_reader import Catalog, Translated, translate, view_name
from sensorstream.sql.postgres.sql_scope import BY_OID, PostgresType, SqlType

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.history_snapshot import HistorySnapshot

T = TypeVar("T")
_COLUMNS = """
select c.relname, a.attname, a.atttypid
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = 'history' and c.relkind = 'v'
order by c.oid, a.attnum
"""
# Spark compares texts and changes their case as this locale does; other locales know a language, or
# change the case of ASCII only.
_LOCALE = """
select datlocprovider = 'b' and datlocale = 'C.UTF-8'
from pg_catalog.pg_database where datname = pg_catalog.current_database()
"""


@frozen
class Prepared:
    """A query for Spark; ``names`` are its columns as PostgreSQL calls them."""

    query: Translated
    names: tuple[str, ...]


def prepare(url: str, text: str, *, timeout: float) -> Prepared:
    """Let PostgreSQL read a query, and translate it for Spark.

    Raises:
        QueryError: PostgreSQL or the translation refuses it.
        HistoryError: the history cannot be reached.
    """
    with describe_sql(url, text, timeout=timeout) as (columns, cursor):
        catalog = read_catalog(cursor)
    translated = translate(text, catalog)
    names = tuple(each.name for each in columns)
    starred = translated.starred and names != tuple(name for name, _ in translated.columns)
    if starred or len(names) != len(translated.columns):
        raise QueryError("not on Spark: the columns of * are not clear; write their names")
    for column, (_, type_) in zip(columns, translated.columns, strict=True):
        told = BY_OID.get(column.type)
        if told is None or (told.kind, told.item) != (type_.kind, type_.item):
            expected = told.kind.value if told else "not on the list of types"
            raise QueryError(
                f"not on Spark: column {column.name} would be {type_.kind.value}, in PostgreSQL it "
                f"is {expected}: write a cast"
            )
    return Prepared(translated, names)


def read_catalog(cursor: extensions.cursor) -> Catalog:
    """The views of schema ``history`` as they are in the database."""
    cursor.execute(_COLUMNS)
    views: dict[str, dict[str, SqlType]] = {}
    for view, column, oid in cursor.fetchall():
        columns = views.setdefault(view, {})
        type_ = BY_OID.get(oid)
        # A numeric of any digits has no type in Spark.
        if type_ is not None and type_.kind is not PostgresType.NUMERIC:
            columns[column] = type_
    return Catalog(views, by_code_point=bool(one_value(cursor, _LOCALE)))


# For every session, also one that another program started.
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
    # "${env:NAME}" in a text would be replaced by the environment's value.
    "spark.sql.variable.substitute": "false",
    # Lists up to this length stay readable in a plan: see sensorstream.spark.needed_columns.
    "spark.sql.optimizer.inSetConversionThreshold": "100",
}
# Before it runs, Spark takes every relation of history for small. So only a relation that was seen
# to be small, compressed, is copied to every task.
_SIZES: Final = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "4m",
}


def run_spark_sql(
    place: HistoryPlace,
    text: str,
    *,
    schema: Schema,
    timeline: Timeline,
    at: SparkSettings,
    timeout: float,
    row_limit: int,
    output: str | None = None,
) -> SqlResult:
    """Start Spark, answer one query of PostgreSQL's SQL over history, stop Spark.

    ``text`` is one SELECT; names without a schema are the views of ``history``, made for
    ``schema``. PostgreSQL may take ``timeout`` seconds to plan it. Every executor must reach
    ``place``; with ``output``, a folder or an address, they write all rows there, and the result is
    one row that has it, and their number.

    Raises:
        QueryError: PostgreSQL refuses the text, Spark would answer it otherwise, or cannot.
        SparkError: Spark does not start or breaks down.
        MissingExtra: the extra "spark" is not installed.
        HistoryError: the history cannot be reached.
        ArchiveError: a file of the archive is missing.
    """
    require("spark", "SQL on Spark")
    # Before the start of a JVM, which is not needed for a text that cannot be answered.
    prepared = prepare(place.url, text, timeout=timeout)
    if output is not None:
        check_output(output)
    views = view_definitions(schema, timeline)
    with spark_session(at) as spark:
        if output is None:
            return ask(spark, place, views, prepared, row_limit=row_limit)
        with answering(spark, place, views, prepared) as frame:
            written = write_answer(frame.toDF(*prepared.names), output)
        return SqlResult(("output", "rows"), ((output, written),), truncated=False)


def ask(
    spark: SparkSession,
    place: HistoryPlace,
    views: Sequence[View],
    prepared: Prepared,
    *,
    row_limit: int,
) -> SqlResult:
    """Answer one query with a running Spark; raises as :func:`run_spark_sql`."""

    def answer() -> SqlResult:
        with answering(spark, place, views, prepared) as frame:
            return collected(frame, prepared, row_limit)

    return once_more(answer)


def once_more(answer: Callable[[], T]) -> T:
    """The answer, asked for again if the archive changes meanwhile."""
    try:
        return answer()
    except ArchiveError:
        # A part was restored, or an individual erased, while Spark read the earlier files.
        return answer()


def collected(answer: DataFrame, prepared: Prepared, row_limit: int) -> SqlResult:
    """The first rows of an answer."""
    table = answer.limit(row_limit + 1).toArrow()
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    rows = tuple(zip(*columns, strict=True))
    return SqlResult(prepared.names, rows[:row_limit], truncated=len(rows) > row_limit)


@contextmanager
def answering(
    spark: SparkSession, place: HistoryPlace, views: Sequence[View], prepared: Prepared
) -> Iterator[DataFrame]:
    """The answer as Spark's own data frame, which must be used inside the ``with`` block.

    It reads the state of the history at the block's beginning. Errors of Spark inside the block are
    raised as by :func:`run_spark_sql`; an ArchiveError tells of a file of the archive that went
    meanwhile, after which the same question can be asked again.
    """
    with snapshot_of(place) as snapshot, spark_errors():
        prepare_session(spark)
        yield answer_over(spark, snapshot, views, prepared)


def answer_over(
    spark: SparkSession, snapshot: HistorySnapshot, views: Sequence[View], prepared: Prepared
) -> DataFrame:
    """The answer over a snapshot, in a prepared session; to be computed while both are there.

    Raises:
        QueryError: it names a view that is not one of these.
    """
    known = {view.name: view for view in views}
    foreign = [name for name in prepared.query.views if name not in known]
    if foreign:
        raise QueryError(f"not on Spark: the view {foreign[0]} is not one of SensorStream's")
    used = _numbered(snapshot, [known[name] for name in prepared.query.views])
    tree = with_views(prepared.query.tree, {view_name(each.name): each for each in used})
    return over_history(spark, snapshot, tree)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into errors of the tree."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        # While an answer is fetched in batches, PySpark knows some of Spark's errors as Py4J's.
        if "FILE_NOT_EXIST" in report_of(error):
            raise ArchiveError(f"the archive has changed: {_reason(error)}") from error
        if isinstance(error, PySparkException):
            raise QueryError(f"Spark: {_reason(error)}") from error
        cause = _cause(error) if isinstance(error, Py4JJavaError) else None
        if cause is not None:
            raise QueryError(f"Spark: {_reason(cause)}") from error
        raise SparkError(f"Spark broke down: {sentence(error)}") from error


def prepare_session(spark: SparkSession) -> None:
    """Make a session compute as PostgreSQL does, on which the translation counts, at any size."""
    for name, value in (_MEANING | _SIZES).items():
        spark.conf.set(name, value)
    register(spark)


def plan_text(answer: DataFrame) -> str:
    """Spark's plans for an answer, from the parsed one to the one that is run."""
    told: str = answer._jdf.queryExecution().toString()  # noqa: SLF001
    return told


def define_views(spark: SparkSession, snapshot: HistorySnapshot, views: Sequence[View]) -> None:
    """Make temporary views of history in a prepared session, named as by :func:`.view_name`; each
    reads all that its own query needs.
    """
    for view in _numbered(snapshot, views):
        frame = over_history(spark, snapshot, view_query(view))
        frame.createOrReplaceTempView(view_name(view.name))


def _numbered(snapshot: HistorySnapshot, views: Sequence[View]) -> list[View]:
    numbers = snapshot.numbers(terms_of(views))
    return [numbered(view, numbers) for view in views]


def _plain(value: object) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def _cause(error: Py4JJavaError) -> Exception | None:
    """The error of the query inside one of Spark, such as that a task could not be finished."""
    from py4j.protocol import Py4JError
    from pyspark.errors.exceptions.captured import UnknownException, convert_exception

    # Its JVM may have ended.
    with suppress(Py4JError, OSError):
        inner = error.java_exception.getCause()
        while inner is not None:
            converted: Exception = convert_exception(inner)
            if not isinstance(converted, UnknownException):
                return converted
            inner = inner.getCause()
    return None


def _reason(error: Exception) -> str:
    """The reason of an error without the stack: of an error in Python its last line."""
    lines = str(error).strip().split("\n")
    of_python = "PythonException" in type(error).__name__ or "Traceback" in str(error)
    named = [line for line in lines if "Error: " in line and line[0] not in " \t"]
    return named[-1].partition(": ")[2] if of_python and named else lines[0]


def with_views(tree: exp.Expr, views: Mapping[str, View]) -> exp.Expr:
    """The tree with the query of a view in the place of its name; ``views`` has those of schema
    ``history``, by the names in the tree.
    """
    tree = tree.copy()
    for table in list(tree.find_all(exp.Table)):
        if not table.db and table.name in views:
            query = exp.Subquery(this=view_query(views[table.name]))
            for name, value in table.args.items():
                if name != "this":
                    query.set(name, value)
            table.replace(query)
    return tree


def view_query(view: View) -> exp.Select:
    """The query of a view over the base tables."""
    query = view.query.copy()
    look_up_all(query)
    _join_tests(query)
    _group(query)
    return query


def _join_tests(query: exp.Select) -> None:
    """Turn EXISTS into a join: into one that it made itself, Spark moves no conditions."""
    where = query.args.get("where")
    if where is not None and isinstance(where.this, exp.Exists):
        looked_up = where.this.this
        table, test = looked_up.args["from_"].this, looked_up.args["where"].this
        join = exp.Join(this=table, side="LEFT", kind="SEMI", on=test)
        query.set("joins", [join, *query.args["joins"]])
        query.set("where", None)


def _group(query: exp.Expr) -> None:
    """Turn a look-up per row (LATERAL) into one join with all groups; Spark would do the same, but
    compute the left side twice.
    """
    for lateral in list(query.find_all(exp.Lateral)):
        join, values = lateral.parent, lateral.this.this
        assert isinstance(join, exp.Join)
        assert isinstance(values, exp.Select)
        here: list[exp.Expr] = []
        outer: list[exp.Expr] = []
        for test in values.args["where"].this.flatten():
            tables = {column.table for column in test.find_all(exp.Column)}
            (here if len(tables) == 1 else outer).append(test.copy())
        alias = lateral.alias
        for test in outer:
            key = test.this
            values.select(exp.alias_(key.copy(), key.name), copy=False)
            values.group_by(key.copy(), copy=False)
            key.set("table", exp.to_identifier(alias))
        values.set("where", exp.Where(this=exp.and_(*here)) if here else None)
        join.set("this", exp.Subquery(this=values, alias=lateral.args["alias"].copy()))
        join.set("on", exp.and_(*outer))
