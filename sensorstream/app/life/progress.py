"""Reports of progress to a person who waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class TellProgress(Protocol):
    """A function that is called when another piece of work begins, and while it goes on."""

    def __call__(self, what: str, done: str = "", /) -> None:
        """Report the work ``what``; ``done`` is how far it is."""


def silent(_what: str, _done: str = "", /) -> None:
    """Report nothing."""


def rebuilding(
    entries: int, progress: TellProgress, counter: Callable[[], float]
) -> Callable[[int], None]:
    """Make the function that reports the progress, speed and remaining time of the recovery. It
    gets the number of processed entries; ``counter`` gives seconds, from now on.
    """
    begun = counter()

    def tell(done: int) -> None:
        told = f"{done} of {entries} entries"
        spent = counter() - begun
        if done and spent > 0:
            rate = done / spent
            told += f", {rate:.0f} a second, {max(0, entries - done) / rate:.0f} s left"
        percent = 100 if not entries else min(100, 100 * done // entries)
        progress("rebuilding the window from the journal", f"recovering {percent} %, {told}")

    tell(0)
    return tell
