"""Calls of functions: alone, of a group, behind a filter, over a window."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sensorstream.sql.postgres.constants import settled
from sensorstream.sql.postgres.operators import truth
from sensorstream.sql.postgres.ordering import order_by
from sensorstream.sql.postgres.rows import Call, answered
from sensorstream.sql.postgres.scope import Scope, only, refused, whole
from sensorstream.sql.postgres.table import (
    AGGREGATES,
    FRAMED,
    MOVING,
    OVER_WINDOWS,
    PLAIN,
    SORTING,
    WITHIN,
)
from sensorstream.sql.types import Typed


def called(node: exp.Expr, scope: Scope) -> Typed:
    """A function, or an aggregate of a group."""
    if node.name in PLAIN:
        return answered(PLAIN[node.name], Call(node.name, node, node.expressions), scope)
    call = _aggregate(node, "a function on the list, not over a window")
    return answered(AGGREGATES[call.name], call, scope)


def filtered(node: exp.Expr, scope: Scope) -> Typed:
    """``agg(...) FILTER (WHERE ...)``."""
    only(node, "this", "expression")
    call = _aggregate(node.this, "FILTER belongs to an aggregate on the list")
    where = exp.Where(this=truth(node.expression.this, scope))

    def around(tree: exp.Expr) -> exp.Expr:
        return exp.Filter(this=tree, expression=where.copy())

    return answered(AGGREGATES[call.name], replace(call, around=around), scope)


def _aggregate(node: exp.Expr, expected: str) -> Call:
    """A call of an aggregate; the order may be that of its values or that within a group."""
    order: list[exp.Expr] = []
    inner = node
    if isinstance(node, exp.WithinGroup):
        inner, order = node.this, node.expression.expressions
    if not isinstance(inner, exp.AnonymousAggFunc) or inner.name not in AGGREGATES:
        raise refused(node, f"expected {expected}")
    if (inner is not node) is not (inner.name in WITHIN):
        raise refused(node, "this is not on the list, or not without a group it is within")
    given = [each for each in inner.expressions if not isinstance(each, exp.Star)]
    if given and isinstance(given[-1], exp.Order):
        order = given[-1].expressions
        given[-1] = given[-1].this
    if order and inner.name not in SORTING:
        raise refused(node, "its result does not depend on an order; leave ORDER BY out")
    distinct = bool(given) and isinstance(given[0], exp.Distinct)
    if distinct:
        given[:1] = given[0].expressions
    return Call(inner.name, node, given, distinct=distinct, order=order)


def windowed(node: exp.Expr, scope: Scope) -> Typed:
    """``f(...) OVER (...)``."""
    only(node, "this", "partition_by", "order", "spec", "over", "alias", "first")
    given = node
    if node.args.get("alias"):
        named = scope.windows.get(node.args["alias"].name)
        if named is None or any(node.args.get(each) for each in ("partition_by", "order", "spec")):
            raise refused(node, "write the window out in OVER")
        given = named
    function, order = node.this, given.args.get("order")
    name = function.name
    if not isinstance(function, exp.AnonymousAggFunc) or name not in {**OVER_WINDOWS, **MOVING}:
        raise refused(node, "this function is not on the list over a window")
    if name in OVER_WINDOWS:
        if not order:
            raise refused(node, "without an order its result is left open; add ORDER BY")
        if given.args.get("spec") and name not in FRAMED:
            raise refused(node, "it takes no frame; leave that out")
        call = Call(name, function, function.expressions)
    else:
        call = _aggregate(function, "")
        if call.distinct:
            raise refused(node, "this function is not on the list over a window")
    window = exp.Window(
        partition_by=[
            settled(scope.value(each), each).tree.copy()
            for each in given.args.get("partition_by") or ()
        ],
        order=order_by(order, scope) if order else None,
        spec=_frame(given.args.get("spec"), node),
    )

    def around(tree: exp.Expr) -> exp.Expr:
        over = window.copy()
        over.set("this", tree)
        return over

    return answered({**OVER_WINDOWS, **MOVING}[name], replace(call, around=around), scope)


def _frame(spec: exp.Expr | None, node: exp.Expr) -> exp.Expr | None:
    if spec is None:
        return None
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind")).upper()
    for each in (spec.args.get("start"), spec.args.get("end")):
        if isinstance(each, exp.Expr):
            if kind != "ROWS":
                raise refused(node, "a frame with numbers counts ROWS here")
            whole(each, 0, node, "a bound of the frame")
    if kind not in ("ROWS", "RANGE"):
        raise refused(node, "frames are of ROWS or RANGE here")
    copied = spec.copy()
    if not copied.args.get("end"):
        copied.set("end", "CURRENT ROW")
    return copied
