"""Two ways to do the same, by turns: the best turn of each counts, in CPU time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from sensorstream.app.life.process_memory import collect_less, spare_what_stays
from sensorstream.model.frozen import frozen

Turn: TypeAlias = Callable[[], float]
"""Does some work; the CPU seconds of a unit of it."""


class Disagreement(Exception):
    """The two ways have different results: no time of theirs is worth anything."""


@frozen
class Pair:
    """What is done here and what elsewhere; ``absent`` says why there is no other."""

    ours: Turn
    theirs: Turn | None = None
    absent: str = ""


@frozen
class Comparison:
    """One line of the table.

    ``made`` makes both ways for a size: how much is done in a turn, or kept. ``aim``: units a
    second. ``small`` is the size at which the tests watch the ratio, 0 if they do not. ``told`` is
    what others measured of a peer that is absent, units a second.
    """

    name: str
    peer: str
    unit: str
    made: Callable[[int], AbstractContextManager[Pair]]
    size: int
    turns: int = 5
    aim: float = 0.0
    small: int = 0
    told: str = ""

    @property
    def key(self) -> str:
        """What it is called among the results."""
        return f"{self.name}; {self.peer}"


@frozen
class Found:
    """CPU seconds of a unit, of both; without the peer's where it is ``absent``."""

    ours: float
    theirs: float | None = None
    absent: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as much the peer takes."""
        return None if self.theirs is None else self.theirs / self.ours


def measure(comparison: Comparison, size: int, turns: int) -> Found:
    """The best of so many turns of each."""
    with comparison.made(size) as pair, as_a_server():
        ours, theirs = [], []
        for _ in range(turns):
            # What one left behind is not the other's to clean up.
            gc.collect(1)
            ours.append(pair.ours())
            if pair.theirs is not None:
                gc.collect(1)
                theirs.append(pair.theirs())
        return Found(min(ours), min(theirs) if theirs else None, pair.absent)


@contextmanager
def as_a_server() -> Iterator[None]:
    """Let the collector of garbage leave alone what is there, as in the server.

    Tests have spared what was there before them, which stays so.
    """
    before, spared = gc.get_threshold(), gc.get_freeze_count()
    if spared:
        collect_less()
    else:
        spare_what_stays()
    try:
        yield
    finally:
        if not spared:
            gc.unfreeze()
        gc.set_threshold(*before)


def timed(work: Callable[[], object], units: float = 1.0) -> Turn:
    """A turn that does so many units of work in this process."""

    def turn() -> float:
        begun = time.process_time()
        work()
        return (time.process_time() - begun) / units

    return turn


def agree(what: str, ours: object, theirs: object) -> None:
    """Check that both have the same result.

    Raises:
        Disagreement: they have not.
    """
    if ours != theirs:
        raise Disagreement(f"{what}: {ours} here, {theirs} elsewhere")
