"""How long work says what it does: to a person who waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Called when another piece of work begins, and while it goes on."""

    def __call__(self, what: str, done: str = "", /) -> None:
        """``what`` goes on; ``done`` is how far it is."""


def silent(_what: str, _done: str = "", /) -> None:
    """Nobody waits."""


class Rebuilding:
    """How far the recovery from the journal is, how fast, and how long it still takes."""

    def __init__(self, entries: int, progress: Progress, counter: Callable[[], float]) -> None:
        """``counter`` gives seconds; it counts from now on."""
        self._entries = entries
        self._progress = progress
        self._counter = counter
        self._begun = counter()

    def tell(self, done: int) -> None:
        """So many entries have been processed."""
        told = f"{done} of {self._entries} entries"
        spent = self._counter() - self._begun
        if done and spent > 0:
            rate = done / spent
            left = max(0, self._entries - done) / rate
            told += f", {rate:.0f} a second, {left:.0f} s left"
        percent = 100 if not self._entries else min(100, 100 * done // self._entries)
        self._progress("rebuilding the window from the journal", f"recovering {percent} %, {told}")
