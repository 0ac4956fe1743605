"""Several statements in one round trip to PostgreSQL.

libpq's pipeline mode is not in psycopg2. But PostgreSQL takes several statements in one string, and
executes them in order until one fails: those whose results nobody needs wait for the next one.
A round trip costs more than its time: the thread gives up the interpreter meanwhile, and has to
wait for it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.database import translating_writes


class PipelinedCursor(extensions.cursor):
    """A cursor that lets statements wait for the next one whose result is needed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting: list[bytes] = []

    def later(self, query: str | bytes, values: Sequence[Any] | None = None) -> None:
        """Execute a statement with the next one, before it."""
        self._waiting.append(self._text(query, values))

    def execute(self, query: Any, values: Any = None) -> None:
        """Execute what waits, and then a statement; its result is that of this call."""
        super().execute(b";".join((*self._taken(), self._text(query, values))))

    def copy_expert(self, *arguments: Any, **options: Any) -> None:
        """Execute what waits, and then COPY."""
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
    """One transaction: committed at the end, rolled back on any exception.

    Its begin is sent with the first statement, its end with those that wait then. The connection is
    in autocommit mode, or psycopg2 would send a begin of its own.

    Raises:
        HistoryError: it was not committed.
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


@contextmanager
def single(connection: extensions.connection) -> Iterator[PipelinedCursor]:
    """One statement that is a transaction; the connection is in autocommit mode."""
    with connection.cursor(cursor_factory=PipelinedCursor) as cursor:
        yield cursor


@contextmanager
def transaction(
    connection: extensions.connection, doing: str, *, alone: bool = False
) -> Iterator[PipelinedCursor]:
    """One transaction that writes: committed at the end, rolled back on any exception.

    One that consists of a single statement, ``alone``, begins and ends with it.

    Raises:
        HistoryError: it was not committed; ``doing`` begins the message.
        Unstorable: nor could it be at any other time.
    """
    begin = single if alone else pipelined
    with translating_writes(doing), begin(connection) as cursor:
        yield cursor


def _roll_back(connection: extensions.connection) -> None:
    idle = extensions.TRANSACTION_STATUS_IDLE
    if not connection.closed and connection.info.transaction_status != idle:
        with connection.cursor() as cursor:
            cursor.execute("rollback")
