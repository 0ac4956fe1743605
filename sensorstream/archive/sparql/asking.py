"""A SPARQL query over the archive, run in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from sensorstream.archive.asking import batches, interrupted, open_archive
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.archive.sparql.functions import install
from sensorstream.history.asking.answer import Answer, answer_of, limited
from sensorstream.history.asking.question import Question, QuestionPlan, question_plan
from sensorstream.history.asking.relations import scope_of
from sensorstream.history.asking.run import Limits
from sensorstream.history.asking.stopping import Stop
from sensorstream.model.terms import Literal, Term
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.dialects import DUCKDB
from sensorstream.sql.sparql.forms import compile_query, constants
from sensorstream.sql.sparql.scope import Id, SqlQuery
from sensorstream.sql.writing import duckdb_query, text_of

# Only a term that is computed, and described, is looked for among all.
TERMS: Final = """
create view store.terms as
select id, term_kind(id) as kind, term_text(id, literal_parts(id)) as text,
    term_datatype(literal_parts(id)) as datatype, term_language(literal_parts(id)) as language,
    null::double[] as number, null::timestamptz as moment
from (select subject as id from store.statements union select predicate from store.statements
    union select object from store.statements)
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where an archive is, and how it is asked; ``memory`` in MiB."""

    url: str
    folder: Path
    memory: int


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
    with (
        closing(_opened(archive)) as connection,
        interrupted(connection, limits.timeout, stop),
    ):
        yield answer_of(query, limited(batches(connection, text), limits.rows))


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
    with (
        closing(_opened(archive)) as connection,
        interrupted(connection, limits.timeout, stop),
    ):
        rows = connection.execute(f"explain {options} {text}").fetchall()
    sql = text_of(query.tree, DUCKDB, pretty=True)
    return question_plan(question.query, sql, "\n".join(row[1] for row in rows))


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


def _opened(archive: Archive) -> duckdb.DuckDBPyConnection:
    parts = kept_parts(archive.url, State.ARCHIVED)

    def prepare(connection: duckdb.DuckDBPyConnection) -> None:
        install(connection)
        connection.execute(TERMS)

    # The views for people are not asked.
    return open_archive(parts, archive.folder, (), archive.memory, prepare)
