"""The output and the end of a command: results on stdout, progress on stderr, signals."""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import islice
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sensorstream.clock import SystemClock

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

    from sensorstream.app.life.progress import TellProgress

Advance = Callable[[], None]
Item = TypeVar("Item")
SOON: Final = 2.0
"""Seconds after which a person wants to know what goes on."""
_AGAIN: Final = 10.0


def tell(line: str) -> None:
    """Write a line to stderr."""
    click.echo(line, err=True)


@contextmanager
def lasting(
    what: str,
    *,
    after: float = SOON,
    again: float = _AGAIN,
    quiet: bool | None = None,
    tell: Callable[[str], None] = tell,
) -> Iterator[Doing]:
    """Say on stderr what goes on while the block runs: after ``after`` seconds, then every
    ``again``.

    Yields a function to be told what goes on from now on, and how far it is. ``quiet`` says nothing
    at all (None: so does a command with ``--json``), and ``tell`` writes a line elsewhere.
    """
    context = click.get_current_context(silent=True)
    if quiet is None and context is not None:
        quiet = bool(context.params.get("as_json"))
    doing = Doing(what, SystemClock().counter, tell)
    if quiet:
        yield doing
        return
    watch = Thread(target=doing.watch, args=(after, again), daemon=True)
    watch.start()
    try:
        yield doing
    finally:
        doing.stop()
        watch.join()


class Doing:
    """The work that goes on; set by the thread that works, told by the one that watches it."""

    def __init__(
        self, what: str, counter: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._counter = counter
        self._tell = tell
        # One value, for the other thread: the work, how far it is, and since when.
        self._now = (what, "", counter())
        self._changed = Event()
        self._over = False

    def __call__(self, what: str, done: str = "", /) -> None:
        before, _, since = self._now
        self._now = (what, done, since if what == before else self._counter())
        if what != before:
            self._changed.set()

    def told(self) -> str:
        """The work that goes on, and how far it is."""
        what, done, _ = self._now
        return f"{what}: {done}" if done else what

    def stop(self) -> None:
        """Note that the block is over."""
        self._over = True
        self._changed.set()

    def watch(self, after: float, again: float) -> None:
        """Say what goes on, until the block is over."""
        wait = after
        while True:
            changed = self._changed.wait(wait)
            if self._over:
                return
            if changed:
                self._changed.clear()
                wait = after
                continue
            self._tell(f"{self.told()} … {self._counter() - self._now[2]:.0f} s")
            wait = again


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Advance]:
    """A bar on stderr while the block runs, or lines if stderr is not a terminal; yields a function
    to call after each of the ``total`` pieces of work.
    """
    if not sys.stderr.isatty():
        done = itertools.count(1)
        of = "" if total is None else f" of {total}"
        with lasting(what, quiet=False) as say:
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
def working(what: str) -> Iterator[TellProgress]:
    """Say on stderr what goes on while the block runs; yields as :func:`.lasting`. On a terminal it
    is one line that changes and goes at the end.
    """
    if not sys.stderr.isatty():
        with lasting(what, quiet=False) as say:
            yield say
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda doing, done="": status.update(f"{doing}: {done}" if done else doing)


def print_json(value: object) -> None:
    """Print one JSON document; times and other values without a JSON form become text."""
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
    shown = Padding(table, (0, 0, 0, indent), expand=False)
    if sys.stdout.isatty():
        Console().print(shown)
        return
    console = Console(width=sys.maxsize, file=io.StringIO())
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


def cell(value: object) -> str:
    """The text of a value of JSON in a table."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def rows_of(*columns: str) -> Callable[[Sequence[Mapping[str, Any]]], None]:
    """Print objects as a table of these of their fields."""
    return lambda found: print_table(columns, [[each[name] for name in columns] for each in found])


def print_lines(lines: Iterable[str]) -> None:
    """Print each line by itself."""
    for line in lines:
        click.echo(line)


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


def follow(items: Iterable[Item], count: int | None, show: Callable[[Item], None]) -> bool:
    """Show each item; returns whether the end was wanted: by ``count``, or by Ctrl-C."""
    shown = 0
    try:
        for each in islice(items, count):
            show(each)
            shown += 1
    except KeyboardInterrupt:
        return True
    return shown == count


_SIGNALS: Final = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
_SOON: Final = 0.05
"""Seconds after which a destructor is over."""


@contextmanager
def signals_repeated() -> Iterator[None]:
    """Send a signal again whose exception was lost in a destructor or a callback."""
    before = sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        number = _SIGNALS.get(lost.exc_type)
        if number is None:
            before(lost)
            return
        again = Timer(_SOON, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def signalled(*numbers: int, then: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """A list that gets each of these signals when it comes, before ``then`` is called: after an
    exception of ``then`` it tells which signal it was.
    """
    came: list[int] = []

    def handler(number: int, _frame: object) -> None:
        came.append(number)
        then()

    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield came
    finally:
        for number, each in before.items():
            signal.signal(number, each)
