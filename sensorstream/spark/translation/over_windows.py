"""Functions over a window: ``f(...) OVER (...)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.aggregates import AGGREGATES, Rule
from sensorstream.spark.translation.coercion import common, united
from sensorstream.spark.translation.functions import literal_integer
from sensorstream.spark.translation.ordering import order_by
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Around, Scope
from sensorstream.spark.translation.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    Kind,
    SqlType,
    Typed,
    spark,
)


def _numbered(name: str, type_: SqlType) -> Rule:
    def rule(node: exp.Expr, _: Scope, around: Around) -> Typed:
        only(node, "expressions")
        if node.expressions:
            raise refused(node, "expected no argument")
        tree: exp.Expr = around(exp.Anonymous(this=name, expressions=[]))
        if type_.kind is Kind.BIGINT:
            return spark("CAST(:x AS BIGINT)", BIGINT, x=tree)
        return Typed(tree, type_)

    return rule


def _tile(node: exp.Expr, _: Scope, around: Around) -> Typed:
    only(node, "this")
    count = literal_integer(node.this, 1, node, "the number of buckets")
    tree = exp.Anonymous(this="NTILE", expressions=[exp.Literal.number(count)])
    return Typed(around(tree), INTEGER)


def _neighbour(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    only(node, "this", "offset", "default")
    value = constants.settled(scope.value(node.this), node)
    name = "LAG" if isinstance(node, exp.Lag) else "LEAD"
    parts = [value.tree]
    if node.args.get("offset"):
        offset = literal_integer(node.args["offset"], 0, node, "the offset")
        parts.append(exp.Literal.number(offset))
    type_ = value.type
    if node.args.get("default"):
        values = common([value, scope.value(node.args["default"])], node)
        if values[0].kind is not value.kind:
            raise refused(node, "the default has another type; cast it")
        type_ = united([each.type for each in values])
        parts.append(values[1].tree)
    tree = exp.Anonymous(this=name, expressions=[each.copy() for each in parts])
    return Typed(around(tree), type_)


def _of_frame(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    only(node, "this", "offset")
    value = constants.settled(scope.value(node.this), node)
    names: Mapping[type[exp.Expr], str] = {
        exp.FirstValue: "FIRST_VALUE",
        exp.LastValue: "LAST_VALUE",
        exp.NthValue: "NTH_VALUE",
    }
    parts = [value.tree.copy()]
    if isinstance(node, exp.NthValue):
        parts.append(exp.Literal.number(literal_integer(node.args["offset"], 1, node, "the place")))
    tree = exp.Anonymous(this=names[type(node)], expressions=parts)
    return Typed(around(tree), value.type)


OVER_WINDOWS: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.RowNumber: _numbered("ROW_NUMBER", BIGINT),
    exp.Rank: _numbered("RANK", BIGINT),
    exp.DenseRank: _numbered("DENSE_RANK", BIGINT),
    exp.PercentRank: _numbered("PERCENT_RANK", DOUBLE),
    exp.CumeDist: _numbered("CUME_DIST", DOUBLE),
    exp.Ntile: _tile,
    exp.Lag: _neighbour,
    exp.Lead: _neighbour,
    exp.FirstValue: _of_frame,
    exp.LastValue: _of_frame,
    exp.NthValue: _of_frame,
}
_IN_WINDOWS: Final = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def windowed(node: exp.Expr, scope: Scope) -> Typed:
    """``f(...) OVER (...)``."""
    only(node, "this", "partition_by", "order", "spec", "over", "alias", "first")
    function = node.this
    given = node
    if node.args.get("alias"):
        named = scope.windows.get(node.args["alias"].name)
        if named is None or any(node.args.get(each) for each in ("partition_by", "order", "spec")):
            raise refused(node, "write the window out in OVER")
        given = named
    rule = OVER_WINDOWS.get(type(function))
    if rule is None and type(function) in _IN_WINDOWS:
        rule = AGGREGATES[type(function)]
    if rule is None or isinstance(function.this, exp.Distinct):
        raise refused(node, "this function is not on the list over a window")
    if type(function) in OVER_WINDOWS and not given.args.get("order"):
        raise refused(node, "without an order its result is left open; add ORDER BY")
    if isinstance(function, exp.FirstValue | exp.LastValue | exp.NthValue) is False and (
        type(function) in OVER_WINDOWS and given.args.get("spec")
    ):
        raise refused(node, "it takes no frame; leave that out")
    window = {
        "partition_by": [
            constants.settled(scope.value(each), each).tree.copy()
            for each in given.args.get("partition_by") or ()
        ],
        "order": order_by(given.args.get("order"), scope),
        "spec": _frame(given.args.get("spec"), node),
    }
    return rule(
        function,
        scope,
        lambda tree: exp.Window(
            this=tree, **{k: v.copy() if isinstance(v, exp.Expr) else v for k, v in window.items()}
        ),
    )


def _frame(spec: exp.Expr | None, node: exp.Expr) -> exp.Expr | None:
    if spec is None:
        return None
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind")).upper()
    bounds = [spec.args.get("start"), spec.args.get("end")]
    for each in bounds:
        if isinstance(each, exp.Expr):
            if kind != "ROWS":
                raise refused(node, "a frame with numbers counts ROWS here")
            literal_integer(each, 0, node, "a bound of the frame")
    if kind not in ("ROWS", "RANGE"):
        raise refused(node, "frames are of ROWS or RANGE here")
    copied = spec.copy()
    if not copied.args.get("end"):
        copied.set("end", "CURRENT ROW")
    return copied
