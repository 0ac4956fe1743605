"""Casts that give the same value in PostgreSQL and on Spark, and the type of several values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.constants import settle, settled, span
from sensorstream.sql.postgres.scope import Scope, only, refused
from sensorstream.sql.types import (
    MOST_DIGITS,
    NUMBERS,
    QUOTIENT_SCALE,
    SPARK_NAMES,
    TIMES,
    Kind,
    SqlType,
    Typed,
    spark,
)

_LOOSE: Final = SqlType(Kind.NUMERIC, QUOTIENT_SCALE, loose=True)
_TARGETS: Final[Mapping[exp.DType, Kind]] = {
    **{
        exp.DataType.build(kind.value, dialect="postgres").this: kind
        for kind in Kind
        if kind not in (Kind.ARRAY, Kind.UNKNOWN)
    },
    exp.DType.VARCHAR: Kind.TEXT,
}

_WHOLE_TEXT: Final = r"^[ \\t\\n\\x0B\\f\\r]*[+-]?[0-9]+[ \\t\\n\\x0B\\f\\r]*\\z"
_WHOLE: Final = (
    f"CASE WHEN :a RLIKE '{_WHOLE_TEXT}' THEN CAST(:a AS %s) "
    "WHEN :a IS NOT NULL THEN RAISE_ERROR('invalid input syntax for a whole number') END"
)
_DOUBLE_TEXT: Final = (
    r"^[ \\t\\n\\x0B\\f\\r]*[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity)|"
    r"(?i:nan))[ \\t\\n\\x0B\\f\\r]*\\z"
)
# Each is proven by the texts of tests/spark/corpus. These are the same by name.
_ALIKE: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    Kind.BOOLEAN: (Kind.INTEGER, Kind.TEXT),
    Kind.INTEGER: (Kind.BOOLEAN, Kind.BIGINT, Kind.DOUBLE, Kind.TEXT),
    Kind.BIGINT: (Kind.INTEGER, Kind.DOUBLE, Kind.TEXT),
    Kind.NUMERIC: (Kind.DOUBLE,),
    Kind.DATE: (Kind.TEXT, Kind.MOMENT, Kind.LOCAL),
    Kind.LOCAL: (Kind.TEXT, Kind.DATE, Kind.MOMENT),
    Kind.MOMENT: (Kind.DATE, Kind.LOCAL),
}
# PostgreSQL rounds where Spark cuts off; Java reads "1d" as a number.
_CASTS: Final[Mapping[tuple[Kind, Kind], str]] = {
    **{
        (given, to): f"CAST(:a AS {SPARK_NAMES[to]})"
        for given, several in _ALIKE.items()
        for to in several
    },
    (Kind.INTEGER, Kind.NUMERIC): "CAST(:a AS DECIMAL(10, 0))",
    (Kind.BIGINT, Kind.NUMERIC): "CAST(:a AS DECIMAL(19, 0))",
    (Kind.NUMERIC, Kind.INTEGER): "CAST(ROUND(:a, 0) AS INT)",
    (Kind.NUMERIC, Kind.BIGINT): "CAST(ROUND(:a, 0) AS BIGINT)",
    (Kind.DOUBLE, Kind.INTEGER): "CAST(RINT(:a) AS INT)",
    (Kind.DOUBLE, Kind.BIGINT): "CAST(RINT(:a) AS BIGINT)",
    (Kind.DOUBLE, Kind.NUMERIC): "SENSORSTREAM_NUMERIC(:a)",
    (Kind.TEXT, Kind.INTEGER): _WHOLE % "INT",
    (Kind.TEXT, Kind.BIGINT): _WHOLE % "BIGINT",
    (Kind.TEXT, Kind.DOUBLE): (
        f"CASE WHEN NOT (:a RLIKE '{_DOUBLE_TEXT}') "
        "THEN RAISE_ERROR('invalid input syntax for type double precision') "
        "WHEN ABS(CAST(:a AS DOUBLE)) = DOUBLE('Infinity') AND NOT (LOWER(:a) LIKE '%inf%') "
        "THEN RAISE_ERROR('out of range for type double precision') "
        "ELSE CAST(:a AS DOUBLE) END"
    ),
    (Kind.MOMENT, Kind.TEXT): "CAST(:a AS STRING) || '+00'",
}
_READS_TIMES: Final = "PostgreSQL reads times in many ways; use a column that is a time"
_WAYS: Final[Mapping[tuple[Kind, Kind], str]] = {
    (Kind.TEXT, Kind.NUMERIC): (
        "Spark's numerics have a fixed number of digits; cast to double precision"
    ),
    (Kind.TEXT, Kind.MOMENT): _READS_TIMES,
    (Kind.TEXT, Kind.DATE): _READS_TIMES,
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
        return span(node.this, node)
    value = scope.value(node.this)
    if target.expressions and kind is not Kind.NUMERIC:
        raise refused(node, "a type with a length is not on the list; write it without")
    value = settle(value, kind, node)
    if not target.expressions:
        return converted(value, kind, node)
    precision, scale = ([int(each.name) for each in target.expressions] + [0])[:2]
    if not 0 <= scale <= precision <= MOST_DIGITS:
        raise refused(node, "Spark's numerics have at most 38 digits, none before the point")
    if value.kind is Kind.DOUBLE and scale <= QUOTIENT_SCALE:
        value = rounded(value, scale)
    given = converted(value, Kind.NUMERIC, node).tree
    return spark(f"CAST(:a AS DECIMAL({precision}, {scale}))", SqlType(Kind.NUMERIC, scale), given)


def converted(value: Typed, kind: Kind, node: exp.Expr) -> Typed:
    """A value as another type.

    Raises:
        QueryError: the cast is not on the list.
    """
    if value.kind is kind:
        return value
    template = _CASTS.get((value.kind, kind))
    if template is None:
        way = _WAYS.get((value.kind, kind), "this cast is not on the list")
        raise refused(node, f"{value.kind.value} to {kind.value}: {way}")
    digits = (value.kind, kind) == (Kind.DOUBLE, Kind.NUMERIC)
    return spark(template, _LOOSE if digits else SqlType(kind), value.tree)


def as_text(value: Typed, node: exp.Expr) -> Typed:
    """A value as PostgreSQL writes it; raises :class:`QueryError` where Spark writes otherwise."""
    return converted(settled(value, node), Kind.TEXT, node)


def rounded(value: Typed, digits: int) -> Typed:
    """A double precision as a numeric with so many digits after the point."""
    return spark(f"SENSORSTREAM_ROUNDED(:a, {digits})", _LOOSE, value.tree)


def common(values: Sequence[Typed], node: exp.Expr) -> list[Typed]:
    """All values in the type that PostgreSQL chooses for them.

    Raises:
        QueryError: their types do not go together, or not in a way that is on the list.
    """
    kinds = {each.kind for each in values} - {Kind.UNKNOWN}
    order = next((each for each in (NUMBERS, TIMES) if kinds and kinds.issubset(each)), None)
    if order is not None:
        kind = max(kinds, key=order.index)
    elif len(kinds) > 1:
        names = " and ".join(sorted(each.value for each in kinds))
        raise refused(node, f"{names} do not go together; write a cast")
    else:
        kind = next(iter(kinds), Kind.TEXT)
    return [converted(settle(each, kind, node), kind, node) for each in values]


def united(values: Sequence[SqlType]) -> SqlType:
    """The type of a place that takes values of several types of one kind."""
    if values[0].kind is not Kind.NUMERIC:
        return values[0]
    scale = max(each.scale for each in values)
    # Spark gives all of them the digits of one; PostgreSQL lets each keep its own.
    loose = any(each.loose or each.scale != scale for each in values)
    return SqlType(Kind.NUMERIC, scale, loose=loose)


def ordered(value: Typed, node: exp.Expr, *, by_code_point: bool) -> None:
    """Refuse to compare by size what has no order, or another one.

    Raises:
        QueryError: it is a text and PostgreSQL does not compare texts by code point here, or a
            value without an order that is on the list.
    """
    if value.kind is Kind.TEXT and not by_code_point and not isinstance(node, exp.Collate):
        raise refused(
            node, 'the database sorts text by a language, Spark by code point: add collate "C"'
        )
    uncompared(value, node)


def uncompared(value: Typed, node: exp.Expr) -> None:
    """Refuse to compare arrays."""
    if value.kind is Kind.ARRAY:
        raise refused(node, "arrays are not compared")
