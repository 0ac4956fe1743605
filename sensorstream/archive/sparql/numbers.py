"""Exact numbers in DuckDB, which knows decimals of 38 digits only.

A number is the list of doubles that :func:`.doubles` describes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
    InvalidOperation,
)
from typing import Any, Final

from sensorstream.model.numerals import EXACT, doubles
from sensorstream.model.terms import Literal
from sensorstream.sparql.values import number as literal_value

_QUOTIENT_DIGITS: Final = 36


def number(found: list[float]) -> Decimal:
    """The number of a list."""
    total = Decimal(repr(found[0]))
    for each in found[1:]:
        total = EXACT.add(total, Decimal(repr(each)))
    return total


def number_of_text(text: str | None) -> list[float] | None:
    """The number of a lexical form; null if it is none."""
    try:
        return None if text is None else doubles(Decimal(text))
    except InvalidOperation:
        return None


def plain_text(found: list[float]) -> str:
    """Without an exponent, and without zeros at the end: ``7``, ``7.5``."""
    value = number(found)
    if not value.is_finite():
        return {"NaN": "NaN", "Infinity": "Infinity"}.get(str(value), "-Infinity")
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text


def scientific_text(found: list[float]) -> str:
    """With 16 digits after the point and an exponent."""
    return f"{number(found):.16e}"


def add(one: list[float], other: list[float]) -> list[float]:
    """The sum."""
    return doubles(EXACT.add(number(one), number(other)))


def subtract(one: list[float], other: list[float]) -> list[float]:
    """The difference."""
    return doubles(EXACT.subtract(number(one), number(other)))


def multiply(one: list[float], other: list[float]) -> list[float]:
    """The product."""
    return doubles(EXACT.multiply(number(one), number(other)))


def divide(one: list[float], other: list[float]) -> list[float]:
    """The quotient: at least 36 digits after the point, and at least 36 in all."""
    dividend, divisor = number(one), number(other)
    digits = max(0, dividend.adjusted() - divisor.adjusted()) + 2 * _QUOTIENT_DIGITS
    context = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
    return doubles(context.divide(dividend, divisor))


def rounded(found: list[float], digits: int) -> list[float]:
    """Rounded to digits after the point, half away from zero."""
    return _quantized(found, -digits, ROUND_HALF_UP)


def floor(found: list[float]) -> list[float]:
    """The largest whole number that is not greater."""
    return _quantized(found, 0, ROUND_FLOOR)


def ceiling(found: list[float]) -> list[float]:
    """The smallest whole number that is not less."""
    return _quantized(found, 0, ROUND_CEILING)


def truncated(found: list[float]) -> list[float]:
    """Without the digits after the point."""
    return _quantized(found, 0, ROUND_DOWN)


def _quantized(found: list[float], exponent: int, rounding: str) -> list[float]:
    value = number(found)
    if not value.is_finite():
        return found
    return doubles(value.quantize(Decimal(1).scaleb(exponent), rounding, EXACT))


def total(millionths: int | None, others: list[list[float]] | None) -> list[float] | None:
    """The sum of many; null of none."""
    if millionths is None and others is None:
        return None
    found = EXACT.scaleb(Decimal(millionths or 0), -6)
    for each in others or ():
        found = EXACT.add(found, number(each))
    return doubles(found)


def literal_number(text: str | None, datatype: str | None) -> list[float] | None:
    """The number of a literal; null if it is not valid, or the datatype not numeric."""
    if text is None or datatype is None:
        return None
    found = literal_value(Literal(text, datatype))
    return None if found is None else _converted(found)


def _converted(value: int | Decimal | float) -> list[float]:
    return doubles(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))


NUMBER: Final = "DOUBLE[]"
FUNCTIONS: Final[tuple[tuple[str, Callable[..., Any], list[Any], str], ...]] = (
    ("number_plain", plain_text, [NUMBER], "VARCHAR"),
    ("number_scientific", scientific_text, [NUMBER], "VARCHAR"),
    ("number_add", add, [NUMBER, NUMBER], NUMBER),
    ("number_subtract", subtract, [NUMBER, NUMBER], NUMBER),
    ("number_multiply", multiply, [NUMBER, NUMBER], NUMBER),
    ("number_divide", divide, [NUMBER, NUMBER], NUMBER),
    ("number_round", rounded, [NUMBER, "INTEGER"], NUMBER),
    ("number_floor", floor, [NUMBER], NUMBER),
    ("number_ceiling", ceiling, [NUMBER], NUMBER),
    ("number_truncate", truncated, [NUMBER], NUMBER),
)
"""Name, function, types of arguments, type of the result; null of null."""
NULLABLE: Final[tuple[tuple[str, Callable[..., Any], list[Any], str], ...]] = (
    ("number_of_long_text", number_of_text, ["VARCHAR"], NUMBER),
    ("number_of_literal", literal_number, ["VARCHAR", "VARCHAR"], NUMBER),
    ("number_total", total, ["HUGEINT", "DOUBLE[][]"], NUMBER),
)
"""Those that see nulls themselves."""
MACROS: Final = """
-- A function of one element: DuckDB puts an argument of a macro into each of its places.
create macro number_of_double(d) as list_transform([d], lambda x: case when x is null then null
    when x = 0 then [0::double] when isfinite(x) then [x, 0::double] else [x] end)[1];
-- A decimal of at most 15 digits is the shortest one that reads back as its double.
create macro number_of_text(t) as list_transform([t], lambda x: case when length(x) <= 15
    then number_of_double(try_cast(x as double)) else number_of_long_text(x) end)[1];
-- Such a number in millionths; null for one that has more digits.
create macro millionths(n) as list_transform([n], lambda x: case when len(x) <= 2
    and abs(x[1]) < 5e8 and round(x[1] * 1e6) / 1e6 = x[1]
    then round(x[1] * 1e6)::bigint end)[1];
create macro number_negate(n) as list_transform(n, lambda x: 0 - x);
create macro number_abs(n) as
    list_transform([n], lambda x: case when x[1] < 0 then number_negate(x) else x end)[1];
create macro number_sign(n) as number_of_double(sign(n[1])::double);
"""
