"""Functions of times; the session's zone is UTC in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation.coercion import widened
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.spans import interval
from sensorstream.spark.translation.types import (
    DATE,
    LOCAL,
    MOMENT,
    TIMES,
    Kind,
    SqlType,
    Typed,
    call,
    spark,
)

Rule = Callable[[exp.Expr, Scope], Typed]

_UNITS: Final = frozenset(
    {"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter",
     "year"}
)  # fmt: skip
# Spark's week days begin with 1 for Sunday, or with 0 for Monday.
_FIELDS: Final[Mapping[str, tuple[str, int]]] = {
    "YEAR": ("CAST(YEAR(:x) AS DECIMAL(10, 0))", 0),
    "ISOYEAR": ("CAST(EXTRACT(YEAROFWEEK FROM :x) AS DECIMAL(10, 0))", 0),
    "QUARTER": ("CAST(QUARTER(:x) AS DECIMAL(10, 0))", 0),
    "MONTH": ("CAST(MONTH(:x) AS DECIMAL(10, 0))", 0),
    "WEEK": ("CAST(WEEKOFYEAR(:x) AS DECIMAL(10, 0))", 0),
    "DAY": ("CAST(DAY(:x) AS DECIMAL(10, 0))", 0),
    "DOY": ("CAST(DAYOFYEAR(:x) AS DECIMAL(10, 0))", 0),
    "DOW": ("CAST(DAYOFWEEK(:x) - 1 AS DECIMAL(10, 0))", 0),
    "ISODOW": ("CAST(WEEKDAY(:x) + 1 AS DECIMAL(10, 0))", 0),
    "HOUR": ("CAST(HOUR(:x) AS DECIMAL(10, 0))", 0),
    "MINUTE": ("CAST(MINUTE(:x) AS DECIMAL(10, 0))", 0),
    "SECOND": ("CAST(EXTRACT(SECOND FROM :x) AS DECIMAL(8, 6))", 6),
    "EPOCH": (
        "CAST(UNIX_MICROS(CAST(:x AS TIMESTAMP)) AS DECIMAL(20, 0)) "
        "* CAST('0.000001' AS DECIMAL(7, 6))",
        6,
    ),
}
_OF_DATES: Final = frozenset(
    {"YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW"}
)


def _extract(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    field = node.this.name.upper()
    value = scope.value(node.expression)
    if value.kind is Kind.SPAN and field == "EPOCH":
        return spark(
            "CAST(CAST(:x AS INTERVAL SECOND) AS DECIMAL(18, 6))",
            SqlType(Kind.NUMERIC, 6),
            x=value.tree,
        )
    allowed = _OF_DATES if value.kind is Kind.DATE else _FIELDS.keys()
    if value.kind not in TIMES or field not in allowed:
        raise refused(node, f"{field.lower()} of {value.kind.value} is not on the list")
    template, scale = _FIELDS[field]
    return spark(template, SqlType(Kind.NUMERIC, scale), x=value.tree)


def _truncated(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "unit")
    unit = node.args["unit"]
    name = unit.name.lower()
    if not isinstance(unit, exp.Literal | exp.Var) or name not in _UNITS:
        raise refused(node, f"the unit is one of {', '.join(sorted(_UNITS))}, as a literal")
    value = scope.value(node.this)
    if value.kind not in TIMES:
        raise refused(node, f"expected a time, not {value.kind.value}")
    spark_unit = {"microseconds": "microsecond", "milliseconds": "millisecond"}.get(name, name)
    moment = widened(value, Kind.MOMENT)
    cut = call("DATE_TRUNC", MOMENT, exp.Literal.string(spark_unit), moment.tree)
    if value.kind is Kind.LOCAL:
        return spark("CAST(:x AS TIMESTAMP_NTZ)", LOCAL, x=cut.tree)
    return cut


def _zoned(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "zone")
    value = scope.value(node.this)
    zone = node.args["zone"]
    if not (isinstance(zone, exp.Literal) and zone.name.upper() == "UTC"):
        raise refused(node, "the only zone on the list is 'UTC'")
    if value.kind is Kind.MOMENT:
        return spark("CAST(:x AS TIMESTAMP_NTZ)", LOCAL, x=value.tree)
    if value.kind is Kind.LOCAL:
        return spark("CAST(:x AS TIMESTAMP)", MOMENT, x=value.tree)
    raise refused(node, f"expected a timestamp, not {value.kind.value}")


def _now(node: exp.Expr, _: Scope) -> Typed:
    only(node)
    return spark("CURRENT_TIMESTAMP()", MOMENT)


def _today(node: exp.Expr, _: Scope) -> Typed:
    only(node)
    return spark("CURRENT_DATE()", DATE)


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.AtTimeZone: _zoned,
    exp.Interval: lambda node, _: interval(node),
    exp.CurrentTimestamp: _now,
    exp.CurrentDate: _today,
}
