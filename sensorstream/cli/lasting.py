"""Lines of state on stderr for what takes long, so that nobody waits in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Final

import click

from sensorstream.app.life.progress import Progress, silent
from sensorstream.clock import SystemClock

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
    quiet: bool = False,
    tell: Callable[[str], None] = tell,
) -> Iterator[Progress]:
    """Say on stderr what goes on while the block runs, if it lasts over ``after`` seconds.

    Then again every ``again`` seconds. Yields a function that says what goes on from now on, and
    how far it is; ``quiet`` says nothing at all, and ``tell`` writes a line elsewhere.
    """
    if quiet:
        yield silent
        return
    state = _State(what, SystemClock().counter, tell)
    watch = Thread(target=state.watch, args=(after, again), daemon=True)
    watch.start()
    try:
        yield state.say
    finally:
        state.stop()
        watch.join()


@dataclass(frozen=True, slots=True)
class _Now:
    what: str
    done: str
    since: float


class _State:
    """What goes on now; set by the thread that works, told by the one that watches it."""

    def __init__(
        self, what: str, counter: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._counter = counter
        self._tell = tell
        self._now = _Now(what, "", counter())
        self._changed = Event()
        self._over = False

    def say(self, what: str, done: str = "") -> None:
        if what == self._now.what:
            self._now = replace(self._now, done=done)
        else:
            self._now = _Now(what, done, self._counter())
            self._changed.set()

    def stop(self) -> None:
        self._over = True
        self._changed.set()

    def watch(self, after: float, again: float) -> None:
        wait = after
        while True:
            changed = self._changed.wait(wait)
            if self._over:
                return
            if changed:
                self._changed.clear()
                wait = after
                continue
            now = self._now
            done = f": {now.done}" if now.done else ""
            self._tell(f"{now.what}{done} … {self._counter() - now.since:.0f} s")
            wait = again
