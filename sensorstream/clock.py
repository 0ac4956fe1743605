"""The only reader of the time of day.

Everything below the application gets a :class:`Clock`; tests pass
:class:`sensorstream.testing.ManualClock`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


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
