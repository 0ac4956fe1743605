"""How long work says what it does: to a person who waits for it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called when another piece of work begins, and while it goes on."""

    def __call__(self, what: str, done: str = "", /) -> None:
        """``what`` goes on; ``done`` is how far it is."""


def silent(_what: str, _done: str = "", /) -> None:
    """Nobody waits."""
