"""Queries: SELECT, set operations and WITH."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.calls import called, filtered, windowed
from sensorstream.sql.postgres.casts import uncompared, united
from sensorstream.sql.postgres.constants import settled
from sensorstream.sql.postgres.grouping import empty_sets, group_by, with_totals
from sensorstream.sql.postgres.operators import RULES, Rule, truth
from sensorstream.sql.postgres.ordering import as_name, first_of_each, order_result
from sensorstream.sql.postgres.scope import Columns, Outputs, Scope, only, refused
from sensorstream.sql.postgres.sources import join, named, renamed, source
from sensorstream.sql.types import Typed

_RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    **RULES,
    **dict.fromkeys((exp.Anonymous, exp.AnonymousAggFunc, exp.WithinGroup), called),
    exp.Filter: filtered,
    exp.Window: windowed,
}
_CLAUSES: Final = (
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
    "distinct", "windows", "with_", "operation_modifiers", "kind", "hint",
)  # fmt: skip


def scope_of(views: Mapping[str, Columns], *, by_code_point: bool) -> Scope:
    """The scope of a whole query over views with these columns."""
    return Scope(read=_read, query=query, by_code_point=by_code_point, views=views)


def _read(node: exp.Expr, scope: Scope) -> Typed:
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
    order_result(node, built, tuple(columns), scope, by_values=False)
    return built, tuple(columns)


def _select(node: exp.Select, scope: Scope) -> tuple[exp.Expr, Outputs]:
    only(node, *_CLAUSES)
    scope, clause = _with(node, scope)
    tables: dict[str, Columns] = {}
    windows = {each.this.name: each for each in node.args.get("windows") or ()}
    scope = replace(scope, tables=tables, windows=windows)
    built = exp.Select(with_=clause)
    if node.args.get("from_"):
        built.set("from_", exp.From(this=source(node.args["from_"].this, scope, tables)))
    built.set("joins", [join(each, scope, tables) for each in node.args.get("joins") or ()])
    for name in ("where", "having"):
        given = node.args.get(name)
        if given is not None:
            built.set(name, type(given)(this=truth(given.this, scope)))
    outputs = [(each.alias_or_name, each.unalias()) for each in node.expressions]
    values = [settled(scope.value(each), each) for _, each in outputs]
    names = [name for name, _ in outputs]
    items = [
        exp.alias_(value.tree.copy(), name, quoted=True)
        for name, value in zip(names, values, strict=True)
    ]
    built.set("expressions", items)
    group, distinct = node.args.get("group"), node.args.get("distinct")
    if group:
        built.set("group", group_by(group, dict(outputs), scope))
    columns = tuple(zip(names, (each.type for each in values), strict=True))
    totals = empty_sets(group)
    if distinct is not None and totals:
        raise refused(node, "with a total over no rows, DISTINCT is not on the list")
    if distinct is not None and distinct.args.get("on"):
        return first_of_each(node, built, names, scope), columns
    if distinct is not None:
        for each in values:
            uncompared(each, distinct)
        built.set("distinct", exp.Distinct())
    whole = with_totals(node, built, totals) if totals else built
    order_result(node, whole, columns, scope, by_values=not totals)
    return whole, columns
