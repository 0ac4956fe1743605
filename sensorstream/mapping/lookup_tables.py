"""Lookup tables: from a CSV file's text to a dictionary."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language.syntax import Table
from sensorstream.quoting import shortened

TABLE_SUFFIX: Final = ".csv"
"""The end of the names of files that are tables."""


def parse_table(table: Table, text: str) -> Mapping[str, str]:
    """The key column to the value column of comma-separated text (RFC 4180) with a header.

    Outer white space of headers, keys and values is cut; a line with an empty key or an empty value
    is ignored.

    Raises:
        LanguageError: at the declaration: no such column, a line with another number of columns, or
            a key with two values.
    """
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    try:
        header = [name.strip() for name in next(rows, [])]
        columns = [_column(table, header, name) for name in (table.key, table.value)]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise _fault(
                    table, f"line {rows.line_num} has {len(row)} columns, expected {len(header)}"
                )
            key, value = (row[column].strip() for column in columns)
            if not key or not value:
                continue
            if found.setdefault(key, value) != value:
                raise _fault(
                    table,
                    f"line {rows.line_num}: '{key}' has the value '{found[key]}' already, "
                    f"at line {lines[key]}",
                )
            lines.setdefault(key, rows.line_num)
    except csv.Error as error:
        raise _fault(table, f"line {rows.line_num}: not CSV: {error}") from None
    return found


def _column(table: Table, header: list[str], name: str) -> int:
    if name not in header:
        # The first line of what is no table may be a secret.
        known = table.path.lower().endswith(TABLE_SUFFIX)
        there = shortened(", ".join(header)) or "nothing"
        told = f"one of {there}" if known else "a line with the names of the columns first"
        raise _fault(table, f"there is no column '{name}': expected {told}")
    return header.index(name)


def _fault(table: Table, message: str) -> LanguageError:
    return LanguageError(f"table {table.name}, {table.path}: {message}", position=table.position)
