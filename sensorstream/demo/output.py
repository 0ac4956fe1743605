"""Prints the demo: chapters, sentences, and claims that must hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sensorstream.cli.terminal import print_table
from sensorstream.clock import SystemClock


class ClaimFailed(click.ClickException):
    """A claim of the demo does not hold."""

    exit_code = 3


class Output:
    """Prints what happens, with the seconds since the beginning."""

    def __init__(self) -> None:
        self._counter = SystemClock().counter
        self._start = self._counter()
        self._chapter = 0

    def chapter(self, title: str) -> None:
        """Begin a new chapter."""
        self._chapter += 1
        heading = f"\n{self._chapter}. {title}"
        seconds = f"  [{self._counter() - self._start:.0f} s]"
        click.echo(click.style(heading, bold=True) + click.style(seconds, dim=True))

    def say(self, text: str) -> None:
        """Print a sentence."""
        click.echo(f"   {text}")

    def quote(self, text: str) -> None:
        """A message, a query or an answer, word for word."""
        for line in text.strip().splitlines():
            click.echo(click.style(f"     {line}", fg="cyan"))

    def table(self, columns: list[str], rows: list[list[object]]) -> None:
        """Rows of an answer."""
        print_table(columns, rows, indent=5)

    def expect(self, holds: object, claim: str) -> None:
        """Print a claim if it holds.

        Raises:
            ClaimFailed: it does not hold.
        """
        if not holds:
            raise ClaimFailed(f"the demo failed: it is not true that {claim}")
        click.echo(click.style("   ✓ ", fg="green") + claim)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Show a progress text while the block runs."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
