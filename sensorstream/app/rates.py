"""How many messages a second an address may send."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from sensorstream.errors import TooFast

_BURST: Final = 10.0
"""Seconds whose messages an address may send at once, after a rest."""
_MOST: Final = 10_000
"""Addresses that are remembered: the one that was silent longest is forgotten first."""


class Rates:
    """A token bucket for each address. Thread-safe.

    A batch is admitted whole while the bucket is not empty, and leaves a debt that is worked off
    before the next message: so a batch needs no bucket of its size.
    """

    def __init__(self, rate: float) -> None:
        """``rate`` is in messages a second; 0: no limit."""
        self._rate = rate
        self._full = max(rate * _BURST, 1.0)
        # What an address may still send at a moment.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def charge(self, address: str, messages: int, now: float) -> None:
        """Let an address send messages at a moment, in seconds of a clock that never goes back.

        Raises:
            TooFast: it has sent too many; ``retry_after`` says when it may send again.
        """
        if not self._rate:
            return
        with self._lock:
            left, then = self._left.pop(address, (self._full, now))
            left = min(self._full, left + (now - then) * self._rate)
            refused = left < 1.0
            self._left[address] = (left if refused else left - messages, now)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        if refused:
            raise TooFast(
                f"{address} has sent more than {self._rate:g} messages a second: send more "
                "slowly; limits.rate allows more",
                retry_after=(1.0 - left) / self._rate,
            )
