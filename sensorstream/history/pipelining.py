"""Several statements in one round trip to PostgreSQL.

libpq's pipeline mode is not in psycopg2. But PostgreSQL takes several statements in one string, and
executes them in order until one fails: those whose results nobody needs wait for the next one.
A round trip costs more than its time: the thread gives up the interpreter meanwhile, and has to
wait for it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Final

from psycopg2 import extensions
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql

from sensorstream.errors import HistoryError
from sensorstream.history.copying import Cell, Row, copy_command, copy_text

_FEW: Final = 64
"""Rows; more are stored by COPY: that costs two round trips of its own, and less for each row."""
_FEW_BYTES: Final = 1_048_576
"""About the most bytes of bytes that stand in a statement."""


class PipelinedCursor(extensions.cursor):
    """A cursor that lets statements wait for the next one whose result is needed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._waiting: list[bytes] = []

    def later(self, query: str | bytes, values: Sequence[Any] | None = None) -> None:
        """Execute a statement with the next one, before it."""
        self._waiting.append(self._text(query, values))

    def later_values(self, query: str, rows: Sequence[Sequence[Any]], template: str) -> None:
        """As :meth:`later`, with rows in place of the query's ``%s``."""
        values = b",".join(self.mogrify(template, row) for row in rows)
        self._waiting.append(query.encode().replace(b"%s", values, 1))

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


def _roll_back(connection: extensions.connection) -> None:
    idle = extensions.TRANSACTION_STATUS_IDLE
    if not connection.closed and connection.info.transaction_status != idle:
        with connection.cursor() as cursor:
            cursor.execute("rollback")


def put_rows(
    cursor: PipelinedCursor, table: Table, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Store rows; few of them with the next statement."""
    told = list(rows)
    if not told:
        return
    size = sum(len(cell) for row in told for cell in row if isinstance(cell, bytes))
    if len(told) > _FEW or size > _FEW_BYTES:
        cursor.copy_expert(copy_command(table.fullname, columns), copy_text(told))
        return
    names = ", ".join(columns)
    arrays = arrays_of(table, columns, told)
    cursor.later(
        f"insert into {table.fullname} ({names}) select * from unnest({arrays})".encode(
            "utf-8", "replace"
        )
    )


def arrays_of(table: Table, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The columns of some rows as SQL arrays, for ``unnest``: one constant each, read fast."""
    return ", ".join(
        f"'{{{','.join(map(_element, column))}}}'::{kind}[]"
        for kind, column in zip(_types(table, tuple(columns)), zip(*rows, strict=True), strict=True)
    )


@cache
def _types(table: Table, columns: tuple[str, ...]) -> tuple[str, ...]:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return tuple(table.c[each].type.compile(dialect) for each in columns)


def _element(value: Cell) -> str:
    """An element of an array's text, in a constant: manual, 8.15.2, "Array Value Input"."""
    if type(value) is int:  # most; a bool is none
        return str(value)
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f'"{value.translate(_SIGNS)}"'
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, datetime):
        return f'"{value.isoformat()}"'
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)


# PostgreSQL has no NUL in text. Backslashes and quotes are signs of arrays, the apostrophe of
# constants, in which the backslash is none (standard_conforming_strings).
_SIGNS: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "'": "''", "\x00": "\ufffd"})
