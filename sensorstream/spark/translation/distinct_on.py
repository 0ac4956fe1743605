"""``SELECT DISTINCT ON``: the first row of each group."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.ordering import cut, key, order_by, ordinal
from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.sources import as_name
from sensorstream.spark.translation.types import INTEGER, spark

_RANK = "sensorstream_rank"
_ORDER = "sensorstream_order_"


def first_of_each(
    node: exp.Select, built: exp.Select, names: Sequence[str], scope: Scope
) -> exp.Expr:
    """``SELECT DISTINCT ON``: the first row of each group, by a number in a window."""
    order = node.args.get("order")
    if order is None:
        raise refused(node.args["distinct"], "which row it takes is left open; add ORDER BY")
    if node.args.get("group") or len(set(names)) < len(names):
        raise refused(node.args["distinct"], "put GROUP BY, or names that repeat, in a subquery")
    outputs = {each.alias_or_name: each.unalias() for each in node.expressions}

    def input_of(each: exp.Expr) -> exp.Expr:
        place = ordinal(each, names)
        return each if place is None else outputs[names[place - 1]]

    on = node.args["distinct"].args["on"]
    groups = [
        constants.settled(scope.value(input_of(each)), each).tree.copy()
        for each in (on.expressions if isinstance(on, exp.Tuple) else [on])
    ]
    keys = []
    for each in order.expressions:
        copied = each.copy()
        copied.set("this", input_of(each.this).copy())
        keys.append(copied)
    sorting = order_by(exp.Order(expressions=keys), scope)
    assert sorting is not None
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"), partition_by=groups, order=sorting.copy()
    )
    inner = built.copy()
    inner.append("expressions", exp.alias_(rank, _RANK, quoted=True))
    outer_keys = []
    for index, each in enumerate(sorting.expressions):
        inner.append("expressions", exp.alias_(each.this.copy(), f"{_ORDER}{index}", quoted=True))
        outer_keys.append(key(exp.column(f"{_ORDER}{index}", quoted=True), each))
    clause = inner.args.get("with_")
    inner.set("with_", None)
    outer = exp.Select(
        with_=clause,
        expressions=[exp.column(name, quoted=True) for name in names],
        from_=exp.From(this=exp.Subquery(this=inner, alias=as_name("ranked"))),
        where=exp.Where(this=spark(":r = 1", INTEGER, r=exp.column(_RANK, quoted=True)).tree),
        order=exp.Order(expressions=outer_keys),
    )
    cut(node, outer)
    return outer
