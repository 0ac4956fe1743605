"""A SPARQL query over the archive, run in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sensorstream.archive.asking import Archive, asked
from sensorstream.history.asking.answer import Answer, answer_of, limited
from sensorstream.history.asking.plan import QuestionPlan, question_plan
from sensorstream.history.asking.question import Question
from sensorstream.history.asking.relations import scope_of
from sensorstream.history.asking.run import Limits
from sensorstream.history.read_only_sql import bounded
from sensorstream.model.terms import Literal, Term
from sensorstream.processes.stopping import Stop
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.dialects import DUCKDB
from sensorstream.sql.sparql.forms import compile_query, constants
from sensorstream.sql.sparql.scope import Id, SqlQuery
from sensorstream.sql.writing import duckdb_query, text_of


@contextmanager
def archive_answered(
    archive: Archive, question: Question, limits: Limits, stop: Stop | None = None
) -> Iterator[Answer]:
    """Answer a question to the archive; its rows are read within the block.

    ``stop`` ends it early.

    Raises:
        QueryError: the query cannot be answered, takes too long, needs too much memory or has too
            many rows; also while the rows are read.
        UnsupportedQuery: it has a part that SQL cannot say with the same meaning.
        ArchiveError: a file is missing or damaged.
        HistoryError: the manifest cannot be read.
    """
    query = archive_query(question)
    text = text_of(query.tree, DUCKDB)
    with asked(archive, text, limits, None, stop) as (_, batches):
        yield answer_of(query, limited(bounded(batches), limits.rows))


def archive_plan(
    archive: Archive,
    question: Question,
    limits: Limits,
    stop: Stop | None = None,
    *,
    analyze: bool = False,
) -> QuestionPlan:
    """The SQL of a question, in lines, and DuckDB's plan for it.

    ``analyze``: run it, so that the plan has the rows and the times that there were.

    Raises:
        QueryError, UnsupportedQuery, ArchiveError, HistoryError: see :func:`archive_answered`.
    """
    query = archive_query(question)
    text = text_of(query.tree, DUCKDB)
    options = "analyze" if analyze else ""
    with asked(archive, f"explain {options} {text}", limits, None, stop) as (_, batches):
        plan = "\n".join(row[1] for rows in batches for row in rows)
    sql = text_of(query.tree, DUCKDB, pretty=True)
    return question_plan(question.query, sql, plan)


def archive_query(question: Question) -> SqlQuery:
    """A question in the SQL of DuckDB, over the archive's ``store.statements``.

    Raises:
        UnsupportedQuery: it has a part that SQL cannot say with the same meaning.
    """
    ids = ids_of(question.query)
    return duckdb_query(compile_query(question.query, scope_of(question.time, ids, live=False)))


def ids_of(query: Query) -> dict[Term, Id]:
    """What names the terms of a query in the archive."""
    return {term: _id(term) for term in constants(query, HISTORY_GRAPHS)}


def _id(term: Term) -> str:
    """See :mod:`sensorstream.archive.relations`."""
    if not isinstance(term, Literal):
        return str(term)
    kind = f"^^{term.datatype}" if term.language is None else f"@{term.language}"
    return f'"{term.lexical}"{kind}'
