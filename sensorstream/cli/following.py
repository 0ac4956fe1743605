"""Prints what a server sends as it comes, until enough has come or somebody interrupts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

import click

from sensorstream.cli.options import Command

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
