"""Queries: SELECT, set operations and WITH."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sensorstream.spark.translation import (
    aggregates,
    arithmetic,
    constants,
    functions,
    matching,
    operators,
    over_windows,
    times,
)
from sensorstream.spark.translation.casts import cast
from sensorstream.spark.translation.coercion import united
from sensorstream.spark.translation.distinct_on import first_of_each
from sensorstream.spark.translation.operators import truth
from sensorstream.spark.translation.ordering import cut, key, key_of, ordinal, sortable
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Columns, Outputs, Scope
from sensorstream.spark.translation.sources import as_name, join, named, renamed, source
from sensorstream.spark.translation.totals import empty_sets, with_totals
from sensorstream.spark.translation.types import Kind, Typed

_RULES = {
    **operators.RULES,
    **arithmetic.RULES,
    **matching.RULES,
    **functions.RULES,
    **times.RULES,
    **dict.fromkeys(aggregates.AGGREGATES, aggregates.aggregate),
    exp.Cast: cast,
    exp.Filter: aggregates.filtered,
    exp.Window: over_windows.windowed,
}


def scope_of(views: Mapping[str, Columns], *, by_code_point: bool) -> Scope:
    """The scope of a whole query over views with these columns."""
    return Scope(read=_read, query=query, by_code_point=by_code_point, views=views)


def _read(node: exp.Expr, scope: Scope) -> Typed:
    if isinstance(node, exp.Anonymous):
        named = functions.NAMED.get(node.name.lower())
        if named is not None:
            return named(node, scope)
    rule = _RULES.get(type(node))
    if rule is None:
        raise refused(node, "it is not on the list of what means the same on Spark")
    return rule(node, scope)


def query(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, Outputs]:
    """A query for Spark, and its columns.

    Raises:
        QueryError: a part of it is refused.
    """
    match node:
        case exp.Select():
            return _select(node, scope)
        case exp.SetOperation():
            return _set_operation(node, scope)
        case exp.Subquery():
            only(node, "this")
            tree, columns = query(node.this, scope)
            return exp.Subquery(this=tree), columns
        case _:
            raise refused(node, "expected a SELECT")


def _with(node: exp.Expr, scope: Scope) -> tuple[Scope, exp.Expr | None]:
    clause = node.args.get("with_")
    if clause is None:
        return scope, None
    if clause.args.get("recursive"):
        raise refused(clause, "Spark ends a recursion early; ask history")
    ctes = dict(scope.ctes)
    told = []
    for each in clause.expressions:
        only(each, "this", "alias", "materialized")
        tree, columns = query(each.this, replace(scope, ctes=dict(ctes)).inner())
        names = [column.name for column in each.args["alias"].args.get("columns") or ()]
        columns = renamed(columns, names)
        ctes[each.alias] = dict(columns)
        told.append(exp.CTE(this=named(tree, columns), alias=as_name(each.alias)))
    return replace(scope, ctes=ctes), exp.With(expressions=told)


def _set_operation(node: exp.SetOperation, scope: Scope) -> tuple[exp.Expr, Outputs]:
    only(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
    scope, clause = _with(node, scope)
    left, left_columns = query(node.args["this"], scope)
    right, right_columns = query(node.args["expression"], scope)
    columns = []
    for (name, a), (_, b) in zip(left_columns, right_columns, strict=True):
        if a.kind is not b.kind:
            raise refused(
                node, f"column {name} is {a.kind.value} and {b.kind.value}; cast one of them"
            )
        columns.append((name, united([a, b])))
    built = type(node)(
        this=left, expression=right, distinct=bool(node.args.get("distinct")), with_=clause
    )
    _order_united(node, built, tuple(columns), scope)
    return built, tuple(columns)


def _order_united(node: exp.Expr, built: exp.Expr, columns: Outputs, scope: Scope) -> None:
    """Give a union ORDER BY, LIMIT and OFFSET of what was read."""
    order = node.args.get("order")
    if order is not None:
        names = [name for name, _ in columns]
        keys = []
        for each in order.expressions:
            place = ordinal(each.this, names)
            if place is None:
                raise refused(each, "order by a column of the result, by name or number")
            sortable(columns[place - 1][1], each, scope)
            keys.append(key(exp.Literal.number(place), each))
        built.set("order", exp.Order(expressions=keys))
    cut(node, built)


_CLAUSES = (
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
    "distinct", "windows", "with_", "operation_modifiers", "kind", "hint",
)  # fmt: skip


def _select(node: exp.Select, scope: Scope) -> tuple[exp.Expr, Outputs]:
    only(node, *_CLAUSES)
    scope, clause = _with(node, scope)
    tables: dict[str, Columns] = {}
    scope = replace(scope, tables=tables)
    built = exp.Select(with_=clause)
    if node.args.get("from_"):
        built.set("from_", exp.From(this=source(node.args["from_"].this, scope, tables)))
    built.set("joins", [join(each, scope, tables) for each in node.args.get("joins") or ()])
    windows = {each.this.name: each for each in node.args.get("windows") or ()}
    scope = replace(scope, windows=windows)
    for name in ("where", "having"):
        given = node.args.get(name)
        if given is not None:
            test = truth(scope.value(given.this), given.this)
            built.set(name, type(given)(this=test.tree))
    outputs = [(each.alias_or_name, each.unalias()) for each in node.expressions]
    values = [constants.settled(scope.value(each), each) for _, each in outputs]
    names = [name for name, _ in outputs]
    items = [
        exp.alias_(value.tree.copy(), name, quoted=True)
        for name, value in zip(names, values, strict=True)
    ]
    built.set("expressions", items)
    if node.args.get("group"):
        built.set("group", _group(node, dict(outputs), scope))
    columns = tuple(zip(names, (each.type for each in values), strict=True))
    totals = empty_sets(node.args.get("group"))
    if totals:
        only(node, *(each for each in _CLAUSES if each != "distinct"))
        whole = with_totals(node, built, totals)
        _order_united(node, whole, columns, scope)
        return whole, columns
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        return first_of_each(node, built, names, scope), columns
    if distinct is not None:
        if any(each.kind is Kind.ARRAY for each in values):
            raise refused(distinct, "arrays are not compared")
        built.set("distinct", exp.Distinct())
    order = node.args.get("order")
    if order is not None:
        keys = [key_of(each, names, values, scope) for each in order.expressions]
        built.set("order", exp.Order(expressions=keys))
    cut(node, built)
    return built, columns


def _group(node: exp.Select, outputs: Mapping[str, exp.Expr], scope: Scope) -> exp.Group:
    group = node.args["group"]
    only(group, "expressions")

    def read(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Column) and not each.table and each.name in outputs:
            each = outputs[each.name]
        value = constants.settled(scope.value(each), each)
        if isinstance(value.tree, exp.Literal):
            raise refused(each, "a constant does not group")
        if value.kind is Kind.ARRAY:
            raise refused(each, "arrays are not compared")
        return value.tree.copy()

    def several(each: exp.Expr) -> exp.Expr:
        match each:
            case exp.Rollup() | exp.Cube():
                return type(each)(expressions=[read(one) for one in each.expressions])
            case exp.GroupingSets():
                sets: list[exp.Expr] = []
                for one in each.expressions:
                    inside = one.expressions if isinstance(one, exp.Tuple) else [one.unnest()]
                    sets.append(exp.Tuple(expressions=[read(column) for column in inside]))
                return exp.GroupingSets(expressions=sets)
            case _:
                return read(each)

    return exp.Group(expressions=[several(each) for each in group.expressions])
