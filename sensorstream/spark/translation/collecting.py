"""Aggregates that keep the values: arrays and joined texts."""

from __future__ import annotations

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.coercion import ordered
from sensorstream.spark.translation.functions import text_of
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Around, Scope
from sensorstream.spark.translation.types import TEXT, Kind, SqlType, Typed, spark


def collected(node: exp.Expr, scope: Scope, around: Around) -> Typed:
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
