"""Value functions over durations: exact, in XSD's canonical form (XSD 1.1 part 2, E.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Final

from sensorstream.errors import TermError
from sensorstream.language.syntax import Call
from sensorstream.mapping.functions.definition import (
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


def _duration(call: Call, _: Library) -> Function:
    """The first format that fits, in canonical form: ``PT90S`` becomes ``PT1M30S``."""
    formats = [each.text for each in call.arguments[::2]]
    readers = [_reader(each) for each in formats]
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


def _seconds(call: Call, _: Library) -> Function:
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


def _reader(form: str) -> Callable[[str], Duration]:
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
    return datetime.fromisoformat(text)


def _between(text: str) -> Duration:
    """From the first to the second of two ISO times, ``start/end`` (ISO 8601, 5.5)."""
    first, slash, second = text.partition("/")
    try:
        start, end = (read_iso(each.strip()) for each in (first, second))
        gap = end - start
    except (ValueError, TypeError):
        hint = "both with a time zone, or both without" if slash else "two times parted by '/'"
        raise TermError(f"expected {hint}, e.g. 2014-08-01T08:00Z/2014-08-01T08:05Z") from None
    micros = (gap.days * DAY + gap.seconds) * 1_000_000 + gap.microseconds
    return Duration(0, Decimal(micros) / 1_000_000)


_LENGTH: Final = any_of(_FORMATS)
DURATION_CALLS: Final = (
    Definition(
        "duration",
        f"duration FORMAT or FORMAT …, where FORMAT is one of {', '.join(_FORMATS)}",
        "an xsd:duration in its shortest form",
        f"{_LENGTH}(?: or {_LENGTH})*",
        (Parameter("format", "word", between="or"),),
        _duration,
    ),
    Definition("seconds", "seconds", "the seconds of a duration, as a number", "", (), _seconds),
)
