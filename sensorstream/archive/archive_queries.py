"""Questions to the archive, in SQL, by DuckDB: without Spark, Java or a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

from sensorstream.archive.archive_files import pattern
from sensorstream.archive.archive_process import ArchiveQuestion
from sensorstream.archive.archive_relations import definitions
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.archive.parquet_layout import TABLES
from sensorstream.history.asking.checked_question import (
    CheckedQuestion,
    QuestionPlan,
    question_plan,
)
from sensorstream.history.asking.history_relations import scope_of
from sensorstream.history.asking.query_answer import Answer, answer_of, limited, rows_of_batch
from sensorstream.history.asking.query_run import AskingLimits
from sensorstream.history.asking.split_question import in_parts, sql_question
from sensorstream.history.read_only_sql import AnswerColumn, SqlResult, SqlStream, bounded
from sensorstream.history.view_definitions import View
from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import Literal, Term
from sensorstream.processes.forks import QuestionLimits, RestingForks
from sensorstream.processes.stopping import Stop
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.dialect_writer import duckdb_query, text_of
from sensorstream.sql.dialects import DUCKDB
from sensorstream.sql.sparql.compiled_query import Id, SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query, constants


class DuckDB(RestingForks):
    """The process that answers."""

    def __init__(self) -> None:
        super().__init__("sensorstream.archive.archive_process", "the archive")


@frozen
class Archive:
    """The place of an archive, and the means to ask it.

    ``url`` is that of the history, whose manifest says which files count; ``memory`` is in MiB.
    """

    url: str
    folder: Path
    memory: int
    duckdb: DuckDB = field(default_factory=DuckDB)


def archive_sql(
    archive: Archive,
    text: str,
    views: Iterable[View],
    limits: AskingLimits,
    stop: Stop | None = None,
) -> SqlResult:
    """Answer one SELECT in the SQL of DuckDB over the archive, where it has views of ``history``;
    ``stop`` ends it early.

    Raises:
        QueryError: DuckDB refuses the text, or it needs too much time or memory.
        ArchiveError: a file is missing or damaged.
        HistoryError: the manifest cannot be read.
    """
    with asked(archive, text, limits, views, stop) as (names, batches):
        return SqlStream(tuple(map(AnswerColumn, names)), batches).result(limits.rows)


@contextmanager
def asked(
    archive: Archive,
    text: str,
    limits: AskingLimits,
    views: Iterable[View] | None,
    stop: Stop | None = None,
) -> Iterator[tuple[Sequence[str], Iterator[list[tuple[Any, ...]]]]]:
    """The names of the columns of an answer, and its rows, which are read within the block; raises
    as :func:`archive_sql`. ``views`` are those that a user's text may name; None: the compiler's
    text.
    """
    parts = kept_parts(archive.url, State.ARCHIVED)
    files = {table: [part.there(archive.folder, table) for part in parts] for table in TABLES}
    every = [each for several in files.values() for each in several]
    patterns = {table: list(map(pattern, several)) for table, several in files.items()}
    question = ArchiveQuestion(
        text, list(map(str, every)), list(definitions(patterns, views or ())), ours=views is None
    )
    most = QuestionLimits(limits.timeout, archive.memory, limits.rows)
    begun = archive.duckdb.begin(question, most)
    with closing(begun.pieces(stop or Stop())) as pieces:
        names = next(pieces)
        yield names, map(rows_of_batch, pieces)


def archive_answered(
    archive: Archive, question: CheckedQuestion, limits: AskingLimits, stop: Stop | None = None
) -> AbstractContextManager[Answer]:
    """Answer a question to the archive; its rows are read within the block, and ``stop`` ends it
    early.

    Raises:
        QueryError: the query cannot be answered, takes too long, needs too much memory or has too
            many rows; also while the rows are read.
        UnsupportedQuery: it has a part that SQL cannot say with the same meaning.
        ArchiveError: a file is missing or damaged.
        HistoryError: the manifest cannot be read.
    """

    @contextmanager
    def ask(question: CheckedQuestion) -> Iterator[Answer]:
        query = archive_query(question)
        text = text_of(query.tree, DUCKDB)
        with asked(archive, text, limits, None, stop) as (_, batches):
            yield answer_of(query, limited(bounded(batches), limits.rows))

    return in_parts(question, ask, seconds=limits.timeout, most=limits.rows)


def archive_plan(
    archive: Archive,
    question: CheckedQuestion,
    limits: AskingLimits,
    stop: Stop | None = None,
    *,
    analyze: bool = False,
) -> QuestionPlan:
    """The SQL of a question, in lines, and DuckDB's plan for it; raises as
    :func:`archive_answered`.

    ``analyze``: run it, so that the plan has the rows and the times that there were.
    """
    query = archive_query(sql_question(question))
    text = text_of(query.tree, DUCKDB)
    options = "analyze" if analyze else ""
    with asked(archive, f"explain {options} {text}", limits, None, stop) as (_, batches):
        plan = "\n".join(row[1] for rows in batches for row in rows)
    sql = text_of(query.tree, DUCKDB, pretty=True)
    return question_plan(question.query, sql, plan)


def archive_query(question: CheckedQuestion) -> SqlQuery:
    """A question in the SQL of DuckDB, over the archive's ``store.statements``; raises
    UnsupportedQuery if SQL cannot say a part with the same meaning.
    """
    ids = ids_of(question.query)
    return duckdb_query(compile_query(question.query, scope_of(question.time, ids, live=False)))


def ids_of(query: Query) -> dict[Term, Id]:
    """The names of a query's terms in the archive."""
    return {term: _id(term) for term in constants(query, HISTORY_GRAPHS)}


def _id(term: Term) -> str:
    """See :mod:`sensorstream.archive.archive_relations`."""
    if not isinstance(term, Literal):
        return str(term)
    kind = f"^^{term.datatype}" if term.language is None else f"@{term.language}"
    return f'"{term.lexical}"{kind}'
