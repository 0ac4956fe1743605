"""PostgreSQL's arithmetic with numerics that Spark's decimals do otherwise, as functions for Spark.

Source: ``select_div_scale`` and ``float8_numeric`` of PostgreSQL 18's ``numeric.c``.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Final

from sensorstream.sql.postgres.sql_scope import QUOTIENT_SCALE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONTEXT: Final = Context(prec=200, rounding=ROUND_HALF_UP)
_DIGITS: Final = 38
# A quotient has at least this many significant digits, in groups of four.
_SIGNIFICANT: Final = 16
_GROUP: Final = 4


def divide(dividend: Decimal | None, divisor: Decimal | None) -> Decimal | None:
    """The quotient, with as many digits as PostgreSQL gives it.

    Raises:
        ZeroDivisionError: the divisor is 0.
        OverflowError: it has more digits than Spark's decimals hold.
    """
    if dividend is None or divisor is None:
        return None
    if not divisor:
        raise ZeroDivisionError("division by zero")
    weight, first = _leading(dividend)
    divisor_weight, divisor_first = _leading(divisor)
    weight -= divisor_weight + (1 if first <= divisor_first else 0)
    scale = max(_SIGNIFICANT - weight * _GROUP, _scale(dividend), _scale(divisor), 0)
    exact = _CONTEXT.divide(dividend, divisor)
    return fitting(exact.quantize(Decimal(1).scaleb(-scale), context=_CONTEXT))


def numeric(value: float | None) -> Decimal | None:
    """A double as a numeric: its first 15 digits; raises OverflowError if it is not finite or has
    more digits than Spark's decimals hold.
    """
    return None if value is None else fitting(_fifteen(value))


def rounded(value: float | None, digits: int) -> Decimal | None:
    """A double as a numeric that is rounded to ``digits`` after the point."""
    if value is None:
        return None
    return fitting(_fifteen(value).quantize(Decimal(1).scaleb(-digits), context=_CONTEXT))


def fitting(value: Decimal) -> Decimal:
    """The value, if Spark's type for quotients holds all of its digits."""
    kept = value.quantize(Decimal(1).scaleb(-QUOTIENT_SCALE), context=_CONTEXT)
    if kept != value or len(kept.as_tuple().digits) > _DIGITS:
        raise OverflowError(
            f"the numeric {value:.6} has more digits than Spark keeps: cast to double precision"
        )
    return kept


def _fifteen(value: float) -> Decimal:
    if not math.isfinite(value):
        raise OverflowError(f"Spark has no numeric {value}: leave it a double precision")
    return Decimal(f"{value:.15g}")


def _leading(value: Decimal) -> tuple[int, int]:
    """The first group of four digits: its place before the point, and its value."""
    if not value:
        return 0, 0
    weight = value.adjusted() // _GROUP
    return weight, int(abs(value).scaleb(-weight * _GROUP, context=_CONTEXT))


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def register(spark: SparkSession) -> None:
    """Make the functions known to a session under the names that the translation writes."""
    from pyspark.sql.functions import udf

    kept = f"decimal({_DIGITS}, {QUOTIENT_SCALE})"
    spark.udf.register("sensorstream_divide", udf(divide, kept, useArrow=True))
    spark.udf.register("sensorstream_numeric", udf(numeric, kept, useArrow=True))
    spark.udf.register("sensorstream_rounded", udf(rounded, kept, useArrow=True))
