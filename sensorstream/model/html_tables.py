"""HTML for notebooks: tables, and lines as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Final

_MOST: Final = 60
"""Rows that are shown."""


def html_table(columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """A table of the first rows, with a note and the number of rows below; None is empty."""
    parts = [f"<th>{escape(each)}</th>" for each in columns]
    lines = [f"<tr>{''.join(parts)}</tr>"]
    for row in islice(rows, _MOST):
        cells = ("" if each is None else escape(str(each)) for each in row)
        lines.append(f"<tr>{''.join(f'<td>{each}</td>' for each in cells)}</tr>")
    left = f", {_MOST} shown" if len(rows) > _MOST else ""
    told = f"{len(rows)} row{'' if len(rows) == 1 else 's'}{left}{note and f'; {note}'}"
    return f"<table>{''.join(lines)}</table><p>{escape(told)}</p>"


def html_lines(lines: Iterable[str]) -> str:
    """Lines in a fixed font."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"
