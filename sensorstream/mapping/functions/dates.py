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
from sensorstream.language.syntax import Argument
from sensorstream.mapping.functions.durations import fixed_length, read_iso
from sensorstream.mapping.functions.numbers import read_number

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


def moment(formats: Sequence[Argument], zone: Argument | None) -> Callable[[str], str]:
    """The first format that fits, as ``xsd:dateTime`` in UTC.

    A time without a zone is in ``zone`` (default UTC), which is a word if it stands behind each
    time; of a clock hour that occurs twice, the first. A date without a time means midnight.

    Raises:
        LanguageError: not a format of ``strptime``, or not a time zone.
    """
    readers = tuple(_reader(each) for each in formats)
    expected = _listed(formats)

    def read(text: str, here: tzinfo) -> str:
        found = _first(readers, text, expected)
        if found.tzinfo is None:
            found = found.replace(tzinfo=here)
        return _written(found, text)

    def read_in_its_zone(text: str) -> str:
        time, _, name = text.strip().rpartition(" ")
        try:
            return read(time, _zone(name))
        except LookupError:
            raise TermError(f"'{text}' has no time zone behind its time: {_ZONES}") from None

    if zone is None:
        return lambda text: read(text, UTC)
    if zone.kind == "word":
        return read_in_its_zone
    try:
        here = _zone(zone.text)
    except LookupError:
        told = f"unknown time zone '{zone.text}': {_ZONES}"
        raise LanguageError(told, position=zone.position) from None
    return lambda text: read(text, here)


def day(formats: Sequence[Argument]) -> Callable[[str], str]:
    """The first format that fits, as ``xsd:date`` without a zone.

    Raises:
        LanguageError: not a format of ``strptime``.
    """
    readers = tuple(_reader(each) for each in formats)
    expected = _listed(formats)
    return lambda text: _first(readers, text, expected).date().isoformat()


def _first(readers: Sequence[Read], text: str, expected: str) -> datetime:
    reason = f"expected {expected}"
    for reader in readers:
        try:
            return reader(text)
        except OverflowError:
            reason = _FAR
        except (ValueError, TermError):
            continue
    raise TermError(f"'{text}' is not a time: {reason}")


def _written(found: datetime, text: str) -> str:
    try:
        told = found.astimezone(UTC).replace(tzinfo=None).isoformat()
    except OverflowError:
        raise TermError(f"'{text}' is not a time: {_FAR}") from None
    if "." in told:
        told = told.rstrip("0")
    return f"{told}Z"


def _listed(formats: Sequence[Argument]) -> str:
    return " or ".join(each.text for each in formats)


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
FORMAT_WORDS: Final = tuple(_WORDS)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise LookupError(name) from None
