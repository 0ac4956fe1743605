"""Columns of rows as SQL arrays: one constant each, which PostgreSQL reads fast."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from sensorstream.history.copying import Cell, Row

# PostgreSQL has no NUL in text. Backslashes and quotes are signs of arrays, the apostrophe of
# constants, in which the backslash is none (standard_conforming_strings).
_SIGNS: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "'": "''", "\x00": "\ufffd"})
# Few texts contain one, and a search is much faster than translation.
_find_sign: Final = re.compile(r"[\\\"'\x00]").search
_BETWEEN: Final = "\x00"
_NOTHING: Final = type(None)


def arrays_of(rows: Iterable[Row], width: int) -> str:
    """The columns of some rows as constants of SQL, for a function's parameters.

    Args:
        rows: all of one width.
        width: the number of columns; without rows they are empty arrays.
    """
    columns: Collection[Sequence[Cell]] = list(zip(*rows, strict=True)) or [()] * width
    return ",".join(map(array_of, columns))


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
        return f'"{value}"' if _find_sign(value) is None else f'"{value.translate(_SIGNS)}"'
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if isinstance(value, datetime):
        return f'"{value.isoformat()}"'
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)
