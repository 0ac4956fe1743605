"""Arithmetic (SPARQL 1.1, section 17.3)."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from sensorstream.sql.fragments import sql
from sensorstream.sql.sparql.lexical import as_double, rounded, single
from sensorstream.sql.sparql.relations import Frame
from sensorstream.sql.sparql.values import Number, Value

_EXACT: Final = {"+": ":a + :b", "-": ":a - :b", "*": ":a * :b"}
# The quotient of two floats is a double in Spark.
_FAST: Final = {**_EXACT, "/": "CAST(:a / :b AS REAL)"}
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
            "CASE :rank WHEN 2 THEN :singles WHEN 3 THEN :doubles ELSE :exact END",
            rank=rank,
            singles=_singles(operator, a, b, exact, single(exact)),
            doubles=doubles,
            exact=exact,
        ),
        rank,
    )


def _singles(operator: str, a: exp.Expr, b: exp.Expr, result: exp.Expr, slow: exp.Expr) -> exp.Expr:
    """The result on xsd:float; ``slow`` where an operand or the result is near its limits."""
    fits = "(:n = 0 OR ABS(:n) BETWEEN CAST('1e-36' AS DECIMAL) AND CAST('3e38' AS DECIMAL))"
    fast = sql(_FAST[operator], a=exp.cast(a, "REAL"), b=exp.cast(b, "REAL"))
    return sql(
        "CASE WHEN :of_a AND :of_b AND :of_result THEN CAST(CAST(:fast AS TEXT) AS DECIMAL) "
        "ELSE :slow END",
        of_a=sql(fits, n=a),
        of_b=sql(":b <> 0 AND :fits", b=b, fits=sql(fits, n=b)),
        of_result=sql(fits, n=result),
        fast=fast,
        slow=slow,
    )


def negative(value: Value) -> Value:
    """``- value``."""
    return Number(of_type(sql("-:number", number=value.number), value.rank), value.rank)


def positive(value: Value) -> Value:
    """``+ value``."""
    return Number(of_type(value.number, value.rank), value.rank)


def of_type(number: exp.Expr, rank: exp.Expr) -> exp.Expr:
    """A number as one of its type: a float has 24 bits."""
    return sql(
        "CASE :rank WHEN 2 THEN :single ELSE :number END",
        rank=rank,
        single=single(number),
        number=number,
    )


def quotient(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    """The quotient of two exact numbers; null for a division by zero."""
    return sql(
        "CASE WHEN :b <> 0 THEN TRIM_SCALE(ROUND(QUOTIENT(:a, :b, :more), :digits)) END",
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
        # Null where the dividend is no number.
        "ELSE :a + CAST('NaN' AS DECIMAL) END "
        "WHEN ABS(:a) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "AND ABS(:b) BETWEEN CAST('1e-100' AS DECIMAL) AND CAST('1e100' AS DECIMAL) "
        "THEN CAST(CAST(CAST(:a AS DOUBLE PRECISION) / CAST(:b AS DOUBLE PRECISION) AS TEXT) "
        "AS DECIMAL) WHEN ABS(:b) = CAST('Infinity' AS DECIMAL) THEN "
        "CASE WHEN ABS(:a) < CAST('Infinity' AS DECIMAL) THEN 0 ELSE CAST('NaN' AS DECIMAL) END "
        "ELSE :slow END",
        a=a,
        b=b,
        slow=rounded(sql("QUOTIENT(:a, :b, 400)", a=a, b=b)),
    )


def _quotient(a: exp.Expr, b: exp.Expr, rank: exp.Expr, frame: Frame) -> Value:
    doubles = frame.computed(double_quotient(a, b))
    return Number(
        sql(
            "CASE :rank WHEN 2 THEN :singles WHEN 3 THEN :doubles ELSE :exact END",
            rank=rank,
            singles=_singles("/", a, b, doubles, single(doubles)),
            doubles=doubles,
            exact=quotient(a, b),
        ),
        sql("GREATEST(:rank, 1)", rank=rank),
    )


def _common(left: Value, right: Value) -> exp.Expr:
    return sql("GREATEST(:a, :b)", a=left.rank, b=right.rank)
