"""The values of dateTimes, dates, times and durations: order, sums and differences.

As XPath Functions 3.1 (sections 8.4, 9.4 and 9.7) has them, but for a moment without a time zone,
which is not taken to be in an implicit one: decision 017 tells what that means.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model.datatypes import (
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DAY_TIME_DURATION,
    XSD_DURATION,
    XSD_TIME,
    XSD_YEAR_MONTH_DURATION,
)
from sensorstream.model.durations import (
    EXACT,
    Duration,
    added,
    compared,
    duration_text,
    negated,
    order_key,
)
from sensorstream.model.moments import (
    Moment,
    moment_text,
    moved,
    parse_moment,
)
from sensorstream.model.terms import Literal, Term, valued

FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        XSD_DATE_TIME: "dateTime",
        XSD_DATE_TIME_STAMP: "dateTime",
        XSD_DATE: "date",
        XSD_TIME: "time",
        XSD_DURATION: "duration",
        XSD_DAY_TIME_DURATION: "duration",
        XSD_YEAR_MONTH_DURATION: "duration",
    }
)
"""Values of one family are compared with each other, and with nothing else."""
_RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {"dateTime": 0, "date": 1, "time": 2, "duration": 3}
)
UNORDERED: Final = 2
"""Neither equal nor in order."""
_ZONE_DOUBT: Final = 14 * 3600
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN: Final = len("2014-08-01T08:05:00.123456")

Time: TypeAlias = Moment | Duration
TimeKey: TypeAlias = tuple[int, Decimal, int]


def time_of(term: Literal) -> Time | None:
    """The value of a literal of a family; None if it is not valid."""
    try:
        value = term.value
    except TermError:
        value = None
    if type(value) is Moment or type(value) is Duration:
        return value
    if type(value) is datetime and len(term.lexical) <= _PLAIN:
        return _plain(value, term.lexical)
    if term.datatype not in FAMILIES:
        return None
    try:
        # A date, or one with more digits or years than Python's.
        return parse_moment(term.lexical, term.datatype)
    except (TermError, KeyError):
        return None


def _plain(value: datetime, lexical: str) -> Moment | None:
    """Of a short dateTime: no fraction of a microsecond, and Z if any time zone."""
    since = value - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if lexical[-6] in "+-":
        return parse_moment(lexical, XSD_DATE_TIME)
    clock = Decimal(micros).scaleb(-6, EXACT)
    return Moment(clock, 0 if lexical[-1] == "Z" else None)


def time_order(left: Literal, right: Literal) -> int | None:
    """-1, 0, 1 or :data:`UNORDERED`; None: of two families, or one is not valid."""
    family = FAMILIES.get(left.datatype)
    if family is None or FAMILIES.get(right.datatype) != family:
        return None
    start, end = _instant(left), _instant(right)
    if start is not None and end is not None:
        return (start > end) - (start < end)
    one, other = time_of(left), time_of(right)
    if isinstance(one, Duration) and isinstance(other, Duration):
        order = compared(one, other)
        return UNORDERED if order is None else order
    if not isinstance(one, Moment) or not isinstance(other, Moment):
        return None
    a, b = one.utc, other.utc
    if (one.zone is None) != (other.zone is None) and EXACT.abs(
        EXACT.subtract(a, b)
    ) <= _ZONE_DOUBT:
        return UNORDERED
    return (a > b) - (a < b)


def _instant(term: Literal) -> datetime | None:
    """Of a dateTime in UTC to the microsecond, as most are: quicker than all that others need."""
    lexical = term.lexical
    if lexical[-1:] != "Z" or len(lexical) > _PLAIN + 1:
        return None
    try:
        value = term.value
    except TermError:
        return None
    return value if type(value) is datetime else None


def time_key(term: Literal) -> TimeKey | None:
    """A key in whose order all times stand: by family, then by value; None: it is no time.

    Values without order among them have one here, so that ORDER BY always gives the same.
    """
    family = FAMILIES.get(term.datatype)
    found = None if family is None else time_of(term)
    if family is None or found is None:
        return None
    if isinstance(found, Duration):
        return _RANKS[family], *order_key(found)
    return _RANKS[family], found.utc, int(found.zone is None)


def calculated_time(operator: str, left: Term | None, right: Term | None) -> Literal | None:
    """The sum or difference of two terms, one of them a moment or duration."""
    if type(left) is not Literal or type(right) is not Literal or operator not in ("+", "-"):
        return None
    one, other = time_of(left), time_of(right)
    if isinstance(one, Duration) and isinstance(other, Moment) and operator == "+":
        left, right, one, other = right, left, other, one
    if isinstance(other, Duration):
        length = negated(other) if operator == "-" else other
        if isinstance(one, Duration):
            return _sum(left, right, one, length)
        return None if one is None else _later(left, one, right, length)
    if isinstance(one, Moment) and isinstance(other, Moment) and operator == "-":
        return _between(left, right, one, other)
    return None


def _sum(left: Literal, right: Literal, one: Duration, other: Duration) -> Literal | None:
    total = added(one, other)
    datatype = left.datatype if left.datatype == right.datatype else XSD_DURATION
    return None if total is None else duration_literal(total, datatype)


def _between(left: Literal, right: Literal, one: Moment, other: Moment) -> Literal | None:
    if FAMILIES[left.datatype] != FAMILIES[right.datatype]:
        return None
    if (one.zone is None) != (other.zone is None):
        return None
    return duration_literal(Duration(0, EXACT.subtract(one.utc, other.utc)), XSD_DAY_TIME_DURATION)


def _later(moment: Literal, start: Moment, by: Literal, length: Duration) -> Literal | None:
    if moment.datatype == XSD_TIME and by.datatype == XSD_YEAR_MONTH_DURATION:
        return None
    return moment_literal(moved(start, length), moment.datatype)


def negative_time(term: Term | None) -> Literal | None:
    """The same duration the other way; None: it is none."""
    if type(term) is not Literal:
        return None
    found = time_of(term)
    return duration_literal(negated(found), term.datatype) if isinstance(found, Duration) else None


def positive_time(term: Term | None) -> Literal | None:
    """The same duration; None: it is none."""
    if type(term) is not Literal:
        return None
    found = time_of(term)
    return duration_literal(found, term.datatype) if isinstance(found, Duration) else None


def duration_literal(length: Duration, datatype: str) -> Literal:
    """A duration in canonical form."""
    return valued(duration_text(length, datatype), datatype, length)


def moment_literal(moment: Moment, datatype: str) -> Literal | None:
    """A moment as a dateTime, date or time; None: its year has too many digits."""
    if datatype == XSD_DATE_TIME_STAMP:
        datatype = XSD_DATE_TIME
    text = moment_text(moment, datatype)
    return None if text is None else Literal(text, datatype)


def time_cast(term: Literal, datatype: str) -> Literal | None:
    """A time as one of another datatype (XPath Functions 3.1, section 19.1).

    None: it would lose months, or seconds; or a time zone is missing.
    """
    found = time_of(term)
    if isinstance(found, Duration):
        related = datatype == XSD_DURATION or term.datatype in (datatype, XSD_DURATION)
        return duration_literal(found, datatype) if related and _holds(datatype, found) else None
    if found is None or datatype not in _MOMENT_CASTS.get(term.datatype, ()):
        return None
    if datatype == XSD_DATE_TIME_STAMP and found.zone is None:
        return None
    text = moment_text(found, datatype)
    return None if text is None else Literal(text, datatype)


def _holds(datatype: str, length: Duration) -> bool:
    """Whether a datatype has a duration among its values."""
    if datatype == XSD_DAY_TIME_DURATION:
        return not length.months
    return datatype == XSD_DURATION or (datatype == XSD_YEAR_MONTH_DURATION and not length.seconds)


_DATE_TIMES: Final = (XSD_DATE_TIME, XSD_DATE_TIME_STAMP)
_MOMENT_CASTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        XSD_DATE_TIME: (*_DATE_TIMES, XSD_DATE, XSD_TIME),
        XSD_DATE_TIME_STAMP: (*_DATE_TIMES, XSD_DATE, XSD_TIME),
        XSD_DATE: (*_DATE_TIMES, XSD_DATE),
        XSD_TIME: (XSD_TIME,),
    }
)
