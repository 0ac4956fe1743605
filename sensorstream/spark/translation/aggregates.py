"""Aggregates of a group, also with FILTER."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.arithmetic import divided
from sensorstream.spark.translation.coercion import ordered, widened
from sensorstream.spark.translation.collecting import collected
from sensorstream.spark.translation.operators import truth
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Around, Scope
from sensorstream.spark.translation.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NUMBERS,
    Kind,
    SqlType,
    Typed,
    spark,
)

Rule = Callable[[exp.Expr, Scope, Around], Typed]


def _argument(node: exp.Expr, scope: Scope) -> tuple[Typed, exp.Expr]:
    """The value that is aggregated, and the same with DISTINCT if that is there."""
    only(node, "this", "big_int", "expressions")
    given = node.this
    if isinstance(given, exp.Distinct):
        only(given, "expressions")
        if len(given.expressions) != 1:
            raise refused(node, "DISTINCT takes one expression")
        value = constants.settled(scope.value(given.expressions[0]), node)
        return value, exp.Distinct(expressions=[value.tree.copy()])
    if isinstance(given, exp.Order):
        raise refused(node, "its result does not depend on an order; leave ORDER BY out")
    value = constants.settled(scope.value(given), node)
    return value, value.tree


def _aggregate(name: str, argument: exp.Expr, type_: SqlType, around: Around) -> Typed:
    tree: exp.Expr = exp.Anonymous(this=name, expressions=[argument.copy()])
    return Typed(around(tree), type_)


def _recast(argument: exp.Expr, tree: exp.Expr) -> exp.Expr:
    """Another tree in the place of the argument, with its DISTINCT."""
    return exp.Distinct(expressions=[tree]) if isinstance(argument, exp.Distinct) else tree


def _count(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    if isinstance(node.this, exp.Star):
        return _aggregate("COUNT", exp.Star(), BIGINT, around)
    _, argument = _argument(node, scope)
    return _aggregate("COUNT", argument, BIGINT, around)


def _sum(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    value, argument = _argument(node, scope)
    match value.kind:
        case Kind.INTEGER:
            return _aggregate("SUM", argument, BIGINT, around)
        case Kind.BIGINT:
            # A numeric in PostgreSQL, which has no end; Spark's bigint has one.
            wide = widened(value, Kind.NUMERIC)
            return _aggregate("SUM", _recast(argument, wide.tree), wide.type, around)
        case Kind.DOUBLE | Kind.NUMERIC:
            return _aggregate("SUM", argument, value.type, around)
    raise refused(node, f"no sum of {value.kind.value}")


def _mean(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    value, argument = _argument(node, scope)
    if value.kind is Kind.DOUBLE:
        return _aggregate("AVG", argument, DOUBLE, around)
    if value.kind not in NUMBERS:
        raise refused(node, f"no mean of {value.kind.value}")
    wide = widened(value, Kind.NUMERIC)
    total = _aggregate("SUM", _recast(argument, wide.tree), wide.type, around)
    count = widened(_aggregate("COUNT", argument, BIGINT, around), Kind.NUMERIC)
    return divided(total, count, node)


def _extreme(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    value, argument = _argument(node, scope)
    ordered(value, node, by_code_point=scope.by_code_point)
    if value.kind in (Kind.BOOLEAN, Kind.BYTES):
        raise refused(node, f"no order of {value.kind.value} on the list")
    name = "MAX" if isinstance(node, exp.Max) else "MIN"
    return _aggregate(name, argument, value.type, around)


def _truths(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    value, argument = _argument(node, scope)
    truth(value, node)
    name = "BOOL_OR" if isinstance(node, exp.LogicalOr) else "BOOL_AND"
    return _aggregate(name, argument, BOOLEAN, around)


def _spread(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    value, argument = _argument(node, scope)
    if value.kind is not Kind.DOUBLE:
        raise refused(node, "of exact numbers it has other digits; cast to double precision")
    names: Mapping[type[exp.Expr], str] = {
        exp.Stddev: "STDDEV_SAMP",
        exp.StddevSamp: "STDDEV_SAMP",
        exp.StddevPop: "STDDEV_POP",
        exp.Variance: "VAR_SAMP",
        exp.VariancePop: "VAR_POP",
    }
    return _aggregate(names[type(node)], argument, DOUBLE, around)


def _percentile(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    only(node, "this", "expression")
    function, order = node.this, node.expression
    if not isinstance(function, exp.PercentileCont | exp.PercentileDisc):
        raise refused(node, "this function within a group is not on the list")
    only(function, "this")
    share = function.this
    if not isinstance(share, exp.Literal) or share.is_string or len(order.expressions) != 1:
        raise refused(node, "the share must be a literal between 0 and 1")
    key = order.expressions[0]
    value = scope.value(key.this)
    if value.kind not in NUMBERS:
        raise refused(node, "percentiles are of numbers here")
    disc = isinstance(function, exp.PercentileDisc)
    if disc and value.kind is not Kind.DOUBLE:
        raise refused(node, "Spark gives a double precision; cast to that")
    name = "PERCENTILE_DISC" if disc else "PERCENTILE_CONT"
    tree = exp.WithinGroup(
        this=exp.Anonymous(this=name, expressions=[share.copy()]),
        expression=exp.Order(
            expressions=[
                exp.Ordered(
                    this=widened(value, Kind.DOUBLE).tree.copy(), desc=bool(key.args.get("desc"))
                )
            ]
        ),
    )
    return Typed(around(tree), DOUBLE)


def _grouping(node: exp.Expr, scope: Scope, _: Around) -> Typed:
    if len(node.expressions) != 1:
        raise refused(node, "grouping takes one expression")
    value = scope.value(node.expressions[0])
    return spark("CAST(GROUPING(:x) AS INT)", INTEGER, x=value.tree)


AGGREGATES: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _mean,
    exp.Min: _extreme,
    exp.Max: _extreme,
    exp.LogicalAnd: _truths,
    exp.LogicalOr: _truths,
    exp.Stddev: _spread,
    exp.StddevSamp: _spread,
    exp.StddevPop: _spread,
    exp.Variance: _spread,
    exp.VariancePop: _spread,
    exp.ArrayAgg: collected,
    exp.GroupConcat: collected,
    exp.WithinGroup: _percentile,
    exp.Grouping: _grouping,
}


def aggregate(node: exp.Expr, scope: Scope) -> Typed:
    """An aggregate of a group."""
    return AGGREGATES[type(node)](node, scope, lambda tree: tree)


def filtered(node: exp.Expr, scope: Scope) -> Typed:
    """``agg(...) FILTER (WHERE ...)``."""
    only(node, "this", "expression")
    rule = AGGREGATES.get(type(node.this))
    if rule is None or isinstance(node.this, exp.Grouping):
        raise refused(node, "FILTER belongs to an aggregate on the list")
    test = truth(scope.value(node.expression.this), node.expression.this).tree
    return rule(
        node.this,
        scope,
        lambda tree: exp.Filter(this=tree, expression=exp.Where(this=test.copy())),
    )
