"""Answers to SQL questions in batches whose bytes are bounded before they are sent.

A value may have a gigabyte (``repeat('x', 1000000000)``), and libpq keeps the whole answer of a
statement: a limit checked afterwards is too late. So a function in PostgreSQL takes rows from the
cursor ``answer`` up to a size, and refuses a row that is too large.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, islice
from time import monotonic
from typing import Final, TypeAlias

import psycopg2
from psycopg2 import extensions
from sqlalchemy.engine import make_url

from sensorstream.errors import HistoryError, Overrun, Position, QueryError
from sensorstream.history.asking.history_relations import LiveSource, begin_question
from sensorstream.history.backends import ending
from sensorstream.history.database import connect
from sensorstream.history.reader_role import check_functions, is_superuser, reader_url
from sensorstream.model.frozen import frozen
from sensorstream.processes.stopping import Stop

Row: TypeAlias = tuple[object, ...]

NEXT_ROWS: Final = "store.next_rows"
BATCH_BYTES: Final = 4 * 1024 * 1024
"""Bytes of text after which a batch ends, with the row that exceeds them."""
_ROW_BYTES: Final = 16 * 1024 * 1024
ANSWER_BYTES: Final = 128 * 1024 * 1024
"""The most bytes of an answer that is kept in memory."""

TOO_LARGE: Final = "54S01"
"""The SQLSTATE of a row that is too large."""
_BODY: Final = f"""
declare
  one record;
  size bigint;
  total bigint := 0;
begin
  for n in 1 .. most loop
    fetch next from answer into one;
    exit when not found;
    size := octet_length(one::text);
    if size > {_ROW_BYTES} then
      raise exception using errcode = '{TOO_LARGE}', message = format(
        'a row of the answer has %s bytes, more than {_ROW_BYTES}: ask for less of it', size);
    end if;
    return next one;
    total := total + size;
    exit when total > {BATCH_BYTES};
  end loop;
end
"""

# Types of a fixed size.
_FIXED: Final = frozenset(
    (16, 18, 19, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 2278, 2950)
)
# The most common types, for which PostgreSQL need not be asked.
_NAMES: Final[Mapping[int, str]] = {
    16: "boolean",
    17: "bytea",
    20: "bigint",
    21: "smallint",
    23: "integer",
    25: "text",
    114: "json",
    700: "real",
    701: "double precision",
    1043: "varchar",
    1082: "date",
    1114: "timestamp",
    1184: "timestamptz",
    1700: "numeric",
    3802: "jsonb",
}


@frozen
class Fetching:
    """The way to take rows: ``statement`` has ``%s`` for the number of rows.

    ``most``: the most rows at a time. ``exact``: fewer come only at the end.
    """

    statement: str
    exact: bool
    most: int | None = None


def install_row_batches(cursor: extensions.cursor) -> None:
    """Make the function that takes rows from the cursor ``answer`` of its transaction."""
    cursor.execute(
        f"create or replace function {NEXT_ROWS}(answer refcursor, most integer) "
        f"returns setof record language plpgsql as $body${_BODY}$body$"
    )


def fetching(
    cursor: extensions.cursor, columns: Sequence[tuple[int, tuple[int, int] | None]]
) -> Fetching:
    """The way to take the rows of the cursor ``answer``, in its transaction.

    ``columns`` has for each its type (OID), and the table and number of the column that it shows.
    """
    if _FIXED.issuperset(each for each, _ in columns):
        return Fetching("fetch forward %s from answer", exact=True)
    types = _declared(cursor, columns)
    names = dict(_NAMES)
    if unknown := [each for each in set(types) if each not in names]:
        cursor.execute(
            "select oid, case when typtype <> 'p' then format_type(oid, null) end "
            "from pg_catalog.pg_type where oid = any(%s)",
            (unknown,),
        )
        names |= dict(cursor.fetchall())
    told = [names.get(each) for each in types]
    if None in told:
        # A function cannot return a column of such a type, for example "record".
        return Fetching("fetch forward %s from answer", exact=True, most=1)
    row = ", ".join(f"c{number} {name}" for number, name in enumerate(told))
    return Fetching(f"select * from {NEXT_ROWS}('answer', %s) as rows({row})", exact=False)


def _declared(
    cursor: extensions.cursor, columns: Sequence[tuple[int, tuple[int, int] | None]]
) -> list[int]:
    """The types of columns; for a domain its base type, as in PostgreSQL's protocol."""
    types = [each for each, _ in columns]
    origins = [(place, *origin) for place, (_, origin) in enumerate(columns) if origin]
    if origins:
        cursor.execute(
            "select o.place, a.atttypid from unnest(%s::int[], %s::oid[], %s::int[]) "
            "as o (place, relation, number) join pg_catalog.pg_attribute a "
            "on a.attrelid = o.relation and a.attnum = o.number "
            "join pg_catalog.pg_type t on t.oid = a.atttypid and t.typtype = 'd'",
            tuple(map(list, zip(*origins, strict=True))),
        )
        for place, declared in cursor.fetchall():
            types[place] = declared
    return types


def bounded(batches: Iterable[Sequence[Row]]) -> Iterator[Sequence[Row]]:
    """The batches of an answer that is kept in memory.

    Raises Overrun if their values have more bytes than :data:`ANSWER_BYTES`.
    """
    size = 0
    for batch in batches:
        size += sum(_size(value) for row in batch for value in row)
        if size > ANSWER_BYTES:
            raise Overrun(
                f"the answer has more than {ANSWER_BYTES:,} bytes: ask for less, or for SQL over "
                "history as CSV or Arrow, which is sent while it is read"
            )
        yield batch


def _size(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list) else 8


_BEGIN: Final = (
    # Temporary tables would come first in the path if they were not named in it.
    "select set_config('search_path', 'history, pg_temp', true), "
    # All rows are fetched, so plan for the whole result.
    "set_config('cursor_tuple_fraction', '1', true), "
    "set_config('statement_timeout', %s, true), "
    "set_config('sensorstream.query', %s, true)"
)
# EXECUTE accepts one statement that returns rows: no second statement, no COMMIT, no COPY. The text
# is passed as a setting, because a DO block has no parameters.
_OPEN: Final = """do $$
declare answer refcursor := 'answer';
begin
  open answer no scroll for execute current_setting('sensorstream.query');
end $$"""

_names_live: Final = re.compile(r"\blive\b", re.IGNORECASE).search
_NO_WINDOW: Final = (
    "the views of schema live show the window of a running server: ask it (POST /sql, as "
    "'sensorstream sql' does) with a text that names the schema"
)

NUMERIC: Final = 1700
"""PostgreSQL's OID of the type ``numeric``."""
_TEXT: Final = 25
# The greatest precision that PostgreSQL allows in a type.
_DIGITS: Final = 1_000
_FIRST_BATCH: Final = 256
_BATCH_ROWS: Final = 8_192
# The time for which the receiver of an answer may take nothing.
_IDLE_SECONDS: Final = 60.0
_ONLY_ASKS: Final = "expected one statement that returns rows and changes nothing (SELECT): "


@frozen
class SqlResult:
    """The answer to an SQL query; ``truncated``: the row limit was reached and rows are missing."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    truncated: bool = False


@frozen
class AnswerColumn:
    """A column of an answer; ``type`` is PostgreSQL's OID, that of text for other engines.

    ``precision`` and ``scale`` are those of a ``numeric(precision, scale)``, else None. ``origin``
    is the OID of the table or view whose column it shows, and the number of that column.
    """

    name: str
    type: int = _TEXT
    precision: int | None = None
    scale: int | None = None
    origin: tuple[int, int] | None = None


@frozen
class SqlStream:
    """An answer that is read while it is computed; its rows can be read once."""

    columns: tuple[AnswerColumn, ...]
    batches: Iterator[Sequence[Row]]

    def result(self, row_limit: int) -> SqlResult:
        """The first rows, in memory; raises Overrun if they have too many bytes."""
        names = tuple(each.name for each in self.columns)
        rows = tuple(islice(chain.from_iterable(bounded(self.batches)), row_limit + 1))
        return SqlResult(names, rows[:row_limit], truncated=len(rows) > row_limit)


def names_live(text: str) -> bool:
    """Whether a query may name a view of schema ``live``; no such query is missed."""
    return _names_live(text) is not None


def run_sql(url: str, text: str, *, timeout: float, row_limit: int) -> SqlResult:
    """The first ``row_limit`` rows of the answer to one SQL query; see :func:`open_sql`."""
    with open_sql(url, text, timeout=timeout) as stream:
        return stream.result(row_limit)


@contextmanager
def open_sql(
    url: str, text: str, *, timeout: float, live: LiveSource | None = None, stop: Stop | None = None
) -> Iterator[SqlStream]:
    """Answer an SQL query, one statement that returns rows; names without a schema are the views of
    ``history``, and ``live`` is the present for those of schema ``live``. ``stop`` ends it early.

    It runs as the reader (:mod:`sensorstream.history.reader_role`) in a separate read-only
    transaction, that is, on one snapshot. If the server has no reader it runs as the writer, unless
    that is a superuser. PostgreSQL may work on it for ``timeout`` seconds in all, and ends the
    transaction if the rows are not taken for a minute.

    Raises:
        QueryError: PostgreSQL refuses the text (with the position), or it would write.
        Overrun: it takes too long; also while the rows are read.
        HistoryError: the database cannot be reached, or ended the transaction.
    """
    with _opened(url, text, timeout, live, stop) as cursor:
        columns = described(cursor, text)
        batches = fetched(cursor, columns, text, timeout)
        first = next(batches)
        yield SqlStream(columns, chain([first], batches))


@contextmanager
def describe_sql(
    url: str, text: str, *, timeout: float
) -> Iterator[tuple[tuple[AnswerColumn, ...], extensions.cursor]]:
    """The columns of the answer to a query, without computing it, and the reader's cursor.

    Raises QueryError and HistoryError as :func:`open_sql` does.
    """
    with _opened(url, text, timeout) as cursor:
        yield described(cursor, text), cursor


@contextmanager
def _opened(
    url: str, text: str, timeout: float, live: LiveSource | None = None, stop: Stop | None = None
) -> Iterator[extensions.cursor]:
    """A cursor of the reader; PostgreSQL has planned the query as its portal ``answer``."""
    with stoppable(url, stop, timeout) as connection, connection.cursor() as cursor:
        with explained(text):
            told = milliseconds(timeout), text
            begin_question(connection, cursor, lambda: cursor.execute(_BEGIN, told), live)
            check_functions(cursor, text)
            cursor.execute(_OPEN)
        yield cursor


@contextmanager
def stoppable(url: str, stop: Stop | None, seconds: float) -> Iterator[extensions.connection]:
    """A connection as the reader for a question, which ``stop`` ends early.

    Raises:
        Overrun: PostgreSQL works on it for longer than ``seconds``, and does not end it itself.
        HistoryError: as :func:`open_reader`.
        SensorStreamError: it was ended.
    """
    connection = open_reader(url)

    def end() -> None:
        # PostgreSQL stops the running statement; if none is running, none follows.
        with suppress(psycopg2.Error):
            connection.cancel()
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    stop = stop or Stop()
    with closing(connection), stop.by(end), ending(connection, stop, seconds):
        yield connection


def described(cursor: extensions.cursor, text: str) -> tuple[AnswerColumn, ...]:
    """The columns of the open cursor "answer" of this query."""
    with explained(text):
        cursor.execute("fetch forward 0 from answer")
    return tuple(map(_column, cursor.description or ()))


def fetched(
    cursor: extensions.cursor, columns: Sequence[AnswerColumn], text: str, timeout: float
) -> Iterator[list[Row]]:
    """The rows of the open cursor "answer", at least one batch; few at a time if they are large.

    ``text`` is the query, for the place of an error; ``timeout`` the seconds that are left for it.
    """
    with explained(text):
        how = fetching(cursor, [(each.type, each.origin) for each in columns])
    left, wanted = timeout, how.most or _FIRST_BATCH
    while True:
        begun = monotonic()
        with explained(text):
            # The time that is left, computed anew each time.
            cursor.execute(
                "select set_config('statement_timeout', %s, true), "
                "set_config('idle_in_transaction_session_timeout', %s, true)",
                (milliseconds(left), milliseconds(_IDLE_SECONDS)),
            )
            cursor.execute(how.statement, (wanted,))
            rows = [tuple(map(_plain, row)) for row in cursor.fetchall()]
        left -= monotonic() - begun
        yield rows
        if not rows or (how.exact and len(rows) < wanted):
            return
        wanted = how.most or min(2 * wanted, _BATCH_ROWS)


def milliseconds(seconds: float) -> str:
    """A time limit as PostgreSQL writes it, for which 0 is no limit."""
    return str(max(1, round(seconds * 1000)))


def _column(told: extensions.Column) -> AnswerColumn:
    precision, scale = told.precision, told.scale or 0
    # Without a precision, or with a scale above it, psycopg2 gives other numbers.
    if told.type_code == NUMERIC and precision is not None and 0 <= scale <= precision <= _DIGITS:
        return AnswerColumn(told.name, told.type_code, precision, scale)
    table, place = told.table_oid, told.table_column
    origin = (table, place) if table is not None and place is not None else None
    return AnswerColumn(told.name, told.type_code, origin=origin)


def open_reader(url: str) -> extensions.connection:
    """A connection as the reader, or without one as a writer who is no superuser.

    Raises HistoryError if the database cannot be reached, or there is no such role.
    """
    with suppress(HistoryError):
        return connect(reader_url(url), application="sensorstream sql")
    connection = connect(url, application="sensorstream sql")
    with connection.cursor() as cursor:
        powerful = is_superuser(cursor)
    if powerful:
        connection.close()
        raise HistoryError(
            "SQL over history needs a role that can only read: the history's URL names a "
            "superuser, and its reader cannot log in (docs/operate/storage.md)"
        )
    connection.rollback()
    return connection


def reading_url(url: str) -> str:
    """The URL of the role as which :func:`open_reader` connects; raises as it does."""
    with closing(open_reader(url)) as connection:
        reader = reader_url(url)
        return reader if connection.info.user == make_url(reader).username else url


@contextmanager
def explained(text: str) -> Iterator[None]:
    """Translate PostgreSQL's errors; ``text`` is the query that their positions refer to."""
    try:
        yield
    except psycopg2.OperationalError as error:
        if isinstance(error, psycopg2.errors.QueryCanceled):
            raise Overrun("the query took longer than limits.question_seconds allows") from error
        if error.pgcode == TOO_LARGE:
            raise Overrun(error.diag.message_primary or "a row is too large") from error
        if isinstance(
            error, psycopg2.errors.ProgramLimitExceeded | psycopg2.errors.StatementTooComplex
        ):
            raise QueryError(
                f"the query is too large for PostgreSQL: {str(error).strip()}"
            ) from error
        if isinstance(error, psycopg2.errors.ConfigurationLimitExceeded):
            raise Overrun(
                "the query needs more room on the disk to sort or join than the reader may take "
                f"(temp_file_limit): ask for less: {str(error).strip()}"
            ) from error
        if isinstance(error, psycopg2.errors.OutOfMemory):
            raise Overrun(
                "the query needs more memory than PostgreSQL has for it: ask for less: "
                f"{str(error).strip()}"
            ) from error
        if isinstance(error, psycopg2.errors.ObjectNotInPrerequisiteState):
            raise QueryError(_ONLY_ASKS + str(error.diag.message_primary)) from error
        raise HistoryError(f"cannot answer the query: {error}") from error
    except OverflowError as error:
        raise QueryError(f"the answer has a time or length that is too large: {error}") from error
    except (psycopg2.Error, ValueError) as error:
        if isinstance(error, psycopg2.errors.UndefinedTable) and "pg_temp.live_" in str(error):
            raise QueryError(_NO_WINDOW) from error
        if isinstance(error, psycopg2.errors.UndefinedFunction) and NEXT_ROWS in str(error):
            raise HistoryError(
                "the history is as an earlier version left it: start its server once, which "
                "brings it up to date"
            ) from error
        diagnosis = getattr(error, "diag", None)
        message = (diagnosis and diagnosis.message_primary) or str(error)
        if diagnosis is not None and diagnosis.message_hint:
            message = f"{message} ({diagnosis.message_hint})"
        if isinstance(error, psycopg2.errors.InvalidCursorDefinition):
            message = _ONLY_ASKS + message
        raise QueryError(message, position=_position(diagnosis, text)) from error


def _position(diagnosis: extensions.Diagnostics | None, text: str) -> Position | None:
    """The position of PostgreSQL's error, if it refers to the text of the query."""
    if diagnosis is None or diagnosis.internal_query not in (None, text):
        return None
    told = diagnosis.internal_position or diagnosis.statement_position
    if diagnosis.internal_query is None or told is None:
        return None
    before = text[: int(told) - 1]
    return Position("query", before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
