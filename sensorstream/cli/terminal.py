"""The output of commands: results on stdout, progress on stderr if it is a terminal."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import islice
from typing import Any, TypeVar

import click

from sensorstream.app.life.progress import Progress
from sensorstream.cli.lasting import lasting
from sensorstream.cli.options import Command

Advance = Callable[[], None]


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Advance]:
    """A bar on stderr while the block runs; lines of state if stderr is not a terminal.

    Yields a function to call after each of the ``total`` pieces of work.
    """
    if not sys.stderr.isatty():
        done = itertools.count(1)
        of = "" if total is None else f" of {total}"
        with lasting(what) as say:
            yield lambda: say(what, f"{next(done)}{of}")
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


@contextmanager
def working(what: str) -> Iterator[Progress]:
    """Say on stderr what goes on while the block runs; yields as :func:`.lasting`.

    On a terminal it is one line that changes and goes at the end.
    """
    if not sys.stderr.isatty():
        with lasting(what) as say:
            yield say
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda doing, done="": status.update(f"{doing}: {done}" if done else doing)


def print_json(value: object) -> None:
    """One JSON document; times and other values without a JSON form become text."""
    click.echo(json.dumps(value, ensure_ascii=False, default=plain))


def plain(value: object) -> str:
    """The text of a value of a table: times in ISO 8601, bytes decoded as UTF-8."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat() if isinstance(value, date) else str(value)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, indent: int = 0
) -> None:
    """A table as wide as the terminal allows; full width, never cut, in a pipe."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [["" if each is None else plain(each) for each in row] for row in rows]
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(
            isinstance(row[number], int | float) and not isinstance(row[number], bool)
            for row in rows
        )
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    shown = Padding(table, (0, 0, 0, indent))
    if sys.stdout.isatty():
        Console().print(shown)
        return
    console = Console(width=indent + _width(columns, cells), file=io.StringIO())
    with console.capture() as captured:
        console.print(shown)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_fields(fields: Mapping[str, object]) -> None:
    """Names and values, one a line; values that are missing are left out."""
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        if value is not None and value != "":
            click.echo(f"{name:{width}}  {plain(value)}")


def print_solutions(found: Mapping[str, Any]) -> None:
    """An answer in the SPARQL 1.1 Query Results JSON Format, as a table, "yes" or "no"."""
    if "boolean" in found:
        click.echo("yes" if found["boolean"] else "no")
        return
    columns = found["head"]["vars"]
    rows = [
        [solution.get(name, {}).get("value") for name in columns]
        for solution in found["results"]["bindings"]
    ]
    print_table(columns, rows)


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return sum(
        2
        + max(
            len(line) for cell in (column, *(row[number] for row in rows)) for line in _lines(cell)
        )
        for number, column in enumerate(columns)
    )


def _lines(text: str) -> list[str]:
    return text.splitlines() or [""]


Item = TypeVar("Item")


def count_option(command: Command) -> Command:
    """``--count N``, given to the command as ``count``; None: no end."""
    return click.option(
        "--count", type=click.IntRange(min=1), metavar="N", help="End after this many."
    )(command)


def follow(items: Iterable[Item], count: int | None, show: Callable[[Item], None]) -> bool:
    """Show each item; whether the end was wanted: by ``count``, or by Ctrl-C."""
    shown = 0
    try:
        for each in islice(items, count):
            show(each)
            shown += 1
    except KeyboardInterrupt:
        return True
    return shown == count
