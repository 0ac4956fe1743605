"""Value functions over durations and times, from many formats to the XSD format.

Durations are exact, in canonical form (XSD 1.1 part 2, E.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument, ValueCall
from sensorstream.mapping.functions.function_definition import (
    READS_NUMBERS,
    Definition,
    Function,
    Library,
    Parameter,
    ValueKind,
    any_of,
    read_number,
    write_number,
)
from sensorstream.model.xsd import DAY, Duration, duration_text

_WHOLE: Final = "([0-9]{1,15})"
_ISO: Final = re.compile(
    rf"(-?)P(?=.)(?:{_WHOLE}Y)?(?:{_WHOLE}M)?(?:{_WHOLE}W)?(?:{_WHOLE}D)?"
    rf"(?:T(?=.)(?:{_WHOLE}H)?(?:{_WHOLE}M)?(?:([0-9]{{1,15}}(?:[.,][0-9]{{1,40}})?)S)?)?"
)
_MOMENT: Final = re.compile(r"\d{4}-?(?:\d\d-?\d\d|W\d\d(?:-?\d)?)(?:\D.*)?")
"""A date and what parts it from its time: Python takes any character there, a digit too."""
_END_OF_DAY: Final = re.compile(r"([^T ]+[T ])24((?::?00){0,2}(?:[.,]0+)?(?:Z|[+-].*)?)")
_UNITS: Final = {
    "milliseconds": Decimal("0.001"),
    "seconds": Decimal(1),
    "minutes": Decimal(60),
    "hours": Decimal(3600),
    "days": Decimal(DAY),
    "weeks": Decimal(7 * DAY),
}
_FORMATS: Final = ("iso", *_UNITS, "between")
# Bounds of what is read; all arithmetic within them is exact.
_LONGEST, _FINEST, _PRECISION = Decimal(10**15), -30, 80


def _duration(call: ValueCall, _: Library) -> Function:
    """The first format that fits, in canonical form: ``PT90S`` becomes ``PT1M30S``."""
    formats = [each.text for each in call.arguments[::2]]
    readers = [_duration_reader(each) for each in formats]
    expected = " or ".join(formats)

    def read(text: str) -> str:
        reason = f"expected {expected}"
        for reader in readers:
            try:
                return duration_text(reader(text))
            except TermError as error:
                reason = error.message if len(readers) == 1 else reason
        raise TermError(f"'{text}' is not a duration: {reason}")

    return Function.on_each(call, READS_NUMBERS | {ValueKind.DURATION}, ValueKind.DURATION, read)


def _seconds(call: ValueCall, _: Library) -> Function:
    """The number of seconds of an ISO duration: ``PT2M30S`` becomes ``150``."""
    takes = (ValueKind.ANY, ValueKind.DURATION)
    return Function.on_each(
        call, takes, ValueKind.NUMBER, lambda text: write_number(fixed_length(text))
    )


def fixed_length(text: str) -> Decimal:
    """The seconds of an ISO duration.

    Raises:
        TermError: not a duration, or one with years or months, whose length is not fixed.
    """
    try:
        found = _iso(text)
    except TermError as error:
        raise TermError(f"'{text}' is not a duration: {error.message}") from None
    if found.months:
        raise TermError(f"'{text}' has no fixed length: expected weeks, days or shorter units")
    return found.seconds


def _duration_reader(form: str) -> Callable[[str], Duration]:
    if form == "iso":
        return _iso
    if form == "between":
        return _between
    return lambda text: Duration(0, _scaled(read_number(text), _UNITS[form]))


def _scaled(number: Decimal, unit: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), "a number that was read is finite"
    if abs(number) > _LONGEST or exponent < _FINEST:
        raise TermError(f"expected a number up to {_LONGEST:e} with {-_FINEST} digits at most")
    with localcontext(prec=_PRECISION):
        return number * unit


def _iso(text: str) -> Duration:
    match = _ISO.fullmatch(text)
    if match is None:
        raise TermError("expected e.g. PT1M30S, P2D or -P1Y6M")
    sign = -1 if match[1] else 1
    years, months, weeks, days, hours, minutes = (int(match[i] or 0) for i in range(2, 8))
    with localcontext(prec=_PRECISION):
        seconds = Decimal((match[8] or "0").replace(",", "."))
        seconds += weeks * 7 * DAY + days * DAY + hours * 3600 + minutes * 60
        return Duration(sign * (years * 12 + months), sign * seconds)


def read_iso(text: str) -> datetime:
    """A time as ISO 8601 writes it; ``ValueError`` for anything else."""
    if _MOMENT.fullmatch(text) is None:
        raise ValueError
    if (end := _END_OF_DAY.fullmatch(text)) is None:
        return datetime.fromisoformat(text)
    try:
        return datetime.fromisoformat(f"{end[1]}00{end[2]}") + timedelta(days=1)
    except OverflowError:
        raise ValueError from None


def _between(text: str) -> Duration:
    """The time from the first to the second of two ISO times, ``start/end`` (ISO 8601, 5.5)."""
    first, slash, second = text.partition("/")
    try:
        start, end = (read_iso(each.strip()) for each in (first, second))
        gap = end - start
    except (ValueError, TypeError):
        hint = "both with a time zone, or both without" if slash else "two times parted by '/'"
        raise TermError(f"expected {hint}, e.g. 2014-08-01T08:00Z/2014-08-01T08:05Z") from None
    micros = (gap.days * DAY + gap.seconds) * 1_000_000 + gap.microseconds
    return Duration(0, Decimal(micros) / 1_000_000)


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


def _date(call: ValueCall, _: Library) -> Function:
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


def _day(call: ValueCall, _: Library) -> Function:
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


_LENGTH: Final = any_of(_FORMATS)
_TIME: Final = any_of(('"', *_WORDS))
_FORMAT: Final = Parameter("format", "text", between="or", words=frozenset(_WORDS))
TIME_CALLS: Final = (
    Definition(
        "date",
        'date FORMAT or FORMAT … in "ZONE" or in value, where FORMAT is "%d.%m.%Y" or one of '
        f"{', '.join(_WORDS)}",
        "an xsd:dateTime in UTC, by the first format that fits",
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
    Definition(
        "duration",
        f"duration FORMAT or FORMAT …, where FORMAT is one of {', '.join(_FORMATS)}",
        "a duration in its shortest form (PT1M30S), by the first format that fits",
        f"{_LENGTH}(?: or {_LENGTH})*",
        (Parameter("format", "word", between="or"),),
        _duration,
    ),
    Definition("seconds", "seconds", "seconds of a duration: 150 of PT2M30S", "", (), _seconds),
)
