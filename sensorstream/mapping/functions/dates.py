"""Value functions over times: from many formats to the XSD format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, localcontext
from fractions import Fraction
from math import floor
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument
from sensorstream.mapping.functions.durations import fixed_length
from sensorstream.mapping.functions.numbers import read_number

Read: TypeAlias = Callable[[str], datetime]
"""The time of a text, without zone if the text has no zone; ``ValueError`` for another format."""

_YEARS: Final = ("%Y", "%y", "%G", "%c", "%x")
_FAR: Final = "outside the years 1 to 9999"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(formats: Sequence[Argument], zone: Argument | None) -> Callable[[str], str]:
    """The first format that fits, as ``xsd:dateTime`` in UTC.

    A time without a zone is in ``zone`` (default UTC); of a clock hour that occurs twice, the
    first. A date without a time means midnight.

    Raises:
        LanguageError: not a format of ``strptime``, or not a time zone.
    """
    readers = tuple(_reader(each) for each in formats)
    here = UTC if zone is None else _zone(zone)
    expected = _listed(formats)

    def read(text: str) -> str:
        found = _first(readers, text, expected)
        if found.tzinfo is None:
            found = found.replace(tzinfo=here)
        return _written(found, text)

    return read


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
    # The caller handles the zone.
    return lambda text: datetime.strptime(text, form)  # noqa: DTZ007


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
        return datetime.fromisoformat(end)
    micros = floor(Fraction(fixed_length(end)) * 1_000_000)
    return datetime.fromisoformat(start) + timedelta(microseconds=micros)


_WORDS: Final[dict[str, Read]] = {
    "iso": datetime.fromisoformat,
    "seconds": _since_epoch(6),
    "milliseconds": _since_epoch(3),
    "end": _end,
}
FORMAT_WORDS: Final = tuple(_WORDS)


def _zone(written: Argument) -> ZoneInfo:
    try:
        return ZoneInfo(written.text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise LanguageError(
            f"unknown time zone '{written.text}': expected e.g. Europe/Athens or UTC",
            position=written.position,
        ) from None
