"""Rows as the text of PostgreSQL's COPY."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias

Cell: TypeAlias = str | int | float | Decimal | bool | bytes | datetime | None
Row: TypeAlias = tuple[Cell, ...]

# PostgreSQL has no NUL in text. COPY's special signs are escaped (manual, COPY, "Text Format").
_COPY_SIGNS: Final = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": "\ufffd"}
)
# Very few texts contain one, and a search is much faster than translation.
_find_sign: Final = re.compile(r"[\\\n\r\t\x00]").search


def copy_text(rows: Iterable[Row]) -> io.BytesIO:
    """The rows in COPY's text format."""
    text = "".join("\t".join(map(_cell, row)) + "\n" for row in rows)
    # XML has no lone surrogates, but a SPARQL escape can make one; UTF-8 cannot hold it.
    return io.BytesIO(text.encode("utf-8", "replace"))


def copy_command(table: str, columns: Sequence[str]) -> str:
    """The COPY statement for the text of :func:`copy_text`."""
    return f"copy {table} ({', '.join(columns)}) from stdin"


def _cell(value: Cell) -> str:
    if type(value) is int:  # nine of ten; a bool is none
        return str(value)
    if isinstance(value, str):
        return value if _find_sign(value) is None else value.translate(_COPY_SIGNS)
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)
