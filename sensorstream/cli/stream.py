"""``sensorstream stream``: the pipeline on Spark, until it is stopped."""

from __future__ import annotations

import signal
import sys
from collections import deque
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import click

from sensorstream.cli.options import config_option
from sensorstream.cli.signals import signalled
from sensorstream.cli.terminal import lasting
from sensorstream.settings_file import load_settings

if TYPE_CHECKING:
    from sensorstream.history.pipeline import Position

_LOOK: Final = 0.5
"""Seconds between two looks at the pipeline."""
_TOLD: Final = 3
"""How often at the end time is told to engines that wait for it: one may refuse to go on."""
_SPAN: Final = 20.0
"""Seconds over which messages a second are counted."""
_LINE: Final = 5.0
"""Seconds between two lines of progress where they cannot be written one over the other."""


@click.command("stream")
@config_option
@click.option(
    "--source",
    default="journal",
    show_default=True,
    metavar="SOURCE",
    help="journal: what a server writes; or folder:DIR, or kafka:HOST:PORT/TOPIC.",
)
@click.option("--once", is_flag=True, help="End when all that is there has been processed.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(config: Path, source: str, once: bool, quiet: bool) -> None:
    """Run the pipeline on Spark: an engine for each key of the messages.

    Reads the journal that the server writes if pipeline.runner is "spark", and stores what the
    engines say as a server does: history, alerts and deliveries. May be stopped at any time, by
    kill -9 too: what was stored is not stored again, and nothing is left out.
    """
    ending = signalled(signal.SIGTERM, signal.SIGINT, then=partial(sys.exit, 0))
    signals = click.get_current_context().with_resource(ending)
    from sensorstream.streaming.sources import read_by_now, with_source

    settings = with_source(load_settings(config), source)
    if once:
        read_by_now(settings)
    from sensorstream.app.application import Application
    from sensorstream.history.opening import open_history
    from sensorstream.history.pipeline import PositionReader
    from sensorstream.inputs.inputs import Inputs
    from sensorstream.streaming.stream import running_stream

    progress = StreamProgress(quiet=quiet)
    with ExitStack() as stack:
        with lasting("opening the history", quiet=quiet) as say:
            if settings.inputs:
                application = stack.enter_context(Application.open(settings, progress=say))
                stack.enter_context(Inputs(application))
                url = application.url
            else:
                url = open_history(settings.history, stack)
            say("starting Spark")
            running = stack.enter_context(running_stream(settings, url, progress.stored))
        reader = stack.enter_context(closing(PositionReader(url)))
        end: int | None = None
        while not signals and not running.wait(_LOOK):
            # Before the position: what is in the journal now is waited for.
            complete = once and read_by_now(settings)
            position = reader.read()
            progress.show(position)
            if not complete or position.lag:
                continue
            end = position.journalled if end is None else end
            # With a source, this process tells the engines of other keys how far time has come.
            if not (settings.inputs and position.behind) or position.journalled >= end + _TOLD:
                break
        progress.end()


class StreamProgress:
    """A line on stderr: entries stored, entries a second, those that wait, and batches.

    On a terminal it is written over itself; elsewhere there is a line now and then.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._begin = monotonic()
        self._batches: deque[tuple[float, int]] = deque()
        self._count = 0
        self._entries = 0
        self._last = ""
        self._told = float("-inf")

    def stored(self, entries: int, _last: int) -> None:
        """A batch is stored; called in a thread of Spark's."""
        self._count += 1
        self._entries += entries
        self._batches.append((monotonic(), entries))

    def show(self, position: Position) -> None:
        """Tell how far it is, if that is news."""
        line = (
            f"batch {self._count}: {self._entries} entries, {self._rate():.0f}/s, "
            f"{position.lag} wait, {position.keys} keys"
        )
        now = monotonic()
        if self._quiet or line == self._last or (not self._live and now - self._told < _LINE):
            return
        self._last, self._told = line, now
        click.echo(f"\r\x1b[2K{line}" if self._live else line, err=True, nl=not self._live)

    def end(self) -> None:
        """Tell the whole."""
        if self._quiet:
            return
        seconds = monotonic() - self._begin
        start = "\r\x1b[2K" if self._live else ""
        told = f"{self._entries} entries in {self._count} batches, {seconds:.1f} s"
        click.echo(f"{start}{told}", err=True)

    def _rate(self) -> float:
        now = monotonic()
        batches = self._batches
        while batches and now - batches[0][0] > _SPAN:
            batches.popleft()
        span = min(_SPAN, now - self._begin)
        return sum(entries for _, entries in tuple(batches)) / span if span > 0 else 0.0
