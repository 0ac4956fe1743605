"""Aggregates and row numbers of a query's tree for Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.typed import Handler, Kind, Typed, Within, call, refused


def _filtered(within: Within, node: exp.Filter) -> Typed:
    return _aggregate(within, node.this, within.tree(node.expression.this))


def _aggregate(within: Within, node: exp.Expr, condition: exp.Expr | None = None) -> Typed:
    def filtered(found: Typed) -> Typed:
        if condition is None:
            return found
        test = exp.Where(this=condition)
        return Typed(exp.Filter(this=found.tree, expression=test), found.kind)

    match node:
        case exp.Count(this=exp.Star()):
            return filtered(Typed(exp.Count(this=exp.Star()), Kind.INTEGER))
        case exp.Count():
            return filtered(call("count", Kind.INTEGER, within.typed(node.this)))
        case exp.Sum():
            given = within.typed(node.this)
            if given.kind is not Kind.NUMBER:
                raise refused(node)
            return filtered(call(numbers.TOTAL, Kind.NUMBER, given))
        case exp.Max() | exp.Min():
            given = within.typed(node.this)
            return filtered(call(node.sql_name().lower(), given.kind, given))
        case exp.GroupConcat(this=exp.Order(this=value)):
            # The texts are ordered by themselves.
            found = filtered(call("collect_list", Kind.TEXT, within.typed(value)))
            ordered = call("sort_array", Kind.TEXT, found)
            return call("array_join", Kind.TEXT, ordered, within.typed(node.args["separator"]))
        case exp.ArrayAgg(this=exp.Order(this=value, expressions=order)):
            # Null comes first where the order ascends, in both systems.
            name = "max_by" if order[0].args.get("desc") else "min_by"
            given = within.typed(value)
            keys = call("struct", Kind.TEXT, *(within.typed(each.this) for each in order))
            return filtered(call(name, given.kind, given, keys))
    raise refused(node)


def _first(within: Within, node: exp.Bracket) -> Typed:
    """The first of an ordered array, which is never made."""
    return within.typed(node.this.unnest())


def _window(within: Within, node: exp.Window) -> Typed:
    if not isinstance(node.this, exp.RowNumber) or node.args.get("order"):
        raise refused(node)
    keys = [within.tree(each) for each in node.args.get("partition_by") or ()]
    order = exp.Order(expressions=[exp.Ordered(this=exp.null())])
    made = exp.Window(this=exp.RowNumber(), partition_by=keys, order=order)
    return Typed(made, Kind.INTEGER)


HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    exp.Filter: _filtered,
    **dict.fromkeys(
        (exp.Count, exp.Sum, exp.Max, exp.Min, exp.GroupConcat, exp.ArrayAgg), _aggregate
    ),
    exp.Bracket: _first,
    exp.Window: _window,
}
