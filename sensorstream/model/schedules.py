"""Moments that recur, each with a number that counts up."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant, Timeline

DAYS: Final = (
    *("day", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
"""Each day, or one of the week."""
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - what clocks show
_DAY: Final = Timeline.DATETIME.of_wall_time(24 * 60 * 60)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1


@frozen
class Multiples:
    """The multiples of a length of the time line, from an origin or else its zero (1970)."""

    length: int
    origin: Instant = 0

    def number(self, time: Instant) -> int:
        """The number of the last moment that has come by a time."""
        return (time - self.origin) // self.length

    def moment(self, number: int) -> Instant:
        """The moment of a number."""
        return self.origin + number * self.length

    def last(self, time: Instant) -> Instant:
        """The last moment that has come by a time."""
        return time - (time - self.origin) % self.length

    def after(self, time: Instant) -> Instant:
        """The first moment after a time."""
        return self.last(time) + self.length


@frozen
class LocalTimes:
    """Moments when a zone's clocks show a time, each day or on one day of the week (0: Monday).

    A time that clocks skip on some day, because they are put forward, is taken as before that
    change: 02:30 is 03:30 then. If they show it twice, the first is meant. Source: RFC 5545,
    section 3.3.5. Moments are of the dateTime line.
    """

    zone: str
    shown: time
    weekday: int | None = None

    def number(self, time: Instant) -> int:
        """The number of the last moment that has come by a time."""
        # The clocks of a place are less than a day from UTC.
        day = min(_EPOCH.toordinal() + time // _DAY, date.max.toordinal()) + 1
        number = (day - self._first) // self._step
        while self.moment(number) > time:
            number -= 1
        return number

    @lru_cache(maxsize=1024)  # noqa: B019 - they are few, and each message asks for the next one
    def moment(self, number: int) -> Instant:
        """The moment of a number; outside the years 1 to 9999 the end of all times."""
        day = number * self._step + self._first
        if day < 1:
            return _FIRST
        if day > date.max.toordinal():
            return _LAST
        local = datetime.combine(date.fromordinal(day), self.shown, ZoneInfo(self.zone))
        offset = local.utcoffset()
        assert offset is not None
        return (local.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND

    @property
    def _step(self) -> int:
        return 1 if self.weekday is None else 7

    @property
    def _first(self) -> int:
        # The first day of the calendar, with the ordinal 1, is a Monday.
        return 0 if self.weekday is None else 1 + self.weekday


Schedule: TypeAlias = Multiples | LocalTimes
