"""What all continuous queries together take of the engine's time, and each of them.

Measured are operators (what triples fire in them, and their part of each instant) and reports, in
periods of some seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from sensorstream.network.budget import Limits

_PERIOD: Final = 5.0
"""Seconds of a period at least."""
_SHARE: Final = 0.5
"""How much of a period's time queries may take, whatever they take for a message."""


class Load:
    """Seconds of what works for queries, in the present period; ``counter`` None: none is taken."""

    def __init__(self, limits: Limits) -> None:
        self.counter: Callable[[], float] | None = None
        if limits.together is not None:
            self.counter = limits.wall or limits.counter
        self.seconds: dict[Hashable, float] = {}
        self._allowed = limits.together or 0.0
        self._messages = 0
        self._since = 0.0 if self.counter is None else self.counter()
        self._was_over = False

    def took(self, what: Hashable, since: float, now: float) -> None:
        """Something has worked from one reading of the counter to another."""
        self.seconds[what] = self.seconds.get(what, 0.0) + now - since

    def excess(self) -> float:
        """Another message comes: how much more than allowed the queries have taken.

        0 but at the end of a period that is the second of two in a row with too much: a machine
        that stood still is no reason to stop a query. Call :meth:`begin` afterwards.
        """
        self._messages += 1
        if self.counter is None:
            return 0.0
        period = self.counter() - self._since
        if period < _PERIOD:
            return 0.0
        allowed = max(self._allowed * self._messages, _SHARE * period)
        excess = max(0.0, sum(self.seconds.values()) - allowed)
        was_over, self._was_over = self._was_over, excess > 0
        if excess and was_over:
            return excess
        self.begin()
        return 0.0

    def for_a_message(self, seconds: float) -> float:
        """What so many seconds of this period are for each of its messages."""
        return seconds / max(1, self._messages)

    def begin(self) -> None:
        """A period begins."""
        self.seconds.clear()
        self._messages = 0
        if self.counter is not None:
            self._since = self.counter()
