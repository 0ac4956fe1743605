"""What stands in FROM: tables, joins, subqueries, values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sensorstream.sql.postgres.casts import common, united
from sensorstream.sql.postgres.operators import truth
from sensorstream.sql.postgres.ordering import as_name
from sensorstream.sql.postgres.scope import Columns, Outputs, Scope, only, refused, whole
from sensorstream.sql.types import INTEGER, spark


def join(node: exp.Join, scope: Scope, tables: dict[str, Columns]) -> exp.Join:
    """A join; registers the columns of its right side."""
    only(node, "this", "side", "kind", "on")
    side, kind, on = node.side.upper(), node.kind.upper(), node.args.get("on")
    if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise refused(node, "this join is not on the list")
    right = source(node.this, scope, tables)
    told = truth(on, scope) if on is not None else None
    # Without a condition all rows meet all: a comma is a cross join.
    kind = kind if on is not None else "CROSS"
    return exp.Join(this=right, side=side or None, kind=kind or None, on=told)


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
            tree = named(tree, columns)
        case exp.Values():
            only(node, "expressions", "alias")
            tree, columns = _values(node, scope, names)
        case exp.Table(this=exp.Identifier()):
            only(node, "this", "alias", "db")
            if names:
                raise refused(node, "name columns in the SELECT")
            known = {**scope.views, **scope.ctes}
            if node.name not in known:
                raise refused(node, "there is no such table here")
            tables[name] = known[node.name]
            return exp.Table(this=exp.to_identifier(node.name, quoted=True), alias=as_name(name))
        case exp.Table(this=exp.ExplodingGenerateSeries()):
            tree, columns = _series(node, names[0] if names else name)
        case _:
            raise refused(node, "this is not on the list after FROM")
    tables[name] = dict(columns)
    return exp.Subquery(this=tree, alias=as_name(name))


def _values(node: exp.Values, scope: Scope, names: Sequence[str]) -> tuple[exp.Expr, Outputs]:
    rows = [[scope.value(cell) for cell in row.expressions] for row in node.expressions]
    if len(names) != len(rows[0]):
        raise refused(node, "name its columns as in (values (1, 2)) as v(a, b)")
    by_column = [common(cells, node) for cells in zip(*rows, strict=True)]
    selects = [
        exp.Select(
            expressions=[
                exp.alias_(cell.tree.copy(), name, quoted=True)
                for name, cell in zip(names, row, strict=True)
            ]
        )
        for row in zip(*by_column, strict=True)
    ]
    tree: exp.Expr = selects[0]
    for each in selects[1:]:
        tree = exp.Union(this=tree, expression=each, distinct=False)
    types = [united([each.type for each in cells]) for cells in by_column]
    return tree, tuple(zip(names, types, strict=True))


def _series(node: exp.Table, column: str) -> tuple[exp.Expr, Outputs]:
    """``generate_series`` of whole numbers, both ends included; it never counts down by itself."""
    only(node, "this", "alias")
    series = node.this
    only(series, "start", "end", "step")
    bounds = []
    for each in (series.args["start"], series.args["end"]):
        minus = isinstance(each, exp.Neg)
        value = whole(each.this if minus else each, 0, node, "a bound")
        bounds.append(-value if minus else value)
    given = series.args.get("step")
    step = whole(given, 1, node, "the step") if given else 1
    if max(map(abs, bounds)) >= 2**31:
        raise refused(node, "the bounds are integers here")
    quoted = column.replace("`", "``")
    text = f"SELECT CAST(id AS INT) AS `{quoted}` FROM RANGE({bounds[0]}, {bounds[1] + 1}, {step})"
    return spark(text, INTEGER).tree, ((column, INTEGER),)


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
