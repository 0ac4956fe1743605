"""The datatypes of XML Schema: lexical form, value, canonical form, order and facets of each.

A dateTime, a date or a time of day is a :class:`TimelineMoment`, a length of time a
:class:`Duration`; both are exact.

Source: XSD 1.1 part 2; OWL 2 Structural Specification, section 4 (owl:real, rdf:PlainLiteral;
xsd:float, xsd:double and xsd:decimal have no value in common).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from math import floor
from typing import Any, Final, NamedTuple, TypeAlias
from xml.parsers import expat

from sensorstream.errors import TermError
from sensorstream.model.frozen import frozen
from sensorstream.model.geometry import Geometry, has_geometry, read_geometry
from sensorstream.model.numerals import decimal_text

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
STRING: Final = f"{XSD}string"
BOOLEAN: Final = f"{XSD}boolean"
INTEGER: Final = f"{XSD}integer"
DECIMAL: Final = f"{XSD}decimal"
DOUBLE: Final = f"{XSD}double"
FLOAT: Final = f"{XSD}float"
ANY_URI: Final = f"{XSD}anyURI"
DATE_TIME: Final = f"{XSD}dateTime"
DATE_TIME_STAMP: Final = f"{XSD}dateTimeStamp"
DATE: Final = f"{XSD}date"
TIME: Final = f"{XSD}time"
DURATION: Final = f"{XSD}duration"
DAY_TIME_DURATION: Final = f"{XSD}dayTimeDuration"
YEAR_MONTH_DURATION: Final = f"{XSD}yearMonthDuration"
GEO_WKT: Final = "http://www.opengis.net/ont/geosparql#wktLiteral"
GEO_JSON: Final = "http://www.opengis.net/ont/geosparql#geoJSONLiteral"
RDF_LANG_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
RDF_XML_LITERAL: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral"

# Bounds of the integer types of XSD 1.1 part 2, sections 3.4.13-3.4.25.
INTEGER_BOUNDS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    INTEGER: (None, None),
    f"{XSD}long": (-(2**63), 2**63 - 1),
    f"{XSD}int": (-(2**31), 2**31 - 1),
    f"{XSD}short": (-(2**15), 2**15 - 1),
    f"{XSD}byte": (-128, 127),
    f"{XSD}nonNegativeInteger": (0, None),
    f"{XSD}positiveInteger": (1, None),
    f"{XSD}nonPositiveInteger": (None, 0),
    f"{XSD}negativeInteger": (None, -1),
    f"{XSD}unsignedLong": (0, 2**64 - 1),
    f"{XSD}unsignedInt": (0, 2**32 - 1),
    f"{XSD}unsignedShort": (0, 2**16 - 1),
    f"{XSD}unsignedByte": (0, 255),
}
INTEGER_TYPES: Final = frozenset(INTEGER_BOUNDS)
NUMERIC_TYPES: Final = INTEGER_TYPES | {DECIMAL, DOUBLE, FLOAT}
FAMILIES: Final[Mapping[str, str]] = {
    DATE_TIME: "dateTime",
    DATE_TIME_STAMP: "dateTime",
    DATE: "date",
    TIME: "time",
    DURATION: "duration",
    DAY_TIME_DURATION: "duration",
    YEAR_MONTH_DURATION: "duration",
}
"""Values of one family are compared with each other, and with nothing else."""
DURATIONS: Final = frozenset({DURATION, DAY_TIME_DURATION, YEAR_MONTH_DURATION})
DATE_TIMES: Final = frozenset({DATE_TIME, DATE_TIME_STAMP})
MOMENTS: Final = FAMILIES.keys() - DURATIONS

EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Sums of times are exact: a fraction of a second may have any number of digits."""
DAY: Final = 86_400
MOST_DIGITS: Final = 4_300
"""The most digits of a number: Python's time grows with their square, and it refuses more."""
UNORDERED: Final = 2
"""Neither equal nor in order."""

_NO_NUMBER: Final = Decimal(0)
_ZONE_DOUBT: Final = 14 * 3600
_LAST_YEAR: Final = 999_999_999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# September 1696, February 1697, March 1903 and July 1903 (section 3.3.6.1), in months.
_REFERENCES: Final = (1696 * 12 + 8, 1697 * 12 + 1, 1903 * 12 + 2, 1903 * 12 + 6)


class Duration(NamedTuple):
    """Months and seconds, of one sign: a month has no fixed number of seconds."""

    months: int
    seconds: Decimal


class TimelineMoment(NamedTuple):
    """Seconds since 1970-01-01T00:00:00 in a clock that is ``zone`` minutes before UTC; ``zone`` is
    None without a time zone. A date is its first second, a time of day that of 1970-01-01.
    """

    clock: Decimal
    zone: int | None

    @property
    def utc(self) -> Decimal:
        """The moment in UTC; without a time zone, as if it were UTC."""
        return EXACT.subtract(self.clock, self.zone * 60) if self.zone else self.clock


Time: TypeAlias = TimelineMoment | Duration
Value: TypeAlias = str | bool | int | float | Decimal | Time | Geometry


def duration_text(length: Duration, datatype: str = DURATION) -> str:
    """The canonical form (XSD 1.1 part 2, section E.2): ``PT1M30S``."""
    # abs() would round to the digits of the context.
    months, seconds = abs(length.months), length.seconds.copy_abs()
    days, seconds = EXACT.divmod(seconds, DAY)
    hours, seconds = EXACT.divmod(seconds, 3600)
    minutes, seconds = EXACT.divmod(seconds, 60)
    date = _parts((months // 12, "Y"), (months % 12, "M"), (days, "D"))
    time = _parts((hours, "H"), (minutes, "M"), (seconds, "S"))
    if not date and not time:
        return "P0M" if datatype == YEAR_MONTH_DURATION else "PT0S"
    sign = "-" if length.months < 0 or length.seconds < 0 else ""
    return f"{sign}P{date}{'T' if time else ''}{time}"


def _parts(*parts: tuple[int | Decimal, str]) -> str:
    return "".join(f"{decimal_text(Decimal(n))}{unit}" for n, unit in parts if n)


def negated(length: Duration) -> Duration:
    """The same length the other way."""
    return Duration(-length.months, EXACT.minus(length.seconds))


def added(one: Duration, other: Duration) -> Duration | None:
    """The sum; None: months one way and seconds the other are no duration."""
    months, seconds = one.months + other.months, EXACT.add(one.seconds, other.seconds)
    if (months > 0 and seconds < 0) or (months < 0 and seconds > 0):
        return None
    return Duration(months, seconds)


def ordered(one: Time, other: Time) -> int:
    """-1, 0, 1 or :data:`UNORDERED`, of two moments of one family or of two durations. Which of two
    durations is longer may depend on when they begin (section 3.3.6.1).
    """
    if isinstance(one, TimelineMoment) and isinstance(other, TimelineMoment):
        a, b = one.utc, other.utc
        if (one.zone is None) != (other.zone is None) and EXACT.abs(
            EXACT.subtract(a, b)
        ) <= _ZONE_DOUBT:
            return UNORDERED
        return (a > b) - (a < b)
    assert isinstance(one, Duration)
    assert isinstance(other, Duration)
    if one.months == other.months:
        return (one.seconds > other.seconds) - (one.seconds < other.seconds)
    if one.seconds == other.seconds:
        return (one.months > other.months) - (one.months < other.months)
    orders = {
        (end > stop) - (end < stop) for end, stop in zip(_ends(one), _ends(other), strict=True)
    }
    return orders.pop() if len(orders) == 1 else UNORDERED


def order_key(length: Duration) -> tuple[Decimal, int]:
    """A key in whose order each duration stands after those that are shorter."""
    total = _NO_NUMBER
    for end in _ends(length):
        total = EXACT.add(total, end)
    return total, length.months


def _ends(length: Duration) -> list[Decimal]:
    """The seconds from four fixed moments of 1696 to 1903 to those a duration after them."""
    return [
        EXACT.add(length.seconds, (_month_start(start + length.months) - _month_start(start)) * DAY)
        for start in _REFERENCES
    ]


def _month_start(month: int) -> int:
    """The number of the day a month begins with; months are counted from year 0."""
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


def moment_text(moment: TimelineMoment, datatype: str) -> str | None:
    """The canonical form; None: its year has more than nine digits."""
    year, month, day, hours, minutes, seconds = fields(moment)
    if abs(year) > _LAST_YEAR:
        return None
    whole, _, fraction = decimal_text(seconds).partition(".")
    clock = f"{hours:02}:{minutes:02}:{whole:0>2}{'.' if fraction else ''}{fraction}"
    date = f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"
    zone = zone_text(moment.zone)
    if datatype == DATE:
        return f"{date}{zone}"
    return f"{clock}{zone}" if datatype == TIME else f"{date}T{clock}{zone}"


def fields(moment: TimelineMoment) -> tuple[int, int, int, int, int, Decimal]:
    """Year, month, day, hour, minute and second, as a clock in its time zone shows them."""
    days, of_day = _parted(moment.clock)
    hours, of_hour = EXACT.divmod(of_day, 3600)
    minutes, seconds = EXACT.divmod(of_hour, 60)
    return (*civil_from_days(days), int(hours), int(minutes), seconds)


def _parted(clock: Decimal) -> tuple[int, Decimal]:
    """The whole days of a clock, and the seconds of the next day."""
    days, rest = EXACT.divmod(clock, DAY)
    # divmod of decimals rounds towards zero, and knows a negative zero.
    return (int(days) - 1, EXACT.add(rest, DAY)) if rest < 0 else (int(days), rest.copy_abs())


def zone_text(zone: int | None) -> str:
    """A time zone as it is written, empty for none."""
    if not zone:
        return "" if zone is None else "Z"
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"


def moved(moment: TimelineMoment, length: Duration) -> TimelineMoment:
    """The moment a duration later (section E.3.3): months first, then seconds. A day that a month
    does not have becomes its last one.
    """
    clock = moment.clock
    if length.months:
        days, _ = _parted(clock)
        year, month, day = civil_from_days(days)
        months = year * 12 + month - 1 + length.months
        start = _month_start(months)
        new_day = start + min(day, _month_start(months + 1) - start) - 1
        clock = EXACT.add(clock, (new_day - days) * DAY)
    return TimelineMoment(EXACT.add(clock, length.seconds), moment.zone)


def datetime_of(moment: TimelineMoment) -> datetime | None:
    """The moment in UTC, cut to the microsecond; None: outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(microseconds=floor(EXACT.scaleb(moment.utc, 6)))
    except OverflowError:
        return None


@frozen
class XsdDatatype:
    """A datatype: ``form`` is its lexical form, which ``read`` makes a value of.

    Without ``read`` each text is its own value. ``holds`` tells which values of the ``primitive``
    datatype it has; None: all. ``expected`` describes the form in errors.
    """

    name: str
    primitive: str
    form: Callable[[str], re.Match[str] | None] | None = None
    expected: str = ""
    read: Callable[[re.Match[str]], Value | None] | None = None
    holds: Callable[[Any], bool] | None = None


def parse(lexical: str, datatype: str, *, strictly: bool = False) -> Value:
    """The Python value of a lexical form; a datatype that is not known here keeps its text.
    ``strictly``: datatypes whose values are texts check them, too.

    Raises:
        TermError: the form is not in the datatype's lexical space.
    """
    found = DATATYPES.get(datatype)
    if found is None or found.form is None or not (strictly or found.read):
        if datatype in (GEO_WKT, GEO_JSON) and has_geometry():
            return read_geometry(lexical, is_json=datatype == GEO_JSON)
        return lexical
    match = found.form(lexical.strip() if found.read else lexical)
    value = match and (found.read(match) if found.read else lexical)
    if value is None:
        name = datatype.removeprefix(XSD)
        raise TermError(f"'{lexical}' is not an xsd:{name}: expected {found.expected}")
    return value


def parse_duration(text: str) -> timedelta:
    """An ``xsd:dayTimeDuration``.

    Raises:
        TermError: not a duration of days, hours, minutes and seconds (months and years have
            no fixed length, so windows cannot be measured in them).
    """
    match = _DAY_TIME.fullmatch(text)
    if match is None:
        raise TermError(f"'{text}' is not a duration of days to seconds: expected e.g. PT1M30S")
    try:
        return timedelta(microseconds=round(_duration(match).seconds.scaleb(6, EXACT)))
    except OverflowError:
        raise TermError("a duration may have 999999999 days at most") from None


def primitive_of(datatype: str) -> str:
    """The primitive datatype that has its values; primitive datatypes share no values."""
    found = DATATYPES.get(datatype)
    return datatype if found is None else found.primitive


def is_among(value: object, primitive: str, datatype: str) -> bool:
    """Whether a value of a primitive datatype is in a datatype; numbers are given as fractions."""
    found = DATATYPES.get(datatype)
    if found is None:
        return datatype == primitive
    return found.primitive == primitive and (found.holds is None or found.holds(value))


def is_valid(lexical: str, datatype: str) -> bool:
    """Whether a text is in the lexical space; only in strings white space is allowed."""
    if datatype == RDF_XML_LITERAL:
        return _is_content(lexical)
    found = DATATYPES.get(datatype)
    if found is None or found.form is None:
        return True
    if found.read is None:
        return found.form(lexical) is not None
    try:
        _ = parse(lexical, datatype)
    except TermError:
        return False
    return lexical == lexical.strip()


def _is_content(lexical: str) -> bool:
    """Whether a text is the content of an XML element (RDF 1.1 Concepts, section 5.3)."""
    try:
        expat.ParserCreate().Parse(f"<content>{lexical}</content>".encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return True


def _integer(name: str, low: int | None, high: int | None) -> XsdDatatype:
    short = name.removeprefix(XSD)

    def is_within(value: Any) -> bool:
        return (low is None or value >= low) and (high is None or value <= high)

    def read(match: re.Match[str]) -> int:
        text = match[0]
        if len(text) > MOST_DIGITS:
            raise TermError(f"an xsd:{short} may have {MOST_DIGITS} digits, not {len(text)}")
        value = int(text)
        if not is_within(value):
            raise TermError(f"'{text}' is not an xsd:{short}: outside its range")
        return value

    def holds(value: Fraction) -> bool:
        return value.denominator == 1 and is_within(value)

    return XsdDatatype(name, DECIMAL, re.compile("[+-]?[0-9]+").fullmatch, "digits", read, holds)


def _text(name: str, form: str, expected: str, primitive: str = STRING) -> XsdDatatype:
    """A datatype whose values are kept as texts: ``xsd:string`` and those derived from it (names:
    XML 1.0, section 2.3), parts of dates, bytes.
    """
    made = cache(partial(re.compile, form, re.ASCII))

    def match(text: object) -> re.Match[str] | None:
        return made().fullmatch(str(text))

    return XsdDatatype(
        f"{XSD}{name}", primitive, match, expected, holds=lambda text: match(text) is not None
    )


def _time(
    name: str, form: str, example: str, holds: Callable[[Any], bool] | None = None
) -> XsdDatatype:
    read = _duration if name in DURATIONS else _moment
    made = re.compile(form, re.ASCII).fullmatch
    return XsdDatatype(name, f"{XSD}{FAMILIES[name]}", made, f"e.g. {example}", read, holds)


def _duration(match: re.Match[str]) -> Duration:
    years, months, days, hours, minutes = (int(each or 0) for each in match.group(2, 3, 4, 5, 6))
    whole = days * DAY + hours * 3600 + minutes * 60
    seconds = EXACT.add(Decimal(match[7] or 0), whole)
    if match[1]:
        return Duration(-(years * 12 + months), seconds.copy_negate() if seconds else _NO_NUMBER)
    return Duration(years * 12 + months, seconds)


def _moment(match: re.Match[str]) -> TimelineMoment | None:
    year, month, day, hour, minute, second, zone = match.groups()
    seconds = 0
    if year:
        days = days_from_civil(int(year), int(month), int(day))
        if day > "28" and civil_from_days(days)[2] != int(day):
            return None
        seconds = days * DAY
    if hour:
        seconds += int(hour) * 3600 + int(minute) * 60
        whole = len(second) == 2
        clock = Decimal(seconds + int(second)) if whole else EXACT.add(Decimal(second), seconds)
    else:
        # 24:00:00 is the first second of the next day, but a time of day stays on its day.
        clock = Decimal(seconds + (DAY if year and hour is None else 0))
    if not zone or zone == "Z":
        return TimelineMoment(clock, 0 if zone else None)
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return TimelineMoment(clock, -minutes if zone[0] == "-" else minutes)


_FIRST: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LATER: Final = rf"{_FIRST}\-.0-9\u00b7\u0300-\u036f\u203f\u2040"
_NC_NAME: Final = f"[{_FIRST}][{_LATER}]*"
_POINT: Final = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_REAL: Final = re.compile(rf"[+-]?(?:{_POINT})(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN").fullmatch
_ZONE: Final = r"(Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))"
_YEAR: Final = r"(-?(?:0\d{3}|[1-9]\d{3,8}))"
_MONTH: Final = "(0[1-9]|1[0-2])"
_DATE: Final = r"(0[1-9]|[12]\d|3[01])"
_DAY: Final = f"{_YEAR}-{_MONTH}-{_DATE}"
# XSD 1.1 part 2, section 3.3.16.2.
_SIXTY_FOUR: Final = "(?:[A-Za-z0-9+/] ?)"
_LAST_BYTES: Final = (
    f"(?:{_SIXTY_FOUR}{{3}}[A-Za-z0-9+/]|{_SIXTY_FOUR}{{2}}[AEIMQUYcgkosw048] ?="
    f"|{_SIXTY_FOUR}[AQgw] ?= ?=)"
)
_CLOCK: Final = r"(?:([01]\d|2[0-3]):([0-5]\d):([0-5]\d(?:\.\d+)?)|24:00:00(?:\.0+)?)"
_MONTHS: Final = r"(?:(\d{1,15})Y)?(?:(\d{1,15})M)?"
_SECONDS: Final = (
    r"(?:(\d{1,15})D)?"
    r"(?:T(?=\d)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15}(?:\.\d+)?)S)?)?"
)
_DAY_TIME: Final = re.compile(rf"(-)?P(?=.)()(){_SECONDS}", re.ASCII)

DATATYPES: Final[Mapping[str, XsdDatatype]] = {
    each.name: each
    for each in (
        _text("string", "(?s:.*)", "a text"),
        _text("normalizedString", r"[^\t\n\r]*", "a text without tabs and line breaks"),
        _text("token", r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?", "words, with one space between two"),
        _text("anyURI", "(?s:.*)", "a text", ANY_URI),
        _text("language", "[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*", "e.g. en-GB"),
        _text("NMTOKEN", f"[:{_LATER}]+", "e.g. room-7"),
        _text("Name", f"[:{_FIRST}][:{_LATER}]*", "e.g. room-7"),
        *(_text(name, _NC_NAME, "e.g. room-7") for name in ("NCName", "ID", "IDREF", "ENTITY")),
        *(
            _text(name, form, f"e.g. {example}", f"{XSD}{name}")
            for name, form, example in (
                ("gYear", f"{_YEAR}{_ZONE}?", "2014"),
                ("gYearMonth", f"{_YEAR}-{_MONTH}{_ZONE}?", "2014-08"),
                ("gMonth", f"--{_MONTH}{_ZONE}?", "--08"),
                ("gDay", f"---{_DATE}{_ZONE}?", "---01"),
                ("gMonthDay", f"--(?!02-3|(?:0[469]|11)-31){_MONTH}-{_DATE}{_ZONE}?", "--08-01"),
                ("hexBinary", "(?:[0-9a-fA-F]{2})*", "0AFF"),
                ("base64Binary", f"(?:(?:{_SIXTY_FOUR}{{4}})*{_LAST_BYTES})?", "Cv8="),
            )
        ),
        *(_integer(name, *bounds) for name, bounds in INTEGER_BOUNDS.items()),
        XsdDatatype(
            DECIMAL,
            DECIMAL,
            re.compile(rf"[+-]?(?:{_POINT})").fullmatch,
            "e.g. 7.4",
            lambda match: Decimal(match[0]),
        ),
        *(
            XsdDatatype(name, name, _REAL, "e.g. 7.4 or 7.4e0", lambda match: float(match[0]))
            for name in (DOUBLE, FLOAT)
        ),
        XsdDatatype(
            BOOLEAN,
            BOOLEAN,
            re.compile("true|false|1|0").fullmatch,
            "true, false, 1 or 0",
            lambda match: match[0] in ("true", "1"),
        ),
        _time(DATE_TIME, f"{_DAY}T{_CLOCK}{_ZONE}?", "2014-08-01T08:05:00Z"),
        _time(
            DATE_TIME_STAMP,
            f"{_DAY}T{_CLOCK}{_ZONE}",
            "2014-08-01T08:05:00Z, with a time zone",
            lambda moment: moment[1] is not None,
        ),
        _time(DATE, f"{_DAY}()()(){_ZONE}?", "2014-08-01"),
        _time(TIME, f"()()(){_CLOCK}{_ZONE}?", "08:05:00"),
        _time(DURATION, f"(-)?P(?=.){_MONTHS}{_SECONDS}", "P1Y2M or PT1M30S"),
        _time(
            DAY_TIME_DURATION,
            _DAY_TIME.pattern,
            "P1D or PT1M30S",
            lambda length: not length[0],
        ),
        _time(
            YEAR_MONTH_DURATION,
            f"(-)?P(?=.){_MONTHS}()()()()",
            "P1Y2M",
            lambda length: not length[1],
        ),
        XsdDatatype(RDF_LANG_STRING, RDF_LANG_STRING),
        XsdDatatype(RDF_XML_LITERAL, RDF_XML_LITERAL),
    )
}
