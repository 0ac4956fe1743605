"""Queries: SELECT with its clauses, set operations and WITH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.java_regexes import by_value, order_by, ordered_by, read, truth
from sensorstream.sql.postgres.sql_scope import (
    INTEGER,
    Columns,
    Outputs,
    SqlScope,
    TypedSql,
    only,
    refused,
    spark,
    whole,
)
from sensorstream.sql.postgres.typed_values import common, ordered, settled, uncompared, united
from sensorstream.sql.sql_fragments import named, table, titled
from sensorstream.sql.sql_fragments import united as combined

_RANK: Final = "sensorstream_rank"
_ORDER: Final = "sensorstream_order_"
_KEPT: Final = "sensorstream_kept"
_CLAUSES: Final = (
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset",
    "distinct", "windows", "with_", "operation_modifiers", "kind", "hint",
)  # fmt: skip


def scope_of(views: Mapping[str, Columns], *, by_code_point: bool) -> SqlScope:
    """The scope of a whole query over views with these columns."""
    return SqlScope(read=read, query=query, by_code_point=by_code_point, views=views)


def query(node: exp.Expr, scope: SqlScope) -> tuple[exp.Expr, Outputs]:
    """Translate a query for Spark, with its columns; raises QueryError if a part is refused."""
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


def _with(node: exp.Expr, scope: SqlScope) -> tuple[SqlScope, exp.Expr | None]:
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
        columns = _renamed(columns, names)
        ctes[each.alias] = dict(columns)
        told.append(exp.CTE(this=_named(tree, columns), alias=titled(each.alias)))
    return replace(scope, ctes=ctes), exp.With(expressions=told)


def _set_operation(node: exp.SetOperation, scope: SqlScope) -> tuple[exp.Expr, Outputs]:
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
    _order_result(node, built, tuple(columns), scope, by_values=False)
    return built, tuple(columns)


def _select(node: exp.Select, scope: SqlScope) -> tuple[exp.Expr, Outputs]:
    only(node, *_CLAUSES)
    scope, clause = _with(node, scope)
    tables: dict[str, Columns] = {}
    windows = {each.this.name: each for each in node.args.get("windows") or ()}
    scope = replace(scope, tables=tables, windows=windows)
    built = exp.Select(with_=clause)
    if node.args.get("from_"):
        built.set("from_", exp.From(this=_source(node.args["from_"].this, scope, tables)))
    built.set("joins", [_join(each, scope, tables) for each in node.args.get("joins") or ()])
    for name in ("where", "having"):
        given = node.args.get(name)
        if given is not None:
            built.set(name, type(given)(this=truth(given.this, scope)))
    outputs = [(each.alias_or_name, each.unalias()) for each in node.expressions]
    values = [settled(scope.value(each), each) for _, each in outputs]
    names = [name for name, _ in outputs]
    built.set("expressions", list(map(named, (each.tree.copy() for each in values), names)))
    columns = tuple(zip(names, (each.type for each in values), strict=True))
    group, distinct = node.args.get("group"), node.args.get("distinct")
    sets = _grouping_sets(group, dict(outputs), scope) if group else [()]
    plain = not group or (len(sets) == 1 and sets[0] != ())
    if plain and group:
        built.set("group", exp.Group(expressions=list(sets[0])))
    if distinct is not None and distinct.args.get("on"):
        return _first_of_each(node, built, names, scope), columns
    if distinct is not None:
        for each in values:
            uncompared(each, distinct)
        built.set("distinct", exp.Distinct())
    whole = built if plain else _by_sets(node, built, sets)
    _order_result(node, whole, columns, scope, by_values=plain)
    return whole, columns


def _join(node: exp.Join, scope: SqlScope, tables: dict[str, Columns]) -> exp.Join:
    """A join; registers the columns of its right side."""
    only(node, "this", "side", "kind", "on")
    side, kind, on = node.side.upper(), node.kind.upper(), node.args.get("on")
    if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise refused(node, "this join is not on the list")
    right = _source(node.this, scope, tables)
    told = truth(on, scope) if on is not None else None
    # Without a condition all rows meet all: a comma is a cross join.
    kind = kind if on is not None else "CROSS"
    return exp.Join(this=right, side=side or None, kind=kind or None, on=told)


def _source(node: exp.Expr, scope: SqlScope, tables: dict[str, Columns]) -> exp.Expr:
    """A table, a view, a subquery or a list of values; registers its columns."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias else []
    name = node.alias_or_name
    match node:
        case exp.Subquery():
            only(node, "this", "alias")
            # A subquery does not see the tables beside it.
            tree, columns = scope.query(node.this, replace(scope, tables={}, windows={}))
            columns = _renamed(columns, names)
            tree = _named(tree, columns)
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
            return exp.Table(this=exp.to_identifier(node.name, quoted=True), alias=titled(name))
        case exp.Table(this=exp.ExplodingGenerateSeries()):
            tree, columns = _series(node, names[0] if names else name)
        case _:
            raise refused(node, "this is not on the list after FROM")
    tables[name] = dict(columns)
    return table(tree, name)


def _values(node: exp.Values, scope: SqlScope, names: Sequence[str]) -> tuple[exp.Expr, Outputs]:
    rows = [[scope.value(cell) for cell in row.expressions] for row in node.expressions]
    if len(names) != len(rows[0]):
        raise refused(node, "name its columns as in (values (1, 2)) as v(a, b)")
    by_column = [common(cells, node) for cells in zip(*rows, strict=True)]
    selects = [
        exp.Select(expressions=list(map(named, (cell.tree.copy() for cell in row), names)))
        for row in zip(*by_column, strict=True)
    ]
    tree = combined(selects)
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


def _renamed(columns: Outputs, names: Sequence[str]) -> Outputs:
    """Columns, the first of which have other names."""
    given = [*names, *(name for name, _ in columns[len(names) :])]
    return tuple((name, type_) for name, (_, type_) in zip(given, columns, strict=True))


def _named(tree: exp.Expr, columns: Outputs) -> exp.Expr:
    """A query whose columns have these names."""
    inner = tree.this if isinstance(tree, exp.Subquery) else tree
    assert isinstance(inner, exp.Query)
    if [each.alias_or_name for each in inner.selects] == [name for name, _ in columns]:
        return tree
    from_ = _from(inner, "renamed", [name for name, _ in columns])
    return exp.Select(expressions=[exp.Star()], from_=from_)


def _from(query: exp.Expr, name: str, columns: Sequence[str] = ()) -> exp.From:
    """A subquery as the one source, perhaps with other names for its columns."""
    return exp.From(this=exp.Subquery(this=query, alias=titled(name, columns)))


def _grouping_sets(
    group: exp.Expr, outputs: Mapping[str, exp.Expr], scope: SqlScope
) -> list[tuple[exp.Expr, ...]]:
    """The sets of keys by which a query groups; keys that are names of its columns are what these
    show.
    """
    only(group, "expressions", "all")

    def read(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Column) and not each.table and each.name in outputs:
            each = outputs[each.name]
        value = settled(scope.value(each), each)
        if isinstance(value.tree, exp.Literal):
            raise refused(each, "a constant does not group")
        uncompared(value, each)
        return value.tree.copy()

    def sets(part: exp.Expr) -> list[tuple[exp.Expr, ...]]:
        match part:
            case exp.GroupingSets():
                return [one for each in part.expressions for one in sets(each)]
            case exp.Rollup() | exp.Cube():
                keys = [sets(each)[0] for each in part.expressions]
                sizes = range(len(keys), -1, -1)
                if isinstance(part, exp.Rollup):
                    chosen = [tuple(keys[:size]) for size in sizes]
                else:
                    chosen = [one for size in sizes for one in combinations(keys, size)]
                return [tuple(chain(*each)) for each in chosen]
            case exp.Tuple():
                return [tuple(read(each.unnest()) for each in part.expressions)]
            case _:
                return [(read(part.unnest()),)]

    found = [tuple(dict.fromkeys(chain(*each))) for each in product(*map(sets, group.expressions))]
    # GROUP BY DISTINCT
    once = group.args.get("all") is False
    return list({frozenset(each): each for each in found}.values()) if once else found


def _by_sets(
    node: exp.Select, built: exp.Select, sets: Sequence[tuple[exp.Expr, ...]]
) -> exp.Select:
    """A SELECT for Spark that groups by sets of keys; ``built`` is the same without GROUP BY.

    HAVING is a column of a query below, because Spark finds no keys there. Over no rows Spark gives
    no totals, which are added.

    Raises:
        QueryError: it has a window.
    """
    keys = list(dict.fromkeys(chain(*sets)))
    totals = sum(not each for each in sets)
    having, clause, distinct = (built.args.get(each) for each in ("having", "with_", "distinct"))
    if any(each.find(exp.Window) for each in built.expressions) and (totals or having):
        raise refused(
            node.args["group"], "compute OVER in a query around this one, not beside a total"
        )
    for each in ("having", "with_", "distinct"):
        built.set(each, None)
    names = [each.alias for each in built.expressions]
    places = [f"{_ORDER}{number}" for number in range(len(names))]
    if having is not None:
        built.append("expressions", named(having.this, _KEPT))
        places.append(_KEPT)
    total = _total(built, keys)
    if keys:
        told = [exp.Tuple(expressions=[key.copy() for key in each]) for each in sets]
        built.set("group", exp.Group(expressions=[exp.GroupingSets(expressions=told)]))
    inner = combined([*([built] if keys else []), *(total.copy() for _ in range(totals))])
    shown = map(named, map(exp.column, places), names)
    whole = exp.Select(expressions=list(shown), from_=_from(inner, "grouped", places))
    if having is not None:
        whole.set("where", exp.Where(this=exp.column(_KEPT, quoted=True)))
    whole.set("with_", clause)
    whole.set("distinct", distinct)
    return whole


def _total(built: exp.Select, keys: Sequence[exp.Expr]) -> exp.Select:
    """The row over all rows, in which no key has a value; with keys, only over no rows."""

    def alone(part: exp.Expr) -> exp.Expr:
        if part in keys:
            return exp.null()
        return exp.Literal.number(1) if isinstance(part, exp.Grouping) else part

    total = built.copy()
    total.set("expressions", [each.transform(alone) for each in total.expressions])
    test = exp.EQ if keys else exp.GTE
    count = test(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    total.set("having", exp.Having(this=count))
    return total


def _ordinal(node: exp.Expr, names: Sequence[str]) -> int | None:
    """The place of a column that ORDER BY names by its number or its name."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    if isinstance(node, exp.Column) and not node.table and names.count(node.name) == 1:
        return names.index(node.name) + 1
    return None


def _order_result(
    node: exp.Expr, built: exp.Expr, columns: Outputs, scope: SqlScope, *, by_values: bool
) -> None:
    """Give a built query the ORDER BY, LIMIT and OFFSET of the one that was read.

    ``columns`` are those of its result; ``by_values``: other expressions may order it, too.
    """
    names = [name for name, _ in columns]
    keys = []
    for each in node.args["order"].expressions if node.args.get("order") else ():
        place = _ordinal(each.this, names)
        if place is not None:
            sorted_by = TypedSql(exp.Literal.number(place), columns[place - 1][1])
            ordered(sorted_by, each, by_code_point=scope.by_code_point)
            keys.append(ordered_by(sorted_by.tree, each))
        elif by_values:
            keys.append(by_value(each, scope))
            if isinstance(keys[-1].this, exp.Literal):
                raise refused(each, "a constant does not sort")
        else:
            raise refused(each, "order by a column of the result, by name or number")
    if keys:
        built.set("order", exp.Order(expressions=keys))
    _cut(node, built)


def _cut(node: exp.Expr, built: exp.Expr) -> None:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if isinstance(limit, exp.Fetch):
        only(limit, "direction", "count", "limit_options")
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise refused(limit, "WITH TIES and PERCENT are not on the list")
        limit = exp.Limit(expression=limit.args.get("count") or exp.Literal.number(1))
    for name, given in (("limit", limit), ("offset", offset)):
        if given is None:
            continue
        number = given.expression
        if isinstance(number, exp.Var) and number.name.upper() == "ALL":
            continue
        told = whole(number, 0, given, f"the {name}")
        built.set(name, type(given)(expression=exp.Literal.number(told)))


def _first_of_each(
    node: exp.Select, built: exp.Select, names: Sequence[str], scope: SqlScope
) -> exp.Expr:
    """``SELECT DISTINCT ON``: the first row of each group, by a number in a window."""
    distinct, order = node.args["distinct"], node.args.get("order")
    if order is None:
        raise refused(distinct, "which row it takes is left open; add ORDER BY")
    if node.args.get("group") or len(set(names)) < len(names):
        raise refused(distinct, "put GROUP BY, or names that repeat, in a subquery")
    outputs = [each.unalias() for each in node.expressions]

    def input_of(each: exp.Expr) -> exp.Expr:
        place = _ordinal(each, names)
        return each if place is None else outputs[place - 1]

    on = distinct.args["on"]
    groups = [
        settled(scope.value(input_of(each)), each).tree.copy()
        for each in (on.expressions if isinstance(on, exp.Tuple) else [on])
    ]
    sorting = order.copy()
    for each in sorting.expressions:
        each.set("this", input_of(each.this).copy())
    sorting = order_by(sorting, scope)
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"), partition_by=groups, order=sorting.copy()
    )
    inner = built.copy()
    inner.append("expressions", named(rank, _RANK))
    outer_keys = []
    for index, each in enumerate(sorting.expressions):
        inner.append("expressions", named(each.this.copy(), f"{_ORDER}{index}"))
        outer_keys.append(ordered_by(exp.column(f"{_ORDER}{index}", quoted=True), each))
    clause = inner.args.get("with_")
    inner.set("with_", None)
    first = exp.EQ(this=exp.column(_RANK, quoted=True), expression=exp.Literal.number(1))
    outer = exp.Select(
        with_=clause,
        expressions=[exp.column(name, quoted=True) for name in names],
        from_=_from(inner, "ranked"),
        where=exp.Where(this=first),
        order=exp.Order(expressions=outer_keys),
    )
    _cut(node, outer)
    return outer
