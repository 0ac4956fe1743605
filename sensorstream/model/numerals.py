"""Numbers as canonical texts (XML Schema 1.1 part 2, sections 3.3.3 and 3.3.5)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Final

_SINGLE: Final = struct.Struct("f")
_MOST_DIGITS: Final = 9
"""A float is known by so many significant digits."""
_WHOLE: Final = 1 << 24
"""All whole numbers up to here are floats."""


def decimal_text(value: Decimal) -> str:
    """The canonical form of an xsd:decimal, without an exponent."""
    text = str(value)
    if "E" in text:
        text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def nearest_single(value: float) -> float:
    """The xsd:float next to a number: exactly, so 0.1 is 0.10000000149011612."""
    try:
        found: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return found


def single(value: float) -> float:
    """A number rounded to an xsd:float, as the shortest decimal that reads back as it: 0.1."""
    if value.is_integer() and -_WHOLE <= value <= _WHOLE:
        return value
    nearest = nearest_single(value)
    if not math.isfinite(nearest):
        return nearest
    for digits in range(_MOST_DIGITS):
        found = float(f"{nearest:.{digits}e}")
        if nearest_single(found) == nearest:
            return found
    return nearest


def double_text(value: float) -> str:
    """The canonical form of an xsd:double: ``1.5E0``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    # repr() gives the fewest digits that read back as the same number.
    digits, _, exponent = repr(value).partition("e")
    sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
    whole, _, fraction = digits.partition(".")
    power = len(whole) - 1
    significant = whole + fraction
    if whole == "0":
        significant = significant.lstrip("0")
        if not significant:
            return f"{sign}0.0E0"
        power = len(significant) - len(fraction) - 1
    if exponent:
        power += int(exponent)
    return f"{sign}{significant[0]}.{significant[1:].rstrip('0') or '0'}E{power}"
