"""The only interface to psycopg2 and SQLAlchemy: URLs, connections, transactions and their errors.

A :class:`PipelinedCursor` sends several statements in one round trip. psycopg2 does not have
libpq's pipeline mode, but PostgreSQL takes several statements in one string, and executes them in
order until one fails: statements whose results are not needed wait for the next one. A round trip
costs more than its time: the thread gives up the interpreter and must wait for it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Connection, Engine, Executable, Row, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sensorstream.errors import HistoryError, Unstorable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Data = TypeVar("Data", bound=DataclassInstance)

_SETTINGS: Final = (
    "-c TimeZone=UTC "
    # Our statements take milliseconds; to compile one takes longer, each time.
    "-c jit=off "
    # The lock of a writer whose machine has failed must not last for hours.
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
)
"""The settings of each of our sessions, whatever server, database and role say."""

# Errors of values: data exceptions, limits of the program, values a column refuses (PostgreSQL's
# manual, appendix A).
_OF_VALUES: Final = ("22", "54", "23502", "23514")


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() != "postgresql":
        raise HistoryError("the history's URL is not postgresql://user@host/database")
    return parsed


def describe(url: str) -> str:
    """The URL without its password, for people."""
    return _parse(url).render_as_string(hide_password=True)


def connect(url: str, *, application: str = "sensorstream") -> extensions.connection:
    """A new connection; times are returned in UTC.

    Raises HistoryError for another URL than PostgreSQL's, or if the server cannot be reached.
    """
    parsed = _parse(url)
    told = parameters_of(parsed) | _session(parsed) | {"application_name": application}
    with translating(f"cannot connect to {describe(url)}"):
        connection: extensions.connection = psycopg2.connect(**told)
    return connection


def engine(url: str, *, pool_size: int = 2) -> Engine:
    """A small connection pool, safe to share between threads; HistoryError for an invalid URL."""
    parsed = _parse(url)
    return create_engine(
        parsed.set(drivername="postgresql+psycopg2"),
        pool_size=pool_size,
        pool_pre_ping=True,
        connect_args=_session(parsed),
    )


def _query(url: URL) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in url.query.items()
    }


def parameters_of(url: URL) -> dict[str, Any]:
    """The parameters of libpq, singly: libpq does not read "+" in a URL as a space."""
    return _query(url) | url.translate_connect_args(username="user", database="dbname")


def _session(url: URL) -> dict[str, Any]:
    """The session options for libpq; the options of the URL itself come first."""
    options = f"{_query(url).get('options', '')} {_SETTINGS}".lstrip()
    return {"connect_timeout": 10, "options": options}


@contextmanager
def translating(doing: str) -> Iterator[None]:
    """Turn the drivers' errors into :class:`HistoryError`: "doing: what PostgreSQL said"."""
    try:
        yield
    except (psycopg2.Error, SQLAlchemyError) as error:
        raise HistoryError(f"{doing}: {_reason(error)}") from error


@contextmanager
def translating_writes(doing: str) -> Iterator[None]:
    """Translate errors as :func:`translating` does, for values that are stored.

    Raises Unstorable if PostgreSQL, or its driver, would never accept a value.
    """
    try:
        yield
    except ValueError as error:
        # The driver's errors: NUL, or half a character.
        raise Unstorable(f"{doing}: {error}") from error
    except psycopg2.Error as error:
        lasting = (error.pgcode or "").startswith(_OF_VALUES)
        kind = Unstorable if lasting else HistoryError
        # Without the failed statements, which PostgreSQL adds.
        reason = error.diag.message_primary or _reason(error)
        raise kind(f"{doing}: {reason}") from error


@contextmanager
def opened(
    url: str, doing: str, *, application: str = "sensorstream", at_a_time: int | None = None
) -> Iterator[extensions.cursor]:
    """A cursor on a connection of its own, in a transaction that is committed at the end.

    ``at_a_time``: the number of rows in memory at once; None: all. Raises HistoryError if the
    database cannot be reached, or fails; then ``doing`` begins the message.
    """
    name = None if at_a_time is None else "rows"
    with (
        closing(connect(url, application=application)) as connection,
        translating(doing),
        connection,
        connection.cursor(name) as cursor,
    ):
        if at_a_time is not None:
            cursor.itersize = at_a_time
        yield cursor


class OwnConnection:
    """A connection for one thread: made at its first use, and anew after a fault."""

    def __init__(self, url: Callable[[], str], application: str) -> None:
        self._url = url
        self._application = application
        self._connection: extensions.connection | None = None

    @contextmanager
    def cursor(self, doing: str) -> Iterator[extensions.cursor]:
        """A cursor whose statements are transactions of their own.

        Raises HistoryError if the database cannot be reached, or fails; then ``doing`` begins the
        message.
        """
        try:
            if self._connection is None:
                self._connection = connect(self._url(), application=self._application)
                self._connection.autocommit = True
            with translating(doing), self._connection.cursor() as cursor:
                yield cursor
        except HistoryError:
            self.close()
            raise

    def close(self) -> None:
        """Close it; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg2.Error):
                connection.close()


@contextmanager
def limited(database: Engine, doing: str, timeout: float) -> Iterator[Connection]:
    """A transaction in which no statement takes longer than ``timeout`` seconds.

    Raises HistoryError if the database fails, or a statement takes longer; ``doing`` begins the
    message.
    """
    with translating(doing), database.begin() as connection:
        told = {"ms": str(max(1, round(timeout * 1000)))}
        connection.execute(text("select set_config('statement_timeout', :ms, true)"), told)
        yield connection


def rows_of(
    database: Engine, doing: str, query: Executable, values: Mapping[str, object] | None = None
) -> Sequence[Row[*tuple[Any, ...]]]:
    """The rows of an answer; raises HistoryError that begins with ``doing``."""
    with translating(doing), database.connect() as connection:
        return connection.execute(query, values).all()


def record(kind: type[Data], row: Row[*tuple[Any, ...]], **given: object) -> Data:
    """A dataclass from the columns of a row; ``given`` values take precedence."""
    told = row._asdict() | given
    return kind(**{each.name: told[each.name] for each in fields(kind)})


def one_value(cursor: extensions.cursor, query: Any, values: Any = None) -> Any:
    """The first value of the first row of an answer; None: there is no row."""
    cursor.execute(query, values)
    row = cursor.fetchone()
    return None if row is None else row[0]


def _reason(error: Exception) -> str:
    told = getattr(error, "orig", None) or error
    return str(told).strip().removeprefix("ERROR:").strip() or type(told).__name__


class PipelinedCursor(extensions.cursor):
    """A cursor that lets statements wait for the next one whose result is needed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting: list[bytes] = []

    def later(self, query: str | bytes, values: Sequence[Any] | None = None) -> None:
        """Execute a statement together with the next one, before it."""
        self._waiting.append(self._text(query, values))

    def execute(self, query: Any, values: Any = None) -> None:
        """Execute the waiting statements, and then one whose result is that of this call."""
        super().execute(b";".join((*self._taken(), self._text(query, values))))

    def copy_expert(self, *arguments: Any, **options: Any) -> None:
        """Execute the waiting statements, and then COPY."""
        if waiting := self._taken():
            super().execute(b";".join(waiting))
        super().copy_expert(*arguments, **options)

    def _text(self, query: Any, values: Any) -> bytes:
        if values is None and isinstance(query, bytes):
            return query
        text: bytes = self.mogrify(query, values)
        return text

    def _taken(self) -> list[bytes]:
        waiting, self._waiting = self._waiting, []
        return waiting


@contextmanager
def pipelined(connection: extensions.connection) -> Iterator[PipelinedCursor]:
    """A transaction: committed at the end, rolled back on any exception.

    Its begin is sent with the first statement, its end with those that wait then. The connection is
    in autocommit mode, or psycopg2 would send a begin of its own. Raises HistoryError if it was not
    committed.
    """
    with connection.cursor(cursor_factory=PipelinedCursor) as cursor:
        cursor.later(b"begin")
        try:
            yield cursor
            cursor.execute(b"commit")
        except BaseException:
            _roll_back(connection)
            raise
        if cursor.statusmessage != "COMMIT":
            raise HistoryError(f"PostgreSQL answered {cursor.statusmessage} to a commit")


def single(connection: extensions.connection) -> AbstractContextManager[PipelinedCursor]:
    """A statement that is a transaction; the connection is in autocommit mode."""
    return connection.cursor(cursor_factory=PipelinedCursor)


@contextmanager
def transaction(
    connection: extensions.connection, doing: str, *, alone: bool = False
) -> Iterator[PipelinedCursor]:
    """A transaction that writes: committed at the end, rolled back on any exception.

    With ``alone`` it is a single statement, without begin and end.

    Raises:
        HistoryError: it was not committed; ``doing`` begins the message.
        Unstorable: it can never be committed.
    """
    begin = single if alone else pipelined
    with translating_writes(doing), begin(connection) as cursor:
        yield cursor


def _roll_back(connection: extensions.connection) -> None:
    idle = extensions.TRANSACTION_STATUS_IDLE
    if not connection.closed and connection.info.transaction_status != idle:
        with connection.cursor() as cursor:
            cursor.execute("rollback")
