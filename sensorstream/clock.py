"""The only reader of the time of day; tests have :class:`.ManualClock` in its place."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_STEP: Final = 1.0
"""Seconds; smaller steps are ignored: clocks are corrected all the time."""


class Clock(Protocol):
    """Wall time for people, and a counter for measuring."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""

    def counter(self) -> float:
        """Seconds from an arbitrary start; only differences have a meaning."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def counter(self) -> float:
        return time.perf_counter()


def thread_seconds() -> float:
    """Seconds of processor time of this thread alone, from an arbitrary start."""
    return time.thread_time()


def counter_start() -> int:
    """The wall time at which ``time.perf_counter`` was 0, in nanoseconds since 1970."""
    return time.time_ns() - time.perf_counter_ns()


class ClockSetBack:
    """A check whether wall time was set back; ``known`` is a moment that it had come to before."""

    def __init__(self, clock: Clock, known: datetime | None = None) -> None:
        self._clock = clock
        now = clock.now()
        self._ahead = max(now, known or now).timestamp() - clock.counter()

    def back(self) -> timedelta:
        """The time by which it was set back since the last call; zero if it was not."""
        ahead = self._clock.now().timestamp() - self._clock.counter()
        back = self._ahead - ahead
        if 0 <= back < _STEP:
            return timedelta()
        self._ahead = ahead
        return timedelta(seconds=max(back, 0.0))
