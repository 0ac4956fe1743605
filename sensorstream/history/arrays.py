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
    kinds = set(map(type, column))
    if kinds == {int}:
        return f"'{{{','.join(map(str, column))}}}'"
    if kinds == {str} and _find_sign("".join(column)) is None:  # type: ignore[arg-type]
        return f"""'{{"{'","'.join(column)}"}}'"""  # type: ignore[arg-type]
    return f"'{{{','.join(map(_element, column))}}}'"


def _element(value: Cell) -> str:
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
