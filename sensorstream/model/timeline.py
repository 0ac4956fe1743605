"""Application time: a deployment has one time line, of integers or of ``xsd:dateTime``."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import Literal, valued
from sensorstream.model.xsd import TimelineMoment, datetime_of, parse, parse_duration

Instant: TypeAlias = int
"""A point of the time line: the integer itself, or microseconds since 1970-01-01T00:00:00Z."""

_DIGITS: Final = re.compile(r"\s*[+-]?[0-9]+\s*\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLES: Final = {"integer": "2678", "datetime": "2026-03-01T12:00:00Z", "seconds": "2.5"}
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000
_ROUNDINGS: Final = 64
"""The largest error of a double's sums, in units of its last place."""


class Timeline(Enum):
    """The notation of the times in a deployment's messages."""

    INTEGER = "integer"
    DATETIME = "datetime"
    SECONDS = "seconds"
    """Numbers of seconds, counted in microseconds: of recorded events, not of deployments."""

    def instant(self, text: str) -> Instant:
        """The instant of a time as a message writes it.

        Raises:
            TermError: not an integer, or not an ``xsd:dateTime``; for a time of the other time
                line, the message names the setting.
        """
        try:
            return _read(text, self)
        except TermError as error:
            other = Timeline.DATETIME if self is Timeline.INTEGER else Timeline.INTEGER
            try:
                _read(text, other)
            except TermError:
                raise error from None
            raise TermError(
                f"'{text}' is a time of the {other.value} line, but the time line is "
                f'{self.value}: expected e.g. {_EXAMPLES[self.value]}, or line = "{other.value}" '
                "under [time] in the settings"
            ) from None

    def of(self, moment: datetime) -> Instant:
        """The instant of a wall-clock time, for messages without a time of their own; on the
        integer line in whole seconds since 1970.
        """
        since = moment - _EPOCH
        if self is Timeline.INTEGER:
            return since // timedelta(seconds=1)
        return since // _MICROSECOND

    def moment(self, instant: Instant) -> datetime:
        """The datetime of an instant of the dateTime line."""
        return _EPOCH + instant * _MICROSECOND

    def format(self, instant: Instant) -> str:
        """The text that :meth:`instant` reads back."""
        if self is Timeline.INTEGER:
            return str(instant)
        if self is Timeline.SECONDS:
            whole, rest = divmod(instant, _SECOND)
            return format((Decimal(instant) / _SECOND).normalize(), "f") if rest else str(whole)
        return self.moment(instant).isoformat().replace("+00:00", "Z")

    def literal(self, instant: Instant) -> Literal:
        """The instant as an RDF literal: a number, or an ``xsd:dateTime``."""
        text = self.format(instant)
        if self is Timeline.INTEGER:
            return valued(text, xsd.INTEGER, instant)
        if self is Timeline.SECONDS:
            return Literal(text, xsd.DECIMAL if "." in text else xsd.INTEGER)
        return Literal(text, xsd.DATE_TIME)

    def duration(self, text: str) -> int:
        """A length of the time line: a positive integer, or an ``xsd:dayTimeDuration``.

        Raises:
            TermError: not a length of this time line, or not above zero.
        """
        length = self.span(text)
        if length == 0:
            raise TermError(f"'{text}' is not a length of time: expected more than zero")
        return length

    def span(self, text: str) -> int:
        """A length of the time line that may be zero.

        Raises:
            TermError: not a length of this time line, or below zero.
        """
        if self is Timeline.INTEGER:
            if not _DIGITS.match(text):
                raise TermError(f"'{text}' is not a length of integer time: expected e.g. 10")
            length = int(text)
        else:
            length = parse_duration(text.strip()) // _MICROSECOND
        if length < 0:
            raise TermError(f"'{text}' is not a length of time: expected more than zero")
        return length

    def of_wall_time(self, seconds: float) -> int:
        """A length of wall time in units of the arrival time (:meth:`of`), rounded up."""
        units = 1 if self is Timeline.INTEGER else timedelta(seconds=1) // _MICROSECOND
        return math.ceil(seconds * units)


def seconds(number: Decimal) -> Instant:
    """The instant of a number of seconds. Digits left by binary arithmetic, as in
    0.30000000000000004, are rounded.

    Raises:
        TermError: it is finer than a microsecond, or not finite.
    """
    if not number.is_finite():
        raise TermError(f"{number} is no time")
    units = number * _SECOND
    whole = units.to_integral_value()
    if abs(units - whole) > _ROUNDINGS * Decimal(math.ulp(float(number))) * _SECOND:
        raise TermError(f"{number} is finer than a microsecond")
    return int(whole)


def parse_date_time(text: str) -> datetime:
    """An ``xsd:dateTime`` as an aware datetime; without a zone it is read as UTC. Digits beyond the
    microsecond are cut.

    Raises:
        TermError: not an ``xsd:dateTime``, or outside the years that Python has.
    """
    moment = parse(text, xsd.DATE_TIME)
    assert isinstance(moment, TimelineMoment)
    found = datetime_of(moment)
    if found is None:
        raise TermError(f"'{text}' is not an xsd:dateTime of the years 1 to 9999")
    return found


def _read(text: str, line: Timeline) -> Instant:
    if line is Timeline.DATETIME:
        return line.of(parse_date_time(text.strip()))
    if line is Timeline.SECONDS:
        try:
            return seconds(Decimal(text.strip()))
        except InvalidOperation:
            raise TermError(f"'{text}' is not a number of seconds") from None
    value = parse(text, xsd.INTEGER)
    assert isinstance(value, int)
    if not -(2**63) <= value < 2**63:
        raise TermError(f"'{text}' is not a time: outside 64 bits")
    return value
