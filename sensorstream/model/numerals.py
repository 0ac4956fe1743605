"""Numbers as canonical texts (XML Schema 1.1 part 2, sections 3.3.3 and 3.3.5)."""

from __future__ import annotations

import math
import struct
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache, partial
from typing import Final

EXACT: Final = Context(prec=2000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""More digits than a sum or a product of two numbers within the range of doubles can have."""
_of_digits: Final = lru_cache(256)(
    partial(Context, rounding=ROUND_HALF_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)
)
_PLACES: Final = 28
_LAST_PLACE: Final = Decimal(1).scaleb(-_PLACES)
_OFFSET: Final = 500_000
_NINES: Final = str.maketrans("0123456789", "9876543210")
_SPECIAL: Final = {"NaN": "5", "Infinity": "4", "-Infinity": "0"}
_SINGLE: Final = struct.Struct("f")
_MOST_DIGITS: Final = 9
"""A float is known by so many significant digits."""
_WHOLE: Final = 1 << 24
"""All whole numbers up to here are floats."""


def quotient(dividend: Decimal, divisor: Decimal) -> Decimal:
    """The quotient of two decimals, with 28 digits after the point; half away from zero.

    Raises:
        ArithmeticError: the divisor is zero.
    """
    ahead = dividend.adjusted() - divisor.adjusted()
    if ahead >= 0:
        # The quotient has as many digits before the point, or one less.
        found = _of_digits(ahead + 1 + _PLACES).divide(dividend, divisor)
        whole = found.adjusted() == ahead
        return found if whole else _of_digits(ahead + _PLACES).divide(dividend, divisor)
    context = _of_digits(3 * _PLACES)
    found = context.divide(dividend, divisor)
    rounded = context.quantize(found, _LAST_PLACE)
    return found if rounded == found else rounded


def decimal_text(value: Decimal) -> str:
    """The canonical form of an xsd:decimal, without an exponent."""
    text = str(value)
    if "E" in text:
        text = format(value, "f")
    if text[-1] == "0" and "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def sortable(number: Decimal) -> str:
    """A text whose place among such texts is that of the number; equal numbers have equal texts.

    ``0`` is minus infinity, ``2`` zero, ``4`` infinity, ``5`` NaN. A number above zero is ``3``,
    six digits of its exponent and its digits without zeros at the end: 0.d₁d₂… x 10^exponent,
    the exponent counted from -500000. A number below zero is ``1``, the same with each digit
    taken from nine, and ``:``, which is after all digits.
    """
    if not number.is_finite():
        return _SPECIAL[str(number) if not number.is_nan() else "NaN"]
    text = str(number).partition("E")[0].replace(".", "").strip("-0")
    if not text:
        return "2"
    written = f"{number.adjusted() + 1 + _OFFSET:06}{text}"
    return f"1{written.translate(_NINES)}:" if number < 0 else f"3{written}"


def doubles(number: Decimal) -> list[float]:
    """A list of doubles whose place among such lists is that of the number.

    The first is the double nearest to it; the next is the double nearest to the rest after the
    shortest decimal that reads back as the first; and so on, until the rest is zero, which ends the
    list. Seven is ``[7, 0]``, zero is ``[0]``; NaN and the infinities stand alone. Since rounding
    keeps the order, the order of lists is that of the numbers.

    Raises:
        ArithmeticError: it, or a rest of it, is beyond the range of doubles.
    """
    if not number.is_finite():
        return [float(number)]
    found = []
    while number:
        nearest = float(number)
        if nearest == 0 or math.isinf(nearest):
            raise ArithmeticError(
                "a number is beyond the range of doubles: ask PostgreSQL, with --on history"
            )
        found.append(nearest)
        number = EXACT.subtract(number, Decimal(repr(nearest)))
    return [*found, 0.0]


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
