"""Guesses of the datatype of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from sensorstream.model import xsd
from sensorstream.model.terms import Literal

# A number with leading zeros is a code, and no count has 19 digits.
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_DATE_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T\S+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_GUESSES: Final[tuple[tuple[str, Callable[[str], object]], ...]] = (
    (xsd.BOOLEAN, re.compile("true|false").fullmatch),
    (xsd.INTEGER, _INTEGER.fullmatch),
    (xsd.DECIMAL, _DECIMAL.fullmatch),
    (xsd.DATE_TIME, _DATE_TIME.fullmatch),
    (xsd.DATE, _DATE.fullmatch),
)


_PICTURE: Final = re.compile(
    r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
    r"(?P<hour>(?:[01][0-9]|2[0-3])[0-5][0-9](?P<second>[0-5][0-9])?)?(?P<zone>[+-][0-9]{4})?"
)


def pictures_of(values: Iterable[str]) -> tuple[str, ...]:
    """The formats of times in digits alone (20240501140500); empty if any value is no such time."""
    found = dict[str, None]()
    for value in values:
        match = _PICTURE.fullmatch(value)
        if match is None:
            return ()
        time = "" if not match["hour"] else "%H%M%S" if match["second"] else "%H%M"
        found[f"%Y%m%d{time}{'%z' if match['zone'] else ''}"] = None
    return tuple(sorted(found, key=len, reverse=True))


def range_of(values: Iterable[str]) -> str:
    """The first datatype that suits all values; ``xsd:string`` where none does, or no value is."""
    held = list(values)
    if held:
        for datatype, looks_right in _GUESSES:
            if all(looks_right(v) and Literal(v, datatype).known is not None for v in held):
                return datatype
    return xsd.STRING
