"""Bringing operands to one type, as PostgreSQL does before it applies an operator."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sensorstream.spark.translation.constants import settle
from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.types import (
    BIGINT,
    DOUBLE,
    MOMENT,
    NUMBERS,
    TIMES,
    Kind,
    SqlType,
    Typed,
    spark,
)


def widened(value: Typed, kind: Kind) -> Typed:
    """A number or a time as a wider one; never narrower."""
    if value.kind is kind:
        return value
    match kind:
        case Kind.BIGINT:
            return spark("CAST(:x AS BIGINT)", BIGINT, x=value.tree)
        case Kind.NUMERIC:
            digits = 10 if value.kind is Kind.INTEGER else 19
            return spark(f"CAST(:x AS DECIMAL({digits}, 0))", SqlType(Kind.NUMERIC), x=value.tree)
        case Kind.DOUBLE:
            return spark("CAST(:x AS DOUBLE)", DOUBLE, x=value.tree)
        case Kind.MOMENT:
            return spark("CAST(:x AS TIMESTAMP)", MOMENT, x=value.tree)
        case Kind.LOCAL:
            return spark("CAST(:x AS TIMESTAMP_NTZ)", SqlType(Kind.LOCAL), x=value.tree)
        case _:
            raise AssertionError(kind)


def common(values: Sequence[Typed], node: exp.Expr) -> list[Typed]:
    """All values in the type that PostgreSQL chooses for them.

    Raises:
        QueryError: their types do not go together, or not in a way that is on the list.
    """
    known = [each.kind for each in values if each.kind is not Kind.UNKNOWN]
    kind = _widest(known, node)
    settled = [settle(each, kind, node) for each in values]
    if kind in NUMBERS or kind in TIMES:
        settled = [widened(each, kind) for each in settled]
    return settled


def _widest(kinds: Sequence[Kind], node: exp.Expr) -> Kind:
    if not kinds:
        return Kind.TEXT
    for order in (NUMBERS, TIMES):
        if all(each in order for each in kinds):
            return max(kinds, key=order.index)
    if len(set(kinds)) > 1:
        names = " and ".join(sorted({each.value for each in kinds}))
        raise refused(node, f"{names} do not go together; write a cast")
    return kinds[0]


def united(types: Sequence[SqlType]) -> SqlType:
    """The type of a place that takes values of several types of one kind."""
    kinds = {each.kind for each in types}
    assert len(kinds) == 1
    if kinds == {Kind.NUMERIC}:
        scale = max(each.scale for each in types)
        # Spark gives all of them the digits of one; PostgreSQL lets each keep its own.
        return SqlType(
            Kind.NUMERIC, scale, loose=any(each.loose or each.scale != scale for each in types)
        )
    return types[0]


def ordered(value: Typed, node: exp.Expr, *, by_code_point: bool) -> Typed:
    """A value that is compared by size.

    Raises:
        QueryError: it is a text and PostgreSQL does not compare texts by code point here, or a
            value without an order that is on the list.
    """
    if value.kind is Kind.TEXT and not by_code_point and not isinstance(node, exp.Collate):
        raise refused(
            node, 'the database sorts text by a language, Spark by code point: add collate "C"'
        )
    if value.kind is Kind.ARRAY:
        raise refused(node, "arrays are not compared")
    return value
