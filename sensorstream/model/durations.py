"""Lengths of time: months and seconds, exact (XSD 1.1 part 2, 3.3.6, 3.4.26 and 3.4.27)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from sensorstream.errors import TermError

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
XSD_DURATION: Final = f"{XSD}duration"
XSD_DAY_TIME_DURATION: Final = f"{XSD}dayTimeDuration"
XSD_YEAR_MONTH_DURATION: Final = f"{XSD}yearMonthDuration"

EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Sums of times are exact: a fraction of a second may have any number of digits."""
DAY: Final = 86_400

_WHOLE: Final = r"(\d{1,15})"
_DATE: Final = rf"(?:{_WHOLE}Y)?(?:{_WHOLE}M)?(?:{_WHOLE}D)?"
_TIME: Final = rf"(?:T(?=\d)(?:{_WHOLE}H)?(?:{_WHOLE}M)?(?:(\d{{1,15}}(?:\.\d+)?)S)?)?"
_FORM: Final = re.compile(rf"(-)?P(?=.){_DATE}{_TIME}\Z", re.ASCII)
_EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        XSD_DURATION: "P1Y2M or PT1M30S",
        XSD_DAY_TIME_DURATION: "P1D or PT1M30S",
        XSD_YEAR_MONTH_DURATION: "P1Y2M",
    }
)
DURATIONS: Final = frozenset(_EXAMPLES)
# September 1696, February 1697, March 1903 and July 1903 (section 3.3.6.1), in months.
_REFERENCES: Final = (1696 * 12 + 8, 1697 * 12 + 1, 1903 * 12 + 2, 1903 * 12 + 6)


class Duration(NamedTuple):
    """Months and seconds, of one sign: a month has no fixed number of seconds."""

    months: int
    seconds: Decimal


def parse_duration_of(lexical: str, datatype: str) -> Duration:
    """The value of a duration; each of its numbers may have 15 digits.

    Raises:
        TermError: not a duration of this datatype.
    """
    match = _FORM.match(lexical.strip())
    if match is not None:
        years, months, *others = match.group(2, 3, 4, 5, 6, 7)
        fits_days = datatype != XSD_DAY_TIME_DURATION or (years is None and months is None)
        if fits_days and (datatype != XSD_YEAR_MONTH_DURATION or not any(others)):
            return _read(match)
    name = datatype.removeprefix(XSD)
    raise TermError(f"'{lexical}' is not an xsd:{name}: expected e.g. {_EXAMPLES[datatype]}")


def _read(match: re.Match[str]) -> Duration:
    years, months, days, hours, minutes = (int(each or 0) for each in match.group(2, 3, 4, 5, 6))
    whole = days * DAY + hours * 3600 + minutes * 60
    seconds = EXACT.add(Decimal(match[7] or 0), whole)
    if match[1]:
        return Duration(-(years * 12 + months), seconds.copy_negate() if seconds else Decimal(0))
    return Duration(years * 12 + months, seconds)


def duration_text(length: Duration, datatype: str = XSD_DURATION) -> str:
    """The canonical form (XSD 1.1 part 2, section E.2): ``PT1M30S``."""
    # abs() would round to the digits of the context.
    months, seconds = abs(length.months), length.seconds.copy_abs()
    days, seconds = EXACT.divmod(seconds, DAY)
    hours, seconds = EXACT.divmod(seconds, 3600)
    minutes, seconds = EXACT.divmod(seconds, 60)
    date = _parts((months // 12, "Y"), (months % 12, "M"), (days, "D"))
    time = _parts((hours, "H"), (minutes, "M"), (seconds, "S"))
    if not date and not time:
        return "P0M" if datatype == XSD_YEAR_MONTH_DURATION else "PT0S"
    sign = "-" if length.months < 0 or length.seconds < 0 else ""
    return f"{sign}P{date}{'T' if time else ''}{time}"


def _parts(*parts: tuple[int | Decimal, str]) -> str:
    return "".join(f"{seconds_text(Decimal(n))}{unit}" for n, unit in parts if n)


def seconds_text(seconds: Decimal) -> str:
    """A number without an exponent, and without zeros at its end."""
    written = format(seconds, "f")
    return written.rstrip("0").rstrip(".") if "." in written else written


def negated(length: Duration) -> Duration:
    """The same length the other way."""
    return Duration(-length.months, EXACT.minus(length.seconds))


def added(one: Duration, other: Duration) -> Duration | None:
    """The sum; None: months one way and seconds the other are no duration."""
    months, seconds = one.months + other.months, EXACT.add(one.seconds, other.seconds)
    if (months > 0 and seconds < 0) or (months < 0 and seconds > 0):
        return None
    return Duration(months, seconds)


def compared(one: Duration, other: Duration) -> int | None:
    """-1, 0 or 1; None: which one is longer depends on when it begins (section 3.3.6.1)."""
    if one.months == other.months:
        return (one.seconds > other.seconds) - (one.seconds < other.seconds)
    if one.seconds == other.seconds:
        return (one.months > other.months) - (one.months < other.months)
    orders = {
        (end > stop) - (end < stop) for end, stop in zip(_ends(one), _ends(other), strict=True)
    }
    return orders.pop() if len(orders) == 1 else None


def order_key(length: Duration) -> tuple[Decimal, int]:
    """A key in whose order each duration stands after those that are shorter."""
    total = Decimal(0)
    for end in _ends(length):
        total = EXACT.add(total, end)
    return total, length.months


def _ends(length: Duration) -> list[Decimal]:
    """The seconds from four fixed moments of 1696 to 1903 to those a duration after them."""
    return [
        EXACT.add(length.seconds, (month_start(start + length.months) - month_start(start)) * DAY)
        for start in _REFERENCES
    ]


def month_start(month: int) -> int:
    """The day a month begins with, counted from a fixed day; months are counted from year 0."""
    return days_from_civil(month // 12, month % 12 + 1, 1)


def days_from_civil(year: int, month: int, day: int) -> int:
    """The days since 1970-01-01 in the Gregorian calendar, which holds for all years."""
    # With years that begin in March, the leap day is the last.
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of so many days since 1970-01-01."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, day
