"""Aggregates, also over a window and with FILTER, and the functions of windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.coercion import common, ordered, united, widened
from sensorstream.spark.translation.functions import literal_integer, text_of
from sensorstream.spark.translation.operators import divided, truth
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NUMBERS,
    TEXT,
    Kind,
    SqlType,
    Typed,
    spark,
)

# Puts an aggregate of Spark over the window, or behind the filter, of the query.
Around = Callable[[exp.Expr], exp.Expr]
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


def _collected(node: exp.Expr, scope: Scope, around: Around) -> Typed:
    """``array_agg(x ORDER BY k)`` and ``string_agg(x, ',' ORDER BY k)``.

    Spark collects in any order, so each value comes with its keys and is sorted after.
    """
    joined = isinstance(node, exp.GroupConcat)
    only(node, "this", "separator", "on_overflow", "nulls_excluded")
    order = node.this
    separator: exp.Expr = node.args.get("separator") or exp.Literal.string("")
    if isinstance(separator, exp.Order):
        order = exp.Order(this=node.this, expressions=separator.expressions)
        separator = separator.this
    if not isinstance(order, exp.Order):
        raise refused(node, "without an order its result is left open; add ORDER BY")
    given = order.this
    distinct = isinstance(given, exp.Distinct)
    if distinct:
        (given,) = given.expressions
    value = text_of(given, scope) if joined else constants.settled(scope.value(given), node)
    if value.kind is Kind.ARRAY:
        raise refused(node, "arrays of arrays are not on the list")
    if distinct and [each.this for each in order.expressions] != [given]:
        raise refused(node, "with DISTINCT, order by the value itself")
    fields: list[exp.Expr] = [exp.Literal.string("v"), value.tree.copy()]
    for index, each in enumerate(order.expressions):
        key = constants.settled(scope.value(each.this), node)
        ordered(key, each, by_code_point=scope.by_code_point)
        fields += [exp.Literal.string(f"k{index}"), key.tree.copy()]
    pair: exp.Expr = exp.Anonymous(this="NAMED_STRUCT", expressions=fields)
    if joined:
        # string_agg leaves NULL out; collect_list does so with a NULL of the pair.
        pair = spark("CASE WHEN :v IS NULL THEN NULL ELSE :p END", TEXT, v=value.tree, p=pair).tree
    elements = exp.Distinct(expressions=[pair]) if distinct else pair
    found = around(exp.Anonymous(this="COLLECT_LIST", expressions=[elements]))
    lines = " ".join(_before(index, each) for index, each in enumerate(order.expressions))
    chosen = spark(
        f"TRANSFORM(ARRAY_SORT(:found, (l, r) -> CASE {lines} ELSE 0 END), e -> e.v)",
        TEXT,
        found=found,
    ).tree
    if joined:
        chosen = exp.Anonymous(
            this="ARRAY_JOIN", expressions=[chosen, text_of(separator, scope).tree.copy()]
        )
    type_ = TEXT if joined else SqlType(Kind.ARRAY, item=value.kind)
    return spark("CASE WHEN SIZE(:found) = 0 THEN NULL ELSE :chosen END", type_,
                 found=found, chosen=chosen)  # fmt: skip


def _before(index: int, key: exp.Ordered) -> str:
    """The branches that compare two elements by one key."""
    left, right = f"l.k{index}", f"r.k{index}"
    nulls = -1 if key.args.get("nulls_first") else 1
    down = 1 if key.args.get("desc") else -1
    return (
        f"WHEN {left} IS NULL AND NOT ({right} IS NULL) THEN {nulls} "
        f"WHEN {right} IS NULL AND NOT ({left} IS NULL) THEN {-nulls} "
        f"WHEN {left} < {right} THEN {down} WHEN {left} > {right} THEN {-down}"
    )


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
    exp.ArrayAgg: _collected,
    exp.GroupConcat: _collected,
    exp.WithinGroup: _percentile,
    exp.Grouping: _grouping,
}
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


def order_by(order: exp.Expr | None, scope: Scope) -> exp.Expr | None:
    """The keys of an order, each with the place of NULL that PostgreSQL gives it."""
    if order is None:
        return None
    keys = []
    for each in order.expressions:
        only(each, "this", "desc", "nulls_first")
        value = constants.settled(scope.value(each.this), each)
        free = scope.by_code_point or isinstance(each.this, exp.Collate)
        ordered(value, each, by_code_point=free)
        keys.append(key(value.tree, each))
    return exp.Order(expressions=keys)


def key(tree: exp.Expr, given: exp.Expr) -> exp.Ordered:
    """A key of an order; what it sorts by is in Spark's SQL already."""
    return exp.Ordered(
        this=tree.copy(),
        desc=bool(given.args.get("desc")),
        nulls_first=bool(given.args.get("nulls_first")),
    )
