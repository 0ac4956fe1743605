"""Arithmetic and the functions of numbers (SPARQL 1.1, sections 17.3 and 17.4.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.history.sparql.fragments import constant, sql
from sensorstream.history.sparql.frames import Frame
from sensorstream.history.sparql.lexical import as_double, rounded
from sensorstream.history.sparql.values import Number, Value

_EXACT: Final = {"+": ":a + :b", "-": ":a - :b", "*": ":a * :b"}
_DIGITS: Final = 28
"""Decimal places of a quotient."""


def arithmetic(operator: str, left: Value, right: Value, frame: Frame) -> Value:
    """``left operator right``: exact for integers and decimals, IEEE 754 for the others."""
    a, b = left.number, right.number
    rank = _common(left, right)
    if operator == "/":
        return _quotient(a, b, rank, frame)
    exact = sql(_EXACT[operator], a=a, b=b)
    doubles = sql(
        # Where the exact result is far from the limits, so is every step of the other.
        "CASE WHEN :exact = 0 OR ABS(:exact) BETWEEN CAST('1e-300' AS DECIMAL) "
        "AND CAST('1e308' AS DECIMAL) THEN CAST(CAST(:fast AS TEXT) AS DECIMAL) ELSE :slow END",
        exact=exact,
        fast=sql(_EXACT[operator], a=as_double(a), b=as_double(b)),
        slow=rounded(exact),
    )
    return Number(
        sql(
            "CASE WHEN :rank >= 2 THEN :doubles ELSE :exact END",
            rank=rank,
            doubles=doubles,
            exact=exact,
        ),
        rank,
    )


def negative(value: Value) -> Value:
    """``- value``."""
    return Number(sql("-:number", number=value.number), value.rank)


def positive(value: Value) -> Value:
    """``+ value``."""
    return Number(value.number, value.rank)


def quotient(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """The quotient of two exact numbers; null for a division by zero."""
    return sql(
        "CASE WHEN :b <> 0 THEN TRIM_SCALE(ROUND(ROUND(:a, :more) / :b, :digits)) END",
        a=a,
        b=b,
        digits=_DIGITS,
        more=_DIGITS + 8,
    )


def double_quotient(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """The quotient of two numbers as doubles (IEEE 754)."""
    return sql(
        "CASE WHEN :b = 0 THEN CASE WHEN :a > 0 AND :a <> CAST('NaN' AS DECIMAL) "
        "THEN CAST('Infinity' AS DECIMAL) WHEN :a < 0 THEN CAST('-Infinity' AS DECIMAL) "
        "ELSE CAST('NaN' AS DECIMAL) END "
        "WHEN ABS(:a) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "AND ABS(:b) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "THEN CAST(CAST(CAST(:a AS DOUBLE PRECISION) / CAST(:b AS DOUBLE PRECISION) AS TEXT) "
        "AS DECIMAL) WHEN ABS(:b) = CAST('Infinity' AS DECIMAL) THEN "
        "CASE WHEN ABS(:a) < CAST('Infinity' AS DECIMAL) THEN 0 ELSE CAST('NaN' AS DECIMAL) END "
        "ELSE :slow END",
        a=a,
        b=b,
        slow=rounded(sql("ROUND(:a, 400) / :b", a=a, b=b)),
    )


def _quotient(a: exp.Expr, b: exp.Expr, rank: exp.Expr, frame: Frame) -> Value:
    return Number(
        sql(
            "CASE WHEN :rank >= 2 THEN :doubles ELSE :exact END",
            rank=rank,
            doubles=double_quotient(a, b),
            exact=quotient(a, b),
        ),
        sql("GREATEST(:rank, 1)", rank=rank),
    )


def _common(left: Value, right: Value) -> exp.Expr:
    return sql("GREATEST(:a, :b)", a=left.rank, b=right.rank)


def _rounding(text: str) -> Callable[[Value, Frame], Value]:
    def function(value: Value, frame: Frame) -> Value:
        value = frame.light(value)
        special = "ABS(:number) < CAST('Infinity' AS DECIMAL)"
        return Number(
            sql(f"CASE WHEN {special} THEN {text} ELSE :number END", number=value.number),
            value.rank,
        )

    return function


def random() -> Value:
    """RAND."""
    return Number(sql("CAST(CAST(RANDOM() AS TEXT) AS DECIMAL)"), constant(3))


FUNCTIONS: Final[Mapping[str, Callable[[Value, Frame], Value]]] = {
    "ABS": _rounding("ABS(:number)"),
    # Half goes up, also below zero (XPath and XQuery Functions 3.1, section 4.4.4).
    "ROUND": _rounding("FLOOR(:number + 0.5)"),
    "CEIL": _rounding("CEIL(:number)"),
    "FLOOR": _rounding("FLOOR(:number)"),
}
