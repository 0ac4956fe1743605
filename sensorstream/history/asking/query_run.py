"""Runs a SPARQL query in PostgreSQL: one read-only transaction of the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import Final, TypeAlias

from psycopg2 import extensions

from sensorstream.history.asking.checked_question import (
    CheckedQuestion,
    QuestionPlan,
    question_plan,
)
from sensorstream.history.asking.history_relations import (
    LiveSource,
    begin_question,
    scope_of,
    tell_spans,
)
from sensorstream.history.asking.query_answer import Answer, Row, Solutions, answer_of, limited
from sensorstream.history.asking.split_question import in_parts, sql_question
from sensorstream.history.read_only_sql import (
    bounded,
    described,
    explained,
    fetched,
    milliseconds,
    stoppable,
)
from sensorstream.history.term_dictionary import TermKey, look_up, term_key
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Term
from sensorstream.processes.stopping import Stop
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.dialect_writer import POSTGRES, text_of
from sensorstream.sql.sparql.compiled_query import SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query, constants

_BEGIN: Final = (
    "select set_config('search_path', 'store', true), "
    # All rows are fetched, so plan for the whole result.
    "set_config('cursor_tuple_fraction', '1', true), "
    "set_config('statement_timeout', %s, true)"
)


@frozen
class AskingLimits:
    """The limits of an answer: seconds in PostgreSQL; the most solutions or triples."""

    timeout: float
    rows: int


def answered(
    url: str,
    question: CheckedQuestion,
    limits: AskingLimits,
    live: LiveSource | None = None,
    stop: Stop | None = None,
) -> AbstractContextManager[Answer]:
    """Answer a question to history, on one snapshot; its rows are read within the block.

    ``url`` is the history's; ``live`` adds the present to the question; ``stop`` ends it early.

    Raises:
        QueryError: the query cannot be answered.
        Overrun: it takes too long or has too many rows; also while the rows are read.
        UnsupportedQuery: SQL cannot express a part of it with the same meaning.
        HistoryError: the database cannot be reached.
    """

    @contextmanager
    def ask(asked: CheckedQuestion) -> Iterator[Answer]:
        with _begun(url, limits, live, stop) as begun:
            yield _run(begun, asked, limits)

    return in_parts(question, ask, seconds=limits.timeout, most=limits.rows)


AskRows: TypeAlias = Callable[[CheckedQuestion], list[Row]]
"""The rows of the answer to a SELECT; raises as :func:`answered` does."""


@contextmanager
def snapshot(
    url: str, limits: AskingLimits, live: LiveSource | None = None, stop: Stop | None = None
) -> Iterator[AskRows]:
    """Ask several SELECTs to history on one snapshot, all within the time of one.

    Parameters and errors are those of :func:`answered`.
    """
    with _begun(url, limits, live, stop) as begun:

        @contextmanager
        def run(asked: CheckedQuestion) -> Iterator[Answer]:
            yield _run(begun, asked, limits)
            begun.cursor.execute("close answer")

        def ask(question: CheckedQuestion) -> list[Row]:
            left = begun.ends - monotonic()
            with in_parts(question, run, seconds=left, most=limits.rows) as answer:
                assert isinstance(answer, Solutions)
                return list(answer.rows)

        yield ask


def plan_of(
    url: str,
    question: CheckedQuestion,
    limits: AskingLimits,
    live: LiveSource | None = None,
    stop: Stop | None = None,
    *,
    analyze: bool = False,
) -> QuestionPlan:
    """The SQL of a question, in lines, and PostgreSQL's plan for it.

    ``analyze``: run it, so that the plan has the actual rows and times. Raises QueryError,
    UnsupportedQuery and HistoryError as :func:`answered` does.
    """
    with _begun(url, limits, live, stop) as begun:
        query = begun.compiled(sql_question(question))
        options = "analyze, buffers" if analyze else "costs"
        with explained(""):
            begun.cursor.execute(f"explain ({options}) {text_of(query.tree, POSTGRES)}")
            lines = [row[0] for row in begun.cursor.fetchall()]
        sql = text_of(query.tree, POSTGRES, pretty=True)
        return question_plan(question.query, sql, "\n".join(lines))


@frozen
class _Begun:
    """A transaction for questions: its cursor, the end of its time, and the window's own terms."""

    cursor: extensions.cursor
    ends: float
    new: Mapping[TermKey, int]
    live: bool

    def compiled(self, question: CheckedQuestion) -> SqlQuery:
        ids = numbers_of(self.cursor, question.query, self.new)
        scope = replace(scope_of(question.time, ids, live=self.live), marked=True)
        tell_spans(scope, question.time)
        return compile_query(question.query, scope)


@contextmanager
def _begun(
    url: str, limits: AskingLimits, live: LiveSource | None, stop: Stop | None
) -> Iterator[_Begun]:
    with stoppable(url, stop, limits.timeout) as connection, connection.cursor() as cursor:
        ends = monotonic() + limits.timeout
        with explained(""):
            timeout = milliseconds(limits.timeout)
            new = begin_question(
                connection, cursor, lambda: cursor.execute(_BEGIN, (timeout,)), live
            )
        yield _Begun(cursor, ends, new, live is not None)


def _run(begun: _Begun, question: CheckedQuestion, limits: AskingLimits) -> Answer:
    query = begun.compiled(question)
    text = text_of(query.tree, POSTGRES)
    with explained(text):
        begun.cursor.execute(f"declare answer no scroll cursor for {text}")
    columns = described(begun.cursor, text)
    batches = fetched(begun.cursor, columns, text, begun.ends - monotonic())
    return answer_of(query, limited(bounded(batches), limits.rows))


def numbers_of(
    cursor: extensions.cursor, query: Query, new: Mapping[TermKey, int]
) -> dict[Term, int]:
    """The numbers of a query's constants, as far as they have one; ``new`` are in no dictionary."""
    keys = {term: term_key(term) for term in constants(query, HISTORY_GRAPHS)}
    found = {**new, **look_up(cursor, list(keys.values()))}
    return {term: found[key] for term, key in keys.items() if key in found}
