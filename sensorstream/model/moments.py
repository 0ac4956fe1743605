"""Points of time: dateTimes, dates and times of day, exact (XSD 1.1 part 2, 3.3.7-3.3.9, E.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from sensorstream.errors import TermError
from sensorstream.model.durations import (
    DAY,
    EXACT,
    XSD,
    Duration,
    civil_from_days,
    days_from_civil,
    seconds_text,
)

XSD_DATE_TIME: Final = f"{XSD}dateTime"
XSD_DATE_TIME_STAMP: Final = f"{XSD}dateTimeStamp"
XSD_DATE: Final = f"{XSD}date"
XSD_TIME: Final = f"{XSD}time"

ZONE: Final = r"(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))"
_DAY: Final = r"(-?(?:0\d{3}|[1-9]\d{3,8}))-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_CLOCK: Final = r"(?:([01]\d|2[0-3]):([0-5]\d):([0-5]\d(?:\.\d+)?)|24:00:00(?:\.0+)?)"
_FORMS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = MappingProxyType(
    {
        name: (re.compile(rf"{day}{clock}({ZONE}{end})\Z", re.ASCII), example)
        for name, day, clock, end, example in (
            (XSD_DATE_TIME, _DAY, f"T{_CLOCK}", "?", "2014-08-01T08:05:00Z"),
            (XSD_DATE_TIME_STAMP, _DAY, f"T{_CLOCK}", "", "2014-08-01T08:05:00Z"),
            (XSD_DATE, _DAY, "()()()", "?", "2014-08-01"),
            (XSD_TIME, "()()()", _CLOCK, "?", "08:05:00"),
        )
    }
)
MOMENTS: Final = frozenset(_FORMS)
_LAST_YEAR: Final = 999_999_999


class Moment(NamedTuple):
    """Seconds since 1970-01-01T00:00:00 in a clock that is ``zone`` minutes before UTC.

    A date is its first second, a time of day that of 1970-01-01. ``zone`` is None without a time
    zone.
    """

    clock: Decimal
    zone: int | None

    @property
    def utc(self) -> Decimal:
        """The same in UTC; without a time zone, as if it were UTC."""
        return EXACT.subtract(self.clock, self.zone * 60) if self.zone else self.clock


def parse_moment(lexical: str, datatype: str) -> Moment:
    """The value of a dateTime, date or time; a year may have nine digits.

    Raises:
        TermError: not in the datatype's lexical space.
    """
    form, example = _FORMS[datatype]
    match = form.match(lexical.strip())
    found = None if match is None else _read(match)
    if found is None:
        name = datatype.removeprefix(XSD)
        raise TermError(f"'{lexical}' is not an xsd:{name}: expected e.g. {example}")
    return found


def _read(match: re.Match[str]) -> Moment | None:
    year, month, day, hour, minute, second, zone = match.groups()
    days = 0
    if year:
        numbers = int(year), int(month), int(day)
        days = days_from_civil(*numbers)
        if civil_from_days(days) != numbers:
            return None
    if hour:
        of_day = EXACT.add(Decimal(second), int(hour) * 3600 + int(minute) * 60)
    else:
        # 24:00:00 is the first second of the next day; of a time of day, of the same.
        of_day = Decimal(DAY if year and hour is None else 0)
    return Moment(EXACT.add(of_day, days * DAY), _zone(zone))


def _zone(zone: str) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return -minutes if zone[0] == "-" else minutes


def moment_text(moment: Moment, datatype: str) -> str | None:
    """The canonical form; None: its year has more than nine digits."""
    year, month, day, hours, minutes, seconds = fields(moment)
    if abs(year) > _LAST_YEAR:
        return None
    whole, _, fraction = seconds_text(seconds).partition(".")
    clock = f"{hours:02}:{minutes:02}:{whole:0>2}{'.' if fraction else ''}{fraction}"
    date = f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
    zone = zone_text(moment.zone)
    if datatype == XSD_DATE:
        return f"{date}{zone}"
    return f"{clock}{zone}" if datatype == XSD_TIME else f"{date}T{clock}{zone}"


def fields(moment: Moment) -> tuple[int, int, int, int, int, Decimal]:
    """Year, month, day, hour, minute and second, as a clock in its time zone shows them."""
    days, of_day = _parted(moment.clock)
    hours, of_hour = EXACT.divmod(of_day, 3600)
    minutes, seconds = EXACT.divmod(of_hour, 60)
    return (*civil_from_days(days), int(hours), int(minutes), seconds)


def _parted(clock: Decimal) -> tuple[int, Decimal]:
    """Whole days, and the seconds of the last one that has begun."""
    days, rest = EXACT.divmod(clock, DAY)
    # divmod of decimals rounds towards zero, and knows a negative zero.
    return (int(days) - 1, EXACT.add(rest, DAY)) if rest < 0 else (int(days), rest.copy_abs())


def zone_text(zone: int | None) -> str:
    """A time zone as it is written, empty for none."""
    if not zone:
        return "" if zone is None else "Z"
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"


def moved(moment: Moment, length: Duration) -> Moment:
    """The moment a duration later (section E.3.3): months first, then seconds.

    The day of a month that is shorter is its last one.
    """
    clock = moment.clock
    if length.months:
        days, _ = _parted(clock)
        year, month, day = civil_from_days(days)
        months = year * 12 + month - 1 + length.months
        new_year, new_month = months // 12, months % 12 + 1
        next_month = days_from_civil(new_year + new_month // 12, new_month % 12 + 1, 1)
        start = days_from_civil(new_year, new_month, 1)
        new_day = start + min(day, next_month - start) - 1
        clock = EXACT.add(clock, (new_day - days) * DAY)
    return Moment(EXACT.add(clock, length.seconds), moment.zone)
