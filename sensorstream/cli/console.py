"""What commands print: results on stdout, progress on stderr and only for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

Advance = Callable[[], None]


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Advance]:
    """A bar on stderr while the block runs; nothing where stderr is no terminal.

    Gives a function to call after each of the ``total`` pieces of work.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def print_json(value: object) -> None:
    """One JSON document; times and other values that JSON lacks become their text."""
    click.echo(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    isoformat = getattr(value, "isoformat", None)
    return str(value) if isoformat is None else str(isoformat())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table as wide as the terminal allows; full width, never cut, in a pipe."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [["" if each is None else _text(each) for each in row] for row in rows]
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(
            isinstance(row[number], int | float) and not isinstance(row[number], bool)
            for row in rows
        )
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    terminal = sys.stdout.isatty()
    Console(file=sys.stdout, width=None if terminal else _width(columns, cells)).print(table)


def _text(value: object) -> str:
    return value if isinstance(value, str) else _plain(value)


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widest = (
        max(len(column), *(len(row[number]) for row in rows)) if rows else len(column)
        for number, column in enumerate(columns)
    )
    return sum(width + 2 for width in widest)
