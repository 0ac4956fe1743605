"""One read-only SQL statement over history: for ``POST /sql`` and ``sensorstream sql``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import psycopg2
from psycopg2 import extensions

from sensorstream.errors import HistoryError, Position, QueryError
from sensorstream.history.database import connect
from sensorstream.history.reader import reader_url

# EXECUTE accepts one statement that returns rows: no second statement, no COMMIT, no COPY. The text
# is passed as a setting, because a DO block has no parameters.
_OPEN: Final = """do $$
declare answer refcursor := 'answer';
begin
  open answer no scroll for execute current_setting('sensorstream.query');
end $$"""


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The answer to an SQL query; ``truncated``: the row limit was reached and rows are missing."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    truncated: bool = False


def run_sql(url: str, text: str, *, timeout: float, row_limit: int) -> SqlResult:
    """Answer one SQL query; names without a schema are the views of ``history``.

    It runs as the reader (:mod:`sensorstream.history.reader`) in a separate read-only transaction.
    If the server has no reader it runs as the writer, unless that is a superuser.

    Args:
        url: the history's URL.
        text: one statement that returns rows.
        timeout: seconds it may take.
        row_limit: the most rows returned.

    Raises:
        QueryError: PostgreSQL refuses the text (with the position), or it would write, or takes too
            long.
        HistoryError: the database cannot be reached.
    """
    connection = _reader(url)
    try:
        connection.set_session(readonly=True)
        with _explained(text), connection.cursor() as cursor:
            cursor.execute(
                "select set_config('search_path', 'history', true), "
                # All rows are fetched, so plan for the whole result.
                "set_config('cursor_tuple_fraction', '1', true), "
                "set_config('statement_timeout', %s, true), "
                "set_config('sensorstream.query', %s, true)",
                (str(max(1, round(timeout * 1000))), text),
            )
            cursor.execute(_OPEN)
            cursor.execute(f"fetch forward {row_limit + 1:d} from answer")
            columns = tuple(each.name for each in cursor.description or ())
            rows = [tuple(row) for row in cursor.fetchall()]
    finally:
        connection.close()
    plain = tuple(tuple(map(_plain, row)) for row in rows[:row_limit])
    return SqlResult(columns, plain, truncated=len(rows) > row_limit)


def _reader(url: str) -> extensions.connection:
    with suppress(HistoryError):
        return connect(reader_url(url), application="sensorstream sql")
    connection = connect(url, application="sensorstream sql")
    with connection.cursor() as cursor:
        cursor.execute("select rolsuper from pg_roles where rolname = current_user")
        row = cursor.fetchone()
    if row is None or row[0]:
        connection.close()
        raise HistoryError(
            "SQL over history needs a role that can only read: the history's URL names a "
            "superuser, and its reader cannot log in (docs/history.md)"
        )
    connection.rollback()
    return connection


@contextmanager
def _explained(text: str) -> Iterator[None]:
    try:
        yield
    except psycopg2.OperationalError as error:
        if isinstance(error, psycopg2.errors.QueryCanceled):
            raise QueryError("the query took longer than history.statement_timeout") from error
        raise HistoryError(f"cannot answer the query: {error}") from error
    except (psycopg2.Error, ValueError) as error:
        diagnosis = getattr(error, "diag", None)
        message = (diagnosis and diagnosis.message_primary) or str(error)
        if diagnosis is not None and diagnosis.message_hint:
            message = f"{message} ({diagnosis.message_hint})"
        raise QueryError(message, position=_position(diagnosis, text)) from error


def _position(diagnosis: extensions.Diagnostics | None, text: str) -> Position | None:
    """The position of the error from PostgreSQL, if it refers to the text of the query."""
    if diagnosis is None or diagnosis.internal_query not in (None, text):
        return None
    told = diagnosis.internal_position or diagnosis.statement_position
    if diagnosis.internal_query is None or told is None:
        return None
    before = text[: int(told) - 1]
    return Position("query", before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
