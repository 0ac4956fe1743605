"""XSD datatypes: from lexical form to Python value, or a clear error (XSD 1.1 part 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model.durations import DURATIONS, Duration, parse_duration_of
from sensorstream.model.durations import XSD as XSD
from sensorstream.model.durations import XSD_DAY_TIME_DURATION as XSD_DAY_TIME_DURATION
from sensorstream.model.durations import XSD_DURATION as XSD_DURATION
from sensorstream.model.durations import XSD_YEAR_MONTH_DURATION as XSD_YEAR_MONTH_DURATION
from sensorstream.model.moments import XSD_DATE as XSD_DATE
from sensorstream.model.moments import XSD_DATE_TIME as XSD_DATE_TIME
from sensorstream.model.moments import XSD_DATE_TIME_STAMP as XSD_DATE_TIME_STAMP
from sensorstream.model.moments import XSD_TIME as XSD_TIME
from sensorstream.model.moments import ZONE, Moment, parse_moment

Value: TypeAlias = str | bool | int | float | Decimal | datetime | date | Duration | Moment

XSD_STRING: Final = f"{XSD}string"
XSD_BOOLEAN: Final = f"{XSD}boolean"
XSD_INTEGER: Final = f"{XSD}integer"
XSD_DECIMAL: Final = f"{XSD}decimal"
XSD_DOUBLE: Final = f"{XSD}double"
XSD_FLOAT: Final = f"{XSD}float"
XSD_ANY_URI: Final = f"{XSD}anyURI"
GEO_WKT: Final = "http://www.opengis.net/ont/geosparql#wktLiteral"
RDF_LANG_STRING: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
RDF_XML_LITERAL: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral"

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(r"([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z")
_DATE_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    rf"(\.(?P<fraction>\d+))?(?P<zone>{ZONE})?\Z",
    re.ASCII,
)
_DATE = re.compile(rf"(?P<day>\d{{4}}-\d\d-\d\d){ZONE}?\Z", re.ASCII)
_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<days>\d+)D)?"
    r"(?P<time>T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?\Z",
    re.ASCII,
)

# Bounds of the integer types of XSD 1.1 part 2, sections 3.4.13-3.4.25.
INTEGER_BOUNDS: Final[Mapping[str, tuple[int | None, int | None]]] = MappingProxyType(
    {
        XSD_INTEGER: (None, None),
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
)

INTEGER_TYPES: Final = frozenset(INTEGER_BOUNDS)
NUMERIC_TYPES: Final = INTEGER_TYPES | {XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT}


MOST_DIGITS: Final = 4_300
"""Of a number: Python takes time that grows with their square, and refuses more."""


def parse(lexical: str, datatype: str) -> Value:
    """The Python value of a lexical form; datatypes not listed here keep their text.

    Raises:
        TermError: the form is not in the datatype's lexical space.
    """
    if datatype in INTEGER_BOUNDS:
        return _integer(lexical, datatype)
    parser = _PARSERS.get(datatype)
    return lexical if parser is None else parser(lexical)


def parse_date_time(text: str) -> datetime:
    """An ``xsd:dateTime`` as an aware datetime; without a zone it is read as UTC.

    Digits beyond the microsecond are cut.

    Raises:
        TermError: not an ``xsd:dateTime``.
    """
    match = _DATE_TIME.match(text)
    if match is None:
        raise TermError(f"'{text}' is not an xsd:dateTime: expected e.g. 2014-08-01T08:05:00Z")
    fraction = (match["fraction"] or "")[:6].ljust(6, "0")
    hour, next_day = match["hour"], timedelta()
    if hour == "24" and match["minute"] == match["second"] == "00" and not fraction.strip("0"):
        hour, next_day = "00", timedelta(days=1)
    zone = (match["zone"] or "Z").replace("Z", "+00:00")
    written = f"{match['day']}T{hour}:{match['minute']}:{match['second']}.{fraction}{zone}"
    try:
        return (datetime.fromisoformat(written) + next_day).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TermError(f"'{text}' is not an xsd:dateTime: {error}") from None


def parse_duration(text: str) -> timedelta:
    """An ``xsd:dayTimeDuration``.

    Raises:
        TermError: not a duration of days, hours, minutes and seconds (months and years have
            no fixed length, so windows cannot be measured in them).
    """
    match = _DURATION.match(text)
    if match is None or not any(match[p] for p in ("days", "hours", "minutes", "seconds")):
        raise TermError(f"'{text}' is not a duration of days to seconds: expected e.g. PT1M30S")
    try:
        length = timedelta(
            days=int(match["days"] or 0),
            hours=int(match["hours"] or 0),
            minutes=int(match["minutes"] or 0),
            seconds=float(match["seconds"] or 0),
        )
    except (ValueError, OverflowError):
        raise TermError("a duration may have 999999999 days at most") from None
    return -length if match["sign"] else length


def _integer(lexical: str, datatype: str) -> int:
    name = datatype.removeprefix(XSD)
    text = lexical.strip()
    if not _INTEGER.match(text):
        raise TermError(f"'{lexical}' is not an xsd:{name}: expected digits")
    if len(text) > MOST_DIGITS:
        raise TermError(f"an xsd:{name} may have {MOST_DIGITS} digits, not {len(text)}")
    value = int(text)
    low, high = INTEGER_BOUNDS[datatype]
    if (low is not None and value < low) or (high is not None and value > high):
        raise TermError(f"'{lexical}' is not an xsd:{name}: outside its range")
    return value


def _decimal(lexical: str) -> Decimal:
    if not _DECIMAL.match(lexical.strip()):
        raise TermError(f"'{lexical}' is not an xsd:decimal: expected e.g. 7.4")
    return Decimal(lexical.strip())


def _double(lexical: str) -> float:
    if not _DOUBLE.match(lexical.strip()):
        raise TermError(f"'{lexical}' is not an xsd:double: expected e.g. 7.4 or 7.4e0")
    return float(lexical.strip())


def _boolean(lexical: str) -> bool:
    text = lexical.strip()
    if text not in {"true", "false", "1", "0"}:
        raise TermError(f"'{lexical}' is not an xsd:boolean: expected true, false, 1 or 0")
    return text in {"true", "1"}


def _date(lexical: str) -> date:
    match = _DATE.match(lexical.strip())
    try:
        if match is not None:
            return date.fromisoformat(match["day"])
    except ValueError:
        pass
    raise TermError(f"'{lexical}' is not an xsd:date: expected e.g. 2014-08-01")


def _length(datatype: str) -> Callable[[str], Duration]:
    return lambda lexical: parse_duration_of(lexical, datatype)


def _stamp(lexical: str) -> datetime:
    text = lexical.strip()
    match = _DATE_TIME.match(text)
    if match is not None and match["zone"] is None:
        raise TermError(f"'{lexical}' is not an xsd:dateTimeStamp: expected a time zone")
    return parse_date_time(text)


_PARSERS: Final[Mapping[str, Callable[[str], Value]]] = MappingProxyType(
    {
        XSD_BOOLEAN: _boolean,
        XSD_DECIMAL: _decimal,
        XSD_DOUBLE: _double,
        XSD_FLOAT: _double,
        XSD_DATE_TIME: lambda text: parse_date_time(text.strip()),
        XSD_DATE_TIME_STAMP: _stamp,
        XSD_DATE: _date,
        XSD_TIME: lambda text: parse_moment(text, XSD_TIME),
        **{kind: _length(kind) for kind in sorted(DURATIONS)},
    }
)
