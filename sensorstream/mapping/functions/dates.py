"""Value functions over times: from many formats to the XSD format."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_FLOOR, localcontext
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument, Call
from sensorstream.mapping.functions.definition import (
    READS_NUMBERS,
    Definition,
    Function,
    Library,
    Parameter,
    ValueKind,
    any_of,
    read_number,
)
from sensorstream.mapping.functions.durations import fixed_length, read_iso

Read: TypeAlias = Callable[[str], datetime]
"""The time of a text, without zone if the text has no zone; ``ValueError`` for another format."""

_YEARS: Final = ("%Y", "%y", "%G", "%c", "%x")
_WIDTHS: Final = {
    "%f": "1,6",
    **dict.fromkeys(("%Y", "%G"), "4"),
    "%j": "3",
    **dict.fromkeys(("%y", "%m", "%d", "%H", "%I", "%M", "%S", "%U", "%V", "%W"), "2"),
    **dict.fromkeys(("%w", "%u"), "1"),
}
"""The digits of each field that is a number."""
_PIECE: Final = re.compile(r"%.|\s+|.", re.DOTALL)
_ZONES: Final = "expected e.g. Europe/Athens or UTC"
_FAR: Final = "outside the years 1 to 9999"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _date(call: Call, _: Library) -> Function:
    """The first format that fits, as ``xsd:dateTime`` in UTC.

    A time without a zone is in the zone that the call names (default UTC), or that stands behind
    each time; of a clock hour that occurs twice, the first. A date without a time means midnight.
    """
    words = [each.text for each in call.arguments]
    zone = call.arguments[-1] if words[-2:-1] == ["in"] else None
    first = _first_of(call.arguments[::2] if zone is None else call.arguments[:-2:2])

    def read(text: str, here: tzinfo) -> str:
        found = first(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=here)
        return _written(found, text)

    def read_in_its_zone(text: str) -> str:
        time, _, name = text.strip().rpartition(" ")
        try:
            return read(time, _zone(name))
        except LookupError:
            raise TermError(f"'{text}' has no time zone behind its time: {_ZONES}") from None

    here: tzinfo = UTC
    if zone is not None and zone.kind == "word":
        return Function.on_each(call, READS_NUMBERS, ValueKind.TIME, read_in_its_zone)
    if zone is not None:
        try:
            here = _zone(zone.text)
        except LookupError:
            told = f"unknown time zone '{zone.text}': {_ZONES}"
            raise LanguageError(told, position=zone.position) from None
    return Function.on_each(call, READS_NUMBERS, ValueKind.TIME, lambda text: read(text, here))


def _day(call: Call, _: Library) -> Function:
    """The first format that fits, as ``xsd:date`` without a zone."""
    first = _first_of(call.arguments[::2])
    return Function.on_each(
        call, READS_NUMBERS, ValueKind.DAY, lambda text: first(text).date().isoformat()
    )


def _first_of(formats: Sequence[Argument]) -> Read:
    readers = tuple(_reader(each) for each in formats)
    expected = " or ".join(each.text for each in formats)

    def first(text: str) -> datetime:
        reason = f"expected {expected}"
        for reader in readers:
            try:
                return reader(text)
            except OverflowError:
                reason = _FAR
            except (ValueError, TermError):
                continue
        raise TermError(f"'{text}' is not a time: {reason}")

    return first


def _written(found: datetime, text: str) -> str:
    try:
        told = found.astimezone(UTC).replace(tzinfo=None).isoformat()
    except OverflowError:
        raise TermError(f"'{text}' is not a time: {_FAR}") from None
    if "." in told:
        told = told.rstrip("0")
    return f"{told}Z"


def _reader(written: Argument) -> Read:
    if written.kind == "word":
        return _WORDS[written.text]
    form = written.text
    try:
        datetime.strptime("", form)  # noqa: DTZ007 (only to see whether it is a format)
    except ValueError as error:
        if not str(error).startswith("time data"):
            raise LanguageError(
                f"not a format of times: {error}", position=written.position
            ) from None
    if not any(year in form for year in _YEARS):
        raise LanguageError(
            f"the format '{form}' has no year: expected %Y or %y", position=written.position
        )
    pieces = _PIECE.findall(form)
    numbers = [each in _WIDTHS or each.isdecimal() for each in pieces]
    if (True, True) not in pairwise(numbers):
        # The caller handles the zone.
        return lambda text: datetime.strptime(text, form)  # noqa: DTZ007
    widths = _widths(pieces, numbers)

    def read(text: str) -> datetime:
        if widths.fullmatch(text) is None:
            raise ValueError
        return datetime.strptime(text, form)  # noqa: DTZ007

    return read


def _widths(pieces: Sequence[str], numbers: Sequence[bool]) -> re.Pattern[str]:
    """The texts in which each number that touches another has all its digits.

    ``strptime`` takes one digit for two there: ``202405011408`` as 14:00:08 by ``%H%M%S``.
    """
    made = []
    for piece, before, after in zip(
        pieces, (False, *numbers[:-1]), (*numbers[1:], False), strict=True
    ):
        if piece in _WIDTHS and (before or after):
            made.append(rf"\d{{{_WIDTHS[piece]}}}")
        elif piece.isspace():
            made.append(r"\s+")
        else:
            made.append(".+?" if piece.startswith("%") else re.escape(piece))
    return re.compile("".join(made), re.DOTALL | re.IGNORECASE)


def _since_epoch(digits: int) -> Read:
    """A number since 1970, which so many ``digits`` more make microseconds; the rest is cut."""

    def read(text: str) -> datetime:
        number = read_number(text)
        if number.adjusted() > 20:
            raise OverflowError
        with localcontext(prec=40, rounding=ROUND_FLOOR):
            micros = number.scaleb(digits).to_integral_value()
        return _EPOCH + timedelta(microseconds=int(micros))

    return read


def _end(text: str) -> datetime:
    """The end of an ISO interval, ``start/end`` or ``start/duration`` (ISO 8601, 5.5)."""
    start, slash, end = (each.strip() for each in text.partition("/"))
    if not slash:
        raise ValueError
    if not end.lstrip("-").startswith("P"):
        return read_iso(end)
    micros = floor(Fraction(fixed_length(end)) * 1_000_000)
    return read_iso(start) + timedelta(microseconds=micros)


_WORDS: Final[dict[str, Read]] = {
    "iso": read_iso,
    "seconds": _since_epoch(6),
    "milliseconds": _since_epoch(3),
    "end": _end,
}


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise LookupError(name) from None


_TIME: Final = any_of(('"', *_WORDS))
_FORMAT: Final = Parameter("format", "text", between="or", words=frozenset(_WORDS))
DATE_CALLS: Final = (
    Definition(
        "date",
        'date FORMAT or FORMAT … in "ZONE" or in value, where FORMAT is "%d.%m.%Y" or one of '
        f"{', '.join(_WORDS)}",
        "an xsd:dateTime in UTC",
        f'{_TIME}(?: or {_TIME})*(?: in (?:"|value))?',
        (_FORMAT, Parameter("zone", "text", "in", words=frozenset(("value",)), required=False)),
        _date,
    ),
    Definition(
        "day",
        'day "%d.%m.%Y" or FORMAT …',
        "an xsd:date",
        f"{_TIME}(?: or {_TIME})*",
        (_FORMAT,),
        _day,
    ),
)
