"""Reads of results that hold the engine: after a slow one, others have it for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sensorstream.errors import Busy

_HARMLESS: Final = 0.1
"""Seconds that the engine may wait for a read without a pause after it."""
_PAUSE: Final = 4.0
"""How many times its seconds the engine has to itself after a slow one."""
_MOST_QUICK: Final = 1000
"""Queries that are remembered as quick to read."""


class SlowReads:
    """Bounds what reads take of the engine's time; whoever calls it holds the engine's lock.

    ``counter`` gives seconds, ``work`` those that this thread has worked. A query counts as slow
    until a read of it was quick, so that a new one gains nothing.
    """

    def __init__(
        self,
        counter: Callable[[], float] = time.monotonic,
        work: Callable[[], float] = time.thread_time,
    ) -> None:
        self._counter = counter
        self._work = work
        self._quick: dict[str, None] = {}
        self._until = 0.0

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """A block in which the results of a query are read.

        Raises:
            Busy: a slow read was not long ago, and this one may be slow, too.
        """
        left = self._until - self._counter()
        if name not in self._quick and left > 0:
            raise Busy(
                "reading results has just taken long, and messages are taken first: "
                "read them again later, or follow the reports",
                retry_after=left,
            )
        begun = self._work()
        try:
            yield
        finally:
            took = self._work() - begun
            if took > _HARMLESS:
                self._quick.pop(name, None)
                self._until = self._counter() + _PAUSE * took
            elif name not in self._quick:
                if len(self._quick) >= _MOST_QUICK:
                    del self._quick[next(iter(self._quick))]
                self._quick[name] = None
