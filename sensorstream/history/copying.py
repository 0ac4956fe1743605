"""Rows in the forms that PostgreSQL reads fast: COPY text, and an array for each column."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias

from psycopg2 import extensions

from sensorstream.model.frozen import frozen

Cell: TypeAlias = str | int | float | Decimal | bool | bytes | datetime | None
Row: TypeAlias = tuple[Cell, ...]

# PostgreSQL's text has no NUL. COPY's special signs are escaped (manual, COPY, "Text Format").
_COPY_SIGNS: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": "\ufffd"}


def _cell(value: Cell) -> str:
    if type(value) is int:  # nine of ten; a bool is none
        return str(value)
    if isinstance(value, str):
        return _escaped(value)
    return "\\N" if value is None else _written(value)


def _escaped(text: str) -> str:
    # One sign after the other: a translation takes twenty times as long. The backslash comes first.
    for sign, told in _COPY_SIGNS.items():
        text = text.replace(sign, told)
    return text


def _written(value: Cell) -> str:
    """A cell that is no text, as COPY reads it."""
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)


# PostgreSQL has no NUL in text. Backslashes and quotes are signs of arrays, the apostrophe of
# constants, in which the backslash is none (standard_conforming_strings).
_ARRAY_SIGNS: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "'": "''", "\x00": "\ufffd"})
_find_array_sign: Final = re.compile(r"[\\\"'\x00]").search
_BETWEEN: Final = "\x00"
_NOTHING: Final = type(None)


def arrays_of(rows: Iterable[Row], width: int) -> str:
    """The columns of rows as array constants of SQL, for a function's parameters.

    All rows have ``width`` columns; without rows the arrays are empty.
    """
    columns: Collection[Sequence[Cell]] = list(zip(*rows, strict=True)) or [()] * width
    return ",".join(map(array_of, columns))


@frozen
class RowShape:
    """The rows of a table as they are written: all have these columns, in this order."""

    table: str
    columns: tuple[str, ...]

    def copy(self, cursor: extensions.cursor, rows: Iterable[Row]) -> None:
        """Write rows by COPY."""
        text = "".join("\t".join(map(_cell, row)) + "\n" for row in rows)
        # XML has no lone surrogates, but a SPARQL escape can make one; UTF-8 cannot hold it.
        told = io.BytesIO(text.encode("utf-8", "replace"))
        cursor.copy_expert(f"copy {self.table} ({', '.join(self.columns)}) from stdin", told)

    def arrays(self, rows: Iterable[Row]) -> str:
        """See :func:`arrays_of`."""
        return arrays_of(rows, len(self.columns))


def array_of(column: Sequence[Cell]) -> str:
    """A column as a constant of SQL: manual, 8.15.2, "Array Value Input"."""
    return f"'{{{_elements(column)}}}'"


def _elements(column: Sequence[Cell]) -> str:
    kinds = set(map(type, column))
    if len(kinds) == 1:
        # A column at once: several times as fast as cell by cell.
        if int in kinds:
            return ",".join(map(str, column))
        if str in kinds:
            return _texts(column)  # type: ignore[arg-type]
        if _NOTHING in kinds:
            return ",".join(["NULL"] * len(column))
        if bool in kinds:
            return ",".join(["t" if each else "f" for each in column])
    return ",".join(["NULL" if each is None else _element(each) for each in column])


def _texts(column: Sequence[str]) -> str:
    joined = _BETWEEN.join(column)
    if joined.count(_BETWEEN) >= len(column):
        return ",".join(map(_element, column))
    told = joined.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''")
    divided = told.replace(_BETWEEN, '","')
    return f'"{divided}"'


def _element(value: Cell) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        plain = _find_array_sign(value) is None
        return f'"{value}"' if plain else f'"{value.translate(_ARRAY_SIGNS)}"'
    told = _written(value)
    return f'"{told}"' if isinstance(value, bytes | datetime) else told
