"""The value functions over times and durations, as rules call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sensorstream.language.syntax import Argument, Call
from sensorstream.mapping.functions import dates, durations
from sensorstream.mapping.functions.definition import (
    Definition,
    Function,
    Library,
    Parameter,
    ValueKind,
)
from sensorstream.mapping.functions.lift import READS_NUMBERS, any_of, on_each

_TIME: Final = any_of(('"', *dates.FORMAT_WORDS))
_LENGTH: Final = any_of(durations.FORMATS)
_FORMAT: Final = Parameter("format", "text", between="or", words=frozenset(dates.FORMAT_WORDS))


def _date(call: Call, _: Library) -> Function:
    given = list(call.arguments)
    zone = given.pop() if len(given) > 1 and given[-2].text == "in" else None
    if zone is not None:
        given.pop()
    return on_each(call, READS_NUMBERS, ValueKind.TIME, dates.moment(_formats(given), zone))


def _day(call: Call, _: Library) -> Function:
    return on_each(call, READS_NUMBERS, ValueKind.DAY, dates.day(_formats(call.arguments)))


def _duration(call: Call, _: Library) -> Function:
    formats = [each.text for each in _formats(call.arguments)]
    return on_each(
        call,
        READS_NUMBERS | {ValueKind.DURATION},
        ValueKind.DURATION,
        durations.duration(formats),
    )


def _seconds(call: Call, _: Library) -> Function:
    takes = (ValueKind.ANY, ValueKind.DURATION)
    return on_each(call, takes, ValueKind.NUMBER, durations.in_seconds)


def _formats(given: Sequence[Argument]) -> Sequence[Argument]:
    return given[::2]


TIME_CALLS: Final = (
    Definition(
        "date",
        'date FORMAT or FORMAT … in "ZONE" or in value, where FORMAT is "%d.%m.%Y" or one of '
        f"{', '.join(dates.FORMAT_WORDS)}",
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
    Definition(
        "duration",
        f"duration FORMAT or FORMAT …, where FORMAT is one of {', '.join(durations.FORMATS)}",
        "an xsd:duration in its shortest form",
        f"{_LENGTH}(?: or {_LENGTH})*",
        (Parameter("format", "word", between="or"),),
        _duration,
    ),
    Definition("seconds", "seconds", "the seconds of a duration, as a number", "", (), _seconds),
)
