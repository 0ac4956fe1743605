"""Change a query's tree from PostgreSQL's dialect to another one, and write trees as text.

One walk changes the tree in place, from the leaves up: the kind of each expression is known when
the tables of :mod:`.dialects` are asked for its form in the dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from sensorstream.errors import UnsupportedQuery
from sensorstream.sql.dialects import (
    AGGREGATES,
    CASTS,
    DUCKDB,
    EXPANDED,
    FUNCTIONS,
    NODES,
    NUMBERS,
    PLACE,
    TABLES,
    TYPES,
    Columns,
    ExpressionKind,
    Row,
    VisibleColumns,
    common,
    constant_number,
    filtered,
)
from sensorstream.sql.row_bindings import rewrite_lets
from sensorstream.sql.sparql.compiled_query import TOO_DEEP, SqlQuery
from sensorstream.sql.sql_fragments import Cell, closed, made, names, operands

POSTGRES: Final = "postgres"
_Typed = tuple[exp.Expr, ExpressionKind]
_COMPARED: Final = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.NullSafeNEQ, exp.Between, exp.In, exp.Coalesce, exp.Greatest, exp.Least, exp.Binary),
)
"""Nodes whose operands are of one kind."""
_UNTYPED: Final = (exp.Identifier, exp.RowNumber)


class _Written(Postgres):
    """PostgreSQL's SQL, in which the compiler's functions are written in its own."""

    class Generator(PostgresGenerator):
        def anonymous_sql(self, expression: exp.Anonymous) -> str:
            found = FUNCTIONS.get(expression.name)
            if found is None or not found[1]:
                return super().anonymous_sql(expression)
            return self.sql(closed(made(found[1], POSTGRES, *expression.expressions)))


def text_of(tree: exp.Expr, dialect: str, *, pretty: bool = False) -> str:
    """The text of a tree in a dialect; raises UnsupportedQuery if it is nested too deeply."""
    try:
        return tree.sql(_Written if dialect == POSTGRES else dialect, pretty=pretty, copy=False)
    except RecursionError:
        raise UnsupportedQuery(TOO_DEEP) from None


def duckdb_query(query: SqlQuery) -> SqlQuery:
    """Turn a compiled query's tree into DuckDB's; raises UnsupportedQuery if nested too deeply."""
    try:
        rewrite(query.tree, DUCKDB)
        rewrite_lets(query.tree)
    except RecursionError:
        raise UnsupportedQuery(TOO_DEEP) from None
    return query


def rewrite(tree: exp.Query, dialect: str) -> None:
    """Change a tree to a dialect, with the same columns; raises UnsupportedQuery if it cannot."""
    _query(tree, VisibleColumns(dialect))


def rewritten_expression(tree: exp.Expr, dialect: str, columns: Columns) -> exp.Expr:
    """An expression of a dialect over one table without a name."""
    return _typed(tree, VisibleColumns(dialect, tables={"": columns}))[0]


def refused(node: exp.Expr) -> UnsupportedQuery:
    """The error for a part of a query that a dialect has no equal for."""
    return UnsupportedQuery(
        f"not on Spark: {node.sql(POSTGRES)[:80]}: ask the same with --on history"
    )


# -- queries ----------------------------------------------------------------------------------


def _query(node: exp.Expr, outer: VisibleColumns, *, is_optional: bool = False) -> Columns:
    """Rewrite a query; returns its columns."""
    if isinstance(node, exp.Subquery):
        return _query(node.this, outer, is_optional=is_optional)
    scope = outer.below(is_optional=is_optional)
    with_ = node.args.get("with_")
    for each in with_.expressions if with_ is not None else ():
        _named_query(each, scope)
    if isinstance(node, exp.SetOperation):
        return _merged(_query(node.this, scope), _query(node.expression, scope))
    assert isinstance(node, exp.Select)
    if node.args.get("from_") is not None:
        _source(node.args["from_"].this, scope)
    for join in node.args.get("joins") or ():
        _source(join.this, scope, is_optional=bool(join.side))
        if join.args.get("on") is not None:
            _set(join.args["on"], scope.below(is_optional=True) if join.side else scope)
    columns = {e.alias_or_name: _set(e.unalias(), scope) for e in list(node.expressions)}
    for key in ("where", "having"):
        if node.args.get(key) is not None:
            _set(node.args[key].this, scope)
    # A column without a table belongs to the query itself.
    scope.tables[""] = columns
    group, order = node.args.get("group"), node.args.get("order")
    for each in [*(group.expressions if group else ()), *(order.expressions if order else ())]:
        _set(each.this if isinstance(each, exp.Ordered) else each, scope)
    return columns


def _named_query(each: exp.CTE, scope: VisibleColumns) -> None:
    query = each.this
    names = [name.name for name in each.args["alias"].args.get("columns") or ()]

    def known(columns: Columns) -> Columns:
        return dict(zip(names, columns.values(), strict=True)) if names else columns

    if isinstance(query, exp.SetOperation):
        # A recursive query reads itself in its second part.
        first = _query(query.this, scope)
        scope.queries[each.alias] = known(first)
        scope.queries[each.alias] = known(_merged(first, _query(query.expression, scope)))
    else:
        scope.queries[each.alias] = known(_query(query, scope))


def _merged(one: Columns, other: Columns) -> Columns:
    pairs = zip(one.items(), other.values(), strict=True)
    return {name: second if kind is ExpressionKind.NULL else kind for (name, kind), second in pairs}


def _source(node: exp.Expr, scope: VisibleColumns, *, is_optional: bool = False) -> None:
    """A table of FROM; its columns become known to the scope."""
    match node:
        case exp.Lateral():
            _source(node.this, scope)
        case exp.Subquery():
            scope.tables[node.alias] = _query(node.this, scope, is_optional=is_optional)
        case exp.Values():
            names = [each.name for each in node.args["alias"].columns]
            rows = [[_typed(e, scope) for e in row.expressions] for row in node.expressions]
            columns = [_alike(column, scope.dialect) for column in zip(*rows, strict=True)]
            for place, row in enumerate(node.expressions):
                row.set("expressions", [column[place] for column, _ in columns])
            kinds = (kind for _, kind in columns)
            scope.tables[node.alias] = dict(zip(names, kinds, strict=True))
        case exp.Table():
            columns_ = TABLES[node.name] if node.db else scope.query(node.name)
            if columns_ is None:
                raise refused(node)
            scope.tables[node.alias_or_name] = columns_


# -- expressions ------------------------------------------------------------------------------


def _typed(node: exp.Expr, scope: VisibleColumns) -> _Typed:
    """Rewrite an expression; returns its tree, into which its parts are moved, and its kind."""
    match node:
        case exp.Column():
            return node, scope.kind(node)
        case exp.Literal():
            if node.is_string:
                return node, ExpressionKind.TEXT
            if node.this.isdigit():
                return node, ExpressionKind.INTEGER
            return constant_number(node.this, scope.dialect), ExpressionKind.NUMBER
        case exp.Exists():
            outer = scope.outer if scope.is_optional and not scope.tables and scope.outer else scope
            _query(node.this, outer.below(is_condition=True))
            return node, ExpressionKind.BOOLEAN
        case exp.Query():
            return node, next(iter(_query(node, scope).values()))
        case exp.Cast():
            return _cast(node, scope)
        case exp.Dot():
            return _function(node.expression, scope)
        case exp.Anonymous():
            return _function(node, scope)
        case exp.Filter():
            return _aggregate(node.this, _typed(node.expression.this, scope)[0], scope)
        case exp.Case():
            return _case(node, scope)
    return _aggregate(node, None, scope) if type(node) in AGGREGATES else _node(node, scope)


def _set(part: exp.Expr, scope: VisibleColumns) -> ExpressionKind:
    """Put the dialect's form of a part into its place; returns its kind."""
    parent, key, place = part.parent, part.arg_key, part.index
    new, kind = _typed(part, scope)
    if new is not part:
        assert parent is not None
        parent.set(str(key), new, place)
    return kind


def _node(node: exp.Expr, scope: VisibleColumns) -> _Typed:
    """Rewrite an operator or a function, by the tables."""
    parts = [each for each in operands(node) if not isinstance(each, _UNTYPED)]
    kinds = [_set(each, scope) for each in parts]
    kind = common(kinds)
    if kind is ExpressionKind.NUMBER and isinstance(node, _COMPARED):
        for part, each in zip(operands(node), kinds, strict=True):
            key, place = part.arg_key, part.index
            new = _as_number(part, each, scope.dialect)
            if new is not part:
                node.set(str(key), new, place)
    if kind is ExpressionKind.NUMBER and type(node) in NUMBERS:
        row: Row = (kind, *NUMBERS[type(node)])
    else:
        row = NODES.get(type(node), (None, None, None))
    own, *cells = row
    return _said(cells[PLACE[scope.dialect]], node, scope.dialect), kind if own is None else own


def _function(node: exp.Anonymous, scope: VisibleColumns) -> _Typed:
    """Rewrite a function that only the compiler knows."""
    if node.name.upper() not in FUNCTIONS:
        raise refused(node)
    kind, postgres, *cells = FUNCTIONS[node.name.upper()]
    cell = cells[PLACE[scope.dialect]]
    if cell == EXPANDED:
        return _typed(made(postgres, POSTGRES, *node.expressions), scope)
    given = node.expressions
    if isinstance(cell, str):
        given = [_typed(e, scope)[0] if names(cell, n) else e for n, e in enumerate(given)]
        return made(cell, scope.dialect, *given), kind
    return _said(cell, node, scope.dialect), kind


def _aggregate(node: exp.Expr, condition: exp.Expr | None, scope: VisibleColumns) -> _Typed:
    own, *cells = AGGREGATES[type(node)]
    cell = cells[PLACE[scope.dialect]]
    kind = ExpressionKind.INTEGER
    value = node.this
    if isinstance(value, exp.Order):
        for each in value.expressions:
            _set(each.this, scope)
        value = value.this
    if not isinstance(value, exp.Star):
        kind = _set(value, scope)
    if callable(cell):
        return cell(node, condition), kind if own is None else own
    return filtered(node, condition), kind if own is None else own


def _case(node: exp.Case, scope: VisibleColumns) -> _Typed:
    given = node.args["ifs"]
    default = node.args.get("default")
    if node.this is not None:
        _set(node.this, scope)
    for each in given:
        _set(each.this, scope)
    results = [_typed(each.args["true"], scope) for each in given]
    if default is not None:
        results.append(_typed(default, scope))
    found, kind = _alike(results, scope.dialect)
    for each, new in zip(given, found, strict=False):
        each.set("true", new)
    if default is not None:
        node.set("default", found[-1])
    return node, kind


def _alike(given: Sequence[_Typed], dialect: str) -> tuple[list[exp.Expr], ExpressionKind]:
    """Expressions of one kind: where one is a number, all are."""
    kind = common(each for _, each in given)
    if kind is not ExpressionKind.NUMBER:
        return [tree for tree, _ in given], kind
    return [_as_number(tree, each, dialect) for tree, each in given], kind


def _as_number(tree: exp.Expr, kind: ExpressionKind, dialect: str) -> exp.Expr:
    if kind in (ExpressionKind.NUMBER, ExpressionKind.NULL):
        return tree
    if isinstance(tree, exp.Literal):
        return constant_number(tree.this, dialect)
    return made(CASTS[kind, "DECIMAL"][PLACE[dialect]], dialect, tree)


def _cast(node: exp.Cast, scope: VisibleColumns) -> _Typed:
    given, to = node.this.unnest(), node.to.this.value
    if to == "DECIMAL" and isinstance(given, exp.Literal):
        return constant_number(given.this, scope.dialect), ExpressionKind.NUMBER
    if to == "DECIMAL" and isinstance(given, exp.Cast) and given.to.is_type("TEXT"):
        tree, kind = _typed(given.this, scope)
        if kind is ExpressionKind.DOUBLE:
            return _as_number(tree, kind, scope.dialect), ExpressionKind.NUMBER
        return _converted(*_converted(tree, kind, "TEXT", scope.dialect), to, scope.dialect)
    return _converted(*_typed(node.this, scope), to, scope.dialect)


def _converted(tree: exp.Expr, kind: ExpressionKind, to: str, dialect: str) -> _Typed:
    own, *types = TYPES[to]
    if kind is own is ExpressionKind.NUMBER:
        return tree, own
    cells = CASTS.get((kind, to))
    if cells is not None:
        return made(cells[PLACE[dialect]], dialect, tree), own
    return exp.cast(tree, types[PLACE[dialect]]), own


def _said(cell: Cell, node: exp.Expr, dialect: str) -> exp.Expr:
    """A node whose operands are of the dialect, in the form of a cell."""
    if cell is None:
        raise refused(node)
    if callable(cell):
        return cell(node)
    return made(cell, dialect, *operands(node)) if cell else node
