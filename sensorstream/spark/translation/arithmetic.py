"""Arithmetic with numbers and with times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.coercion import common, widened
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    NUMBERS,
    QUOTIENT_SCALE,
    SPAN,
    TIMES,
    WHOLE,
    Kind,
    SqlType,
    Typed,
    call,
    spark,
)

_MOST_DIGITS: Final = 38
_ARITHMETIC: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}


def _arithmetic(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression", "typed", "safe")
    left, right = scope.value(node.args["this"]), scope.value(node.args["expression"])
    if left.kind is Kind.UNKNOWN and right.kind is Kind.UNKNOWN:
        raise refused(node, "two literals in quotes have no type; write a cast")
    if {left.kind, right.kind} & {*TIMES, Kind.SPAN}:
        return _with_times(node, left, right)
    left, right = common([left, right], node)
    if left.kind not in NUMBERS:
        raise refused(node, f"no arithmetic with {left.kind.value}")
    if isinstance(node, exp.Div):
        return _divided(left, right, node)
    return spark(
        f":l {_ARITHMETIC[type(node)]} :r", _result(node, left, right), l=left.tree, r=right.tree
    )


def _result(node: exp.Expr, left: Typed, right: Typed) -> SqlType:
    if left.kind is not Kind.NUMERIC:
        return left.type
    a, b = left.type, right.type
    scale = a.scale + b.scale if isinstance(node, exp.Mul) else max(a.scale, b.scale)
    if scale > _MOST_DIGITS:
        raise refused(node, f"Spark has {_MOST_DIGITS} digits; cast to double precision")
    return SqlType(Kind.NUMERIC, scale, loose=a.loose or b.loose)


def _divided(left: Typed, right: Typed, node: exp.Expr) -> Typed:
    if left.kind in WHOLE:
        quotient = spark(":l DIV :r", BIGINT, l=left.tree, r=right.tree)
        if left.kind is Kind.INTEGER:
            return spark("CAST(:q AS INT)", INTEGER, q=quotient.tree)
        return quotient
    if left.kind is Kind.DOUBLE:
        return spark(":l / :r", DOUBLE, l=left.tree, r=right.tree)
    return divided(left, right, node)


def divided(left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """The quotient of two numerics, with PostgreSQL's number of digits.

    Raises:
        QueryError: that number depends on digits which Spark does not keep.
    """
    if left.type.loose or right.type.loose:
        raise refused(
            node, "the digits of a quotient of quotients differ; cast one to double precision"
        )
    type_ = SqlType(Kind.NUMERIC, QUOTIENT_SCALE, loose=True)
    return call("sensorstream_divide", type_, left.tree, right.tree)


def _with_times(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    add, take = isinstance(node, exp.Add), isinstance(node, exp.Sub)
    if take and right.kind is Kind.UNKNOWN:
        right = constants.settle(right, left.kind, node)
    if take and left.kind is Kind.UNKNOWN:
        left = constants.settle(left, right.kind, node)
    kinds = (left.kind, right.kind)
    if take and kinds == (Kind.DATE, Kind.DATE):
        return call("DATEDIFF", INTEGER, left.tree, right.tree)
    if take and all(each in TIMES for each in kinds):
        left, right = common([left, right], node)
        return spark(":l - :r", SPAN, l=left.tree, r=right.tree)
    if (add or take) and kinds == (Kind.DATE, Kind.INTEGER):
        name = "DATE_ADD" if add else "DATE_SUB"
        return call(name, DATE, left.tree, right.tree)
    if (add or take) and kinds == (Kind.SPAN, Kind.SPAN):
        sign = "+" if add else "-"
        return spark(f":l {sign} :r", SPAN, l=left.tree, r=right.tree)
    if add and left.kind is Kind.SPAN:
        left, right = right, left
    if (add or take) and left.kind in TIMES and right.kind is Kind.SPAN:
        if left.kind is Kind.DATE:
            left = widened(left, Kind.LOCAL)
        sign = "+" if add else "-"
        return spark(f":l {sign} :r", left.type, l=left.tree, r=right.tree)
    raise refused(node, "this arithmetic with times is not on the list")


def _negated(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = scope.value(node.this)
    if value.kind not in NUMBERS:
        raise refused(node, f"no arithmetic with {value.kind.value}")
    return spark("- :x", value.type, x=value.tree)


RULES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Scope], Typed]]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.Neg: _negated,
}
