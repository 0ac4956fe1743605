"""How far apart the times of messages are, where they cannot be compared with the clock.

Integers may count seconds, milliseconds, frames or rounds. What is no time of the stream is told
from a pause by what the stream has said before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.model.timeline import Instant

STEPS: Final = 10
"""Steps that must have been seen before a time is judged; and so many messages in a row that are
too far ahead are no fault: the stream has moved."""
FARTHEST: Final = 1_000_000_000
"""A time may be so many mean steps ahead: of milliseconds, 11 days."""


class Spacing:
    """The mean step between the times that messages have brought, and what lies too far ahead."""

    __slots__ = ("_first", "_in_a_row", "_latest", "_steps")

    def __init__(self) -> None:
        self._first: Instant = 0
        self._latest: Instant | None = None
        self._steps = 0
        self._in_a_row = 0

    def hear(self, times: Iterable[Instant]) -> None:
        """Take in the times of what was taken in, in any order."""
        for time in sorted(times):
            if self._latest is None or (self._steps >= STEPS and time > self._limit):
                self._first, self._latest, self._steps = time, time, 0
            elif time > self._latest:
                self._latest = time
                self._steps += 1
            self._in_a_row = 0

    def refuses(self, time: Instant) -> str:
        """Why a time is none of this stream; "": it may be one."""
        if self._latest is None or self._steps < STEPS or time <= self._limit:
            return ""
        self._in_a_row += 1
        if self._in_a_row == STEPS:
            return ""
        return (
            f"{time - self._latest} after the latest one ({self._latest}), where {FARTHEST} times "
            f"the mean step so far is {self._limit - self._latest}: expected a time of this "
            f"stream; after {STEPS} such messages in a row, or with time.ahead set, it may be one"
        )

    @property
    def _limit(self) -> Instant:
        assert self._latest is not None
        return self._latest + FARTHEST * max((self._latest - self._first) // self._steps, 1)
