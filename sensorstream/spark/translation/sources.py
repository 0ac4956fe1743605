"""What stands in FROM: tables, joins, subqueries, values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sensorstream.spark.translation.coercion import common, united
from sensorstream.spark.translation.functions import literal_integer
from sensorstream.spark.translation.operators import truth
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Columns, Outputs, Scope
from sensorstream.spark.translation.types import INTEGER, Typed, spark

_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})


def join(node: exp.Join, scope: Scope, tables: dict[str, Columns]) -> exp.Join:
    """A join; registers the columns of its right side."""
    only(node, "this", "side", "kind", "on")
    if node.side.upper() not in _SIDES or node.kind.upper() not in ("", "INNER", "CROSS", "OUTER"):
        raise refused(node, "this join is not on the list")
    right = source(node.this, scope, tables)
    on = node.args.get("on")
    told = truth(scope.value(on), on).tree if on is not None else None
    # Without a condition all rows meet all: a comma is a cross join.
    kind = node.kind.upper() if on is not None else "CROSS"
    return exp.Join(this=right, side=node.side.upper() or None, kind=kind or None, on=told)


def source(node: exp.Expr, scope: Scope, tables: dict[str, Columns]) -> exp.Expr:
    """A table, a view, a subquery or a list of values; registers its columns."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias else []
    name = node.alias_or_name
    match node:
        case exp.Subquery():
            only(node, "this", "alias")
            # It does not see what stands beside it.
            tree, columns = scope.query(node.this, replace(scope, tables={}, windows={}))
            columns = renamed(columns, names)
            built: exp.Expr = exp.Subquery(this=named(tree, columns), alias=as_name(name))
        case exp.Values():
            only(node, "expressions", "alias")
            built, columns = _values(node, scope, name, names)
        case exp.Table(this=exp.Identifier()):
            only(node, "this", "alias", "db")
            built, columns = _table(node, scope, names, name)
        case exp.Table(this=exp.ExplodingGenerateSeries()):
            built, columns = _series(node, name, names)
        case _:
            raise refused(node, "this is not on the list after FROM")
    tables[name] = dict(columns)
    return built


def _table(
    node: exp.Table, scope: Scope, names: Sequence[str], alias: str
) -> tuple[exp.Expr, Outputs]:
    known = scope.ctes.get(node.name)
    if known is None:
        known = scope.views[node.name]
    columns = tuple(known.items())
    table = exp.Table(this=exp.to_identifier(node.name, quoted=True), alias=as_name(alias))
    if names:
        raise refused(node, "name columns in the SELECT")
    return table, columns


def _values(
    node: exp.Values, scope: Scope, alias: str, names: Sequence[str]
) -> tuple[exp.Expr, Outputs]:
    rows = [[scope.value(cell) for cell in row.expressions] for row in node.expressions]
    width = len(rows[0])
    if len(names) != width:
        raise refused(node, "name its columns as in (values (1, 2)) as v(a, b)")
    by_column: list[list[Typed]] = [
        common([row[index] for row in rows], node) for index in range(width)
    ]
    columns = tuple(
        (name, united([each.type for each in cells]))
        for name, cells in zip(names, by_column, strict=True)
    )
    selects: Iterator[exp.Select] = (
        exp.Select(
            expressions=[
                exp.alias_(cells[row].tree.copy(), name, quoted=True)
                for name, cells in zip(names, by_column, strict=True)
            ]
        )
        for row in range(len(rows))
    )
    tree: exp.Expr = next(selects)
    for each in selects:
        tree = exp.Union(this=tree, expression=each, distinct=False)
    return exp.Subquery(this=tree, alias=as_name(alias)), columns


def _series(node: exp.Table, name: str, names: Sequence[str]) -> tuple[exp.Expr, Outputs]:
    """``generate_series`` of whole numbers, both ends included; it never counts down by itself."""
    only(node, "this", "alias")
    series = node.this
    only(series, "start", "end", "step")
    bounds = []
    for each in (series.args["start"], series.args["end"]):
        number = each.this if isinstance(each, exp.Neg) else each
        value = literal_integer(number, 0, node, "a bound")
        bounds.append(-value if isinstance(each, exp.Neg) else value)
    step = 1
    if series.args.get("step"):
        step = literal_integer(series.args["step"], 1, node, "the step")
    if max(map(abs, bounds)) >= 2**31:
        raise refused(node, "the bounds are integers here")
    column = names[0] if names else name
    tree = spark(
        f"SELECT CAST(id AS INT) AS `{_quoted(column)}` FROM RANGE({bounds[0]}, {bounds[1] + 1}, "
        f"{step})",
        INTEGER,
    ).tree
    return exp.Subquery(this=tree, alias=as_name(name)), ((column, INTEGER),)


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def renamed(columns: Outputs, names: Sequence[str]) -> Outputs:
    """Columns, the first of which have other names."""
    given = [*names, *(name for name, _ in columns[len(names) :])]
    return tuple((name, type_) for name, (_, type_) in zip(given, columns, strict=True))


def named(tree: exp.Expr, columns: Outputs) -> exp.Expr:
    """A query whose columns have these names."""
    inner = tree.this if isinstance(tree, exp.Subquery) else tree
    assert isinstance(inner, exp.Query)
    if [each.alias_or_name for each in inner.selects] == [name for name, _ in columns]:
        return tree
    alias = exp.TableAlias(
        this=exp.to_identifier("renamed", quoted=True),
        columns=[exp.to_identifier(name, quoted=True) for name, _ in columns],
    )
    return exp.Select(
        expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=inner, alias=alias))
    )


def as_name(name: str) -> exp.TableAlias:
    """An alias as it is written."""
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))
