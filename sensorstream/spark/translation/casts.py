"""Casts that give the same value in PostgreSQL and on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.spans import span
from sensorstream.spark.translation.types import (
    NUMERIC,
    QUOTIENT_SCALE,
    TEXT,
    Kind,
    SqlType,
    Typed,
    spark,
)

_TARGETS: Final[Mapping[exp.DType, Kind]] = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.INT: Kind.INTEGER,
    exp.DType.BIGINT: Kind.BIGINT,
    exp.DType.DECIMAL: Kind.NUMERIC,
    exp.DType.DOUBLE: Kind.DOUBLE,
    exp.DType.TEXT: Kind.TEXT,
    exp.DType.VARCHAR: Kind.TEXT,
    exp.DType.TIMESTAMPTZ: Kind.MOMENT,
    exp.DType.TIMESTAMP: Kind.LOCAL,
    exp.DType.DATE: Kind.DATE,
    exp.DType.VARBINARY: Kind.BYTES,
    exp.DType.INTERVAL: Kind.SPAN,
}

_WHOLE_TEXT: Final = r"^[ \\t\\n\\x0B\\f\\r]*[+-]?[0-9]+[ \\t\\n\\x0B\\f\\r]*\\z"
_DOUBLE_TEXT: Final = (
    r"^[ \\t\\n\\x0B\\f\\r]*[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity)|"
    r"(?i:nan))[ \\t\\n\\x0B\\f\\r]*\\z"
)
_NO_INTEGER: Final = "invalid input syntax for a whole number"
_NO_DOUBLE: Final = "invalid input syntax for type double precision"


def _whole(name: str) -> str:
    return (
        f"CASE WHEN :x RLIKE '{_WHOLE_TEXT}' THEN CAST(:x AS {name}) "
        f"WHEN :x IS NOT NULL THEN RAISE_ERROR('{_NO_INTEGER}') END"
    )


# Each is proven by the texts of tests/spark/corpus. PostgreSQL rounds where Spark cuts off; Java
# reads "1d" as a number.
_CASTS: Final[Mapping[tuple[Kind, Kind], str]] = {
    (Kind.BOOLEAN, Kind.INTEGER): "CAST(:x AS INT)",
    (Kind.BOOLEAN, Kind.TEXT): "CAST(:x AS STRING)",
    (Kind.INTEGER, Kind.BOOLEAN): "CAST(:x AS BOOLEAN)",
    (Kind.INTEGER, Kind.BIGINT): "CAST(:x AS BIGINT)",
    (Kind.INTEGER, Kind.DOUBLE): "CAST(:x AS DOUBLE)",
    (Kind.INTEGER, Kind.NUMERIC): "CAST(:x AS DECIMAL(10, 0))",
    (Kind.INTEGER, Kind.TEXT): "CAST(:x AS STRING)",
    (Kind.BIGINT, Kind.INTEGER): "CAST(:x AS INT)",
    (Kind.BIGINT, Kind.DOUBLE): "CAST(:x AS DOUBLE)",
    (Kind.BIGINT, Kind.NUMERIC): "CAST(:x AS DECIMAL(19, 0))",
    (Kind.BIGINT, Kind.TEXT): "CAST(:x AS STRING)",
    (Kind.NUMERIC, Kind.INTEGER): "CAST(ROUND(:x, 0) AS INT)",
    (Kind.NUMERIC, Kind.BIGINT): "CAST(ROUND(:x, 0) AS BIGINT)",
    (Kind.NUMERIC, Kind.DOUBLE): "CAST(:x AS DOUBLE)",
    (Kind.DOUBLE, Kind.INTEGER): "CAST(RINT(:x) AS INT)",
    (Kind.DOUBLE, Kind.BIGINT): "CAST(RINT(:x) AS BIGINT)",
    (Kind.TEXT, Kind.INTEGER): _whole("INT"),
    (Kind.TEXT, Kind.BIGINT): _whole("BIGINT"),
    (Kind.TEXT, Kind.DOUBLE): (
        f"CASE WHEN NOT (:x RLIKE '{_DOUBLE_TEXT}') THEN RAISE_ERROR('{_NO_DOUBLE}') "
        "WHEN ABS(CAST(:x AS DOUBLE)) = DOUBLE('Infinity') AND NOT (LOWER(:x) LIKE '%inf%') "
        "THEN RAISE_ERROR('out of range for type double precision') "
        "ELSE CAST(:x AS DOUBLE) END"
    ),
    (Kind.DATE, Kind.TEXT): "CAST(:x AS STRING)",
    (Kind.DATE, Kind.MOMENT): "CAST(:x AS TIMESTAMP)",
    (Kind.DATE, Kind.LOCAL): "CAST(:x AS TIMESTAMP_NTZ)",
    (Kind.LOCAL, Kind.TEXT): "CAST(:x AS STRING)",
    (Kind.LOCAL, Kind.DATE): "CAST(:x AS DATE)",
    (Kind.LOCAL, Kind.MOMENT): "CAST(:x AS TIMESTAMP)",
    (Kind.MOMENT, Kind.TEXT): "CAST(:x AS STRING) || '+00'",
    (Kind.MOMENT, Kind.DATE): "CAST(:x AS DATE)",
    (Kind.MOMENT, Kind.LOCAL): "CAST(:x AS TIMESTAMP_NTZ)",
}
_WAYS: Final[Mapping[tuple[Kind, Kind], str]] = {
    (
        Kind.TEXT,
        Kind.NUMERIC,
    ): "Spark's numerics have a fixed number of digits; cast to double precision",
    (Kind.TEXT, Kind.MOMENT): "PostgreSQL reads times in many ways; use a column that is a time",
    (Kind.TEXT, Kind.DATE): "PostgreSQL reads times in many ways; use a column that is a time",
    (Kind.TEXT, Kind.BOOLEAN): "compare with the texts you mean",
    (Kind.DOUBLE, Kind.TEXT): "Spark writes other digits; leave it a number",
    (Kind.NUMERIC, Kind.TEXT): "Spark writes other zeros; leave it a number",
}


def cast(node: exp.Expr, scope: Scope) -> Typed:
    """``CAST(x AS type)``, ``x::type``, and a constant as ``type 'text'``."""
    only(node, "this", "to")
    target: exp.DataType = node.args["to"]
    kind = _TARGETS.get(target.this)
    if kind is None:
        raise refused(node, f"the type {target.sql('postgres')} is not on the list")
    if kind is Kind.SPAN:
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            return span(node.this.name, node)
        raise refused(node, "an interval is a literal here: interval '1 hour'")
    value = scope.value(node.this)
    if target.expressions and kind is not Kind.NUMERIC:
        raise refused(node, "a type with a length is not on the list; write it without")
    if value.kind is Kind.UNKNOWN:
        value = constants.settle(value, kind, node)
    return converted(value, kind, node, [int(each.name) for each in target.expressions])


def converted(value: Typed, kind: Kind, node: exp.Expr, digits: list[int] | None = None) -> Typed:
    """A value as another type.

    Raises:
        QueryError: the cast is not on the list.
    """
    if digits:
        return _fixed(value, digits, node)
    if value.kind is kind:
        return value
    if (value.kind, kind) == (Kind.DOUBLE, Kind.NUMERIC):
        type_ = SqlType(Kind.NUMERIC, QUOTIENT_SCALE, loose=True)
        return spark("SENSORSTREAM_NUMERIC(:x)", type_, x=value.tree)
    template = _CASTS.get((value.kind, kind))
    if template is None:
        way = _WAYS.get((value.kind, kind), "this cast is not on the list")
        raise refused(node, f"{value.kind.value} to {kind.value}: {way}")
    return spark(template, NUMERIC if kind is Kind.NUMERIC else SqlType(kind), x=value.tree)


def as_text(value: Typed, node: exp.Expr) -> Typed:
    """A value as PostgreSQL writes it; raises :class:`QueryError` where Spark writes otherwise."""
    if value.kind is Kind.BOOLEAN:
        return spark("CAST(:x AS STRING)", TEXT, x=value.tree)
    return converted(value, Kind.TEXT, node)


def rounded(value: Typed, digits: int) -> Typed:
    """A double precision as a numeric with so many digits after the point."""
    return spark(
        f"SENSORSTREAM_ROUNDED(:x, {digits})",
        SqlType(Kind.NUMERIC, QUOTIENT_SCALE, loose=True),
        x=value.tree,
    )


def _fixed(value: Typed, digits: list[int], node: exp.Expr) -> Typed:
    precision, scale = digits[0], digits[1] if len(digits) > 1 else 0
    if not 0 <= scale <= precision <= 38:
        raise refused(node, "Spark's numerics have at most 38 digits, none before the point")
    if value.kind is Kind.DOUBLE and scale <= QUOTIENT_SCALE:
        value = rounded(value, scale)
    value = converted(value, Kind.NUMERIC, node)
    return spark(
        f"CAST(:x AS DECIMAL({precision}, {scale}))", SqlType(Kind.NUMERIC, scale), x=value.tree
    )
