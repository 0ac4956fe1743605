"""The time of arrival: that of the clock, but it never goes back."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from sensorstream.clock import Clock
from sensorstream.journal.records import Store
from sensorstream.model.timeline import Instant, Timeline

_LOG = logging.getLogger(__name__)
_PACE: Final = 0.5
"""The speed of arrival while the clock is behind it: time passes, and the clock catches up."""
_STEP: Final = 2.0
"""Seconds; smaller steps are not logged: clocks are corrected all the time."""


def arrival_of(store: Store, now: datetime) -> Instant:
    """The time of arrival of an entry that a start itself writes."""
    wall, last = store.timeline.of(now), store.last_arrival()
    return wall if last is None else max(wall, last)


class Arrival:
    """The time of arrival of each new entry, which never goes back. Owned by one thread.

    A message without a time of its own has its time of arrival. If that were before earlier
    arrivals, a window by time would drop it at once, and all that waits for a moment would wait
    until the clock has caught up.
    """

    def __init__(self, clock: Clock, timeline: Timeline, last: Instant | None) -> None:
        """``last`` is the latest time of arrival that was ever given; None: there was none."""
        self._clock = clock
        self._timeline = timeline
        self._second = timeline.of_wall_time(1)
        self._last = timeline.of(clock.now()) if last is None else last
        # Since the clock is behind: the time of arrival then, and the counter.
        self._behind: tuple[Instant, float] | None = None

    def now(self) -> Instant:
        """The time of the clock; while that is before what was given already, a later one."""
        wall = self._timeline.of(self._clock.now())
        if wall < self._last and self._behind is None:
            self._behind = self._last, self._clock.counter()
            gap = (self._last - wall) / self._second
            if gap > _STEP:
                _LOG.warning(
                    "the clock was set back: it is %.0f s behind the last arrival. Times of "
                    "arrival go on at half speed until it has caught up",
                    gap,
                )
        if self._behind is not None:
            since, counter = self._behind
            passed = (self._clock.counter() - counter) * _PACE
            steady = max(self._last, since + int(passed * self._second))
            if wall < steady:
                self._last = steady
                return steady
            self._behind = None
        self._last = wall
        return wall
