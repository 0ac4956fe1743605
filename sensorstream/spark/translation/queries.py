"""Queries: SELECT, set operations, WITH, and what stands in FROM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sensorstream.spark.translation import aggregates, constants, functions, operators, times
from sensorstream.spark.translation.casts import cast
from sensorstream.spark.translation.coercion import common, united
from sensorstream.spark.translation.operators import truth
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Columns, Scope
from sensorstream.spark.translation.types import INTEGER, Kind, SqlType, Typed, spark

Outputs = tuple[tuple[str, SqlType], ...]

_RULES = {
    **operators.RULES,
    **functions.RULES,
    **times.RULES,
    **dict.fromkeys(aggregates.AGGREGATES, aggregates.aggregate),
    exp.Cast: cast,
    exp.Filter: aggregates.filtered,
    exp.Window: aggregates.windowed,
}
_RANK = "sensorstream_rank"
_ORDER = "sensorstream_order_"


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
        columns = _renamed(columns, names)
        ctes[each.alias] = dict(columns)
        told.append(exp.CTE(this=_named(tree, columns), alias=_alias(each.alias)))
    return replace(scope, ctes=ctes), exp.With(expressions=told)


def _renamed(columns: Outputs, names: Sequence[str]) -> Outputs:
    given = [*names, *(name for name, _ in columns[len(names) :])]
    return tuple((name, type_) for name, (_, type_) in zip(given, columns, strict=True))


def _named(tree: exp.Expr, columns: Outputs) -> exp.Expr:
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


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


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
    order = node.args.get("order")
    if order is not None:
        names = [name for name, _ in columns]
        keys = []
        for each in order.expressions:
            place = _ordinal(each.this, names)
            if place is None:
                raise refused(each, "order by a column of the result, by name or number")
            _sortable(columns[place - 1][1], each, scope)
            keys.append(aggregates.key(exp.Literal.number(place), each))
        built.set("order", exp.Order(expressions=keys))
    _cut(node, built)
    return built, tuple(columns)


def _sortable(type_: SqlType, node: exp.Expr, scope: Scope) -> None:
    from sensorstream.spark.translation.coercion import ordered

    ordered(Typed(exp.null(), type_), node, by_code_point=scope.by_code_point)


def _ordinal(node: exp.Expr, names: Sequence[str]) -> int | None:
    """The place of a column that ORDER BY names by its number or its name."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    if isinstance(node, exp.Column) and not node.table and names.count(node.name) == 1:
        return names.index(node.name) + 1
    return None


def _cut(node: exp.Expr, built: exp.Expr) -> None:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if isinstance(limit, exp.Fetch):
        only(limit, "direction", "count", "limit_options")
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise refused(limit, "WITH TIES and PERCENT are not on the list")
        count = limit.args.get("count") or exp.Literal.number(1)
        limit = exp.Limit(expression=count)
    for name, given in (("limit", limit), ("offset", offset)):
        if given is None:
            continue
        number = given.expression
        if isinstance(number, exp.Var) and number.name.upper() == "ALL":
            continue
        told = functions.literal_integer(number, 0, given, f"the {name}")
        built.set(name, type(given)(expression=exp.Literal.number(told)))


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
        built.set("from_", exp.From(this=_source(node.args["from_"].this, scope, tables)))
    built.set("joins", [_join(each, scope, tables) for each in node.args.get("joins") or ()])
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
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        return _first_of_each(node, built, names, scope), columns
    if distinct is not None:
        if any(each.kind is Kind.ARRAY for each in values):
            raise refused(distinct, "arrays are not compared")
        built.set("distinct", exp.Distinct())
    order = node.args.get("order")
    if order is not None:
        keys = [_key(each, names, values, scope) for each in order.expressions]
        built.set("order", exp.Order(expressions=keys))
    _cut(node, built)
    return built, columns


def _key(
    given: exp.Expr, names: Sequence[str], values: Sequence[Typed], scope: Scope
) -> exp.Ordered:
    only(given, "this", "desc", "nulls_first")
    place = _ordinal(given.this, names)
    if place is not None:
        _sortable(values[place - 1].type, given, scope)
        return aggregates.key(exp.Literal.number(place), given)
    (key,) = aggregates.order_by(exp.Order(expressions=[given]), scope).expressions  # type: ignore[union-attr]
    assert isinstance(key, exp.Ordered)
    if isinstance(key.this, exp.Literal):
        raise refused(given, "a constant does not sort")
    return key


def _first_of_each(
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
        place = _ordinal(each, names)
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
    sorting = aggregates.order_by(exp.Order(expressions=keys), scope)
    assert sorting is not None
    rank = exp.Window(
        this=exp.Anonymous(this="ROW_NUMBER"), partition_by=groups, order=sorting.copy()
    )
    inner = built.copy()
    inner.append("expressions", exp.alias_(rank, _RANK, quoted=True))
    outer_keys = []
    for index, each in enumerate(sorting.expressions):
        inner.append("expressions", exp.alias_(each.this.copy(), f"{_ORDER}{index}", quoted=True))
        outer_keys.append(aggregates.key(exp.column(f"{_ORDER}{index}", quoted=True), each))
    clause = inner.args.get("with_")
    inner.set("with_", None)
    outer = exp.Select(
        with_=clause,
        expressions=[exp.column(name, quoted=True) for name in names],
        from_=exp.From(this=exp.Subquery(this=inner, alias=_alias("ranked"))),
        where=exp.Where(this=spark(":r = 1", INTEGER, r=exp.column(_RANK, quoted=True)).tree),
        order=exp.Order(expressions=outer_keys),
    )
    _cut(node, outer)
    return outer


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


_SIDES = frozenset({"", "LEFT", "RIGHT", "FULL"})


def _join(node: exp.Join, scope: Scope, tables: dict[str, Columns]) -> exp.Join:
    only(node, "this", "side", "kind", "on")
    if node.side.upper() not in _SIDES or node.kind.upper() not in ("", "INNER", "CROSS", "OUTER"):
        raise refused(node, "this join is not on the list")
    source = _source(node.this, scope, tables)
    on = node.args.get("on")
    told = truth(scope.value(on), on).tree if on is not None else None
    # Without a condition all rows meet all: a comma is a cross join.
    kind = node.kind.upper() if on is not None else "CROSS"
    return exp.Join(this=source, side=node.side.upper() or None, kind=kind or None, on=told)


def _source(node: exp.Expr, scope: Scope, tables: dict[str, Columns]) -> exp.Expr:
    """A table, a view, a subquery or a list of values; registers its columns."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias else []
    name = node.alias_or_name
    match node:
        case exp.Subquery():
            only(node, "this", "alias")
            # It does not see what stands beside it.
            tree, columns = query(node.this, replace(scope, tables={}, windows={}))
            columns = _renamed(columns, names)
            built: exp.Expr = exp.Subquery(this=_named(tree, columns), alias=_alias(name))
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
    table = exp.Table(this=exp.to_identifier(node.name, quoted=True), alias=_alias(alias))
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
    return exp.Subquery(this=tree, alias=_alias(alias)), columns


def _series(node: exp.Table, name: str, names: Sequence[str]) -> tuple[exp.Expr, Outputs]:
    """``generate_series`` of whole numbers, both ends included; it never counts down by itself."""
    only(node, "this", "alias")
    series = node.this
    only(series, "start", "end", "step")
    bounds = []
    for each in (series.args["start"], series.args["end"]):
        number = each.this if isinstance(each, exp.Neg) else each
        value = functions.literal_integer(number, 0, node, "a bound")
        bounds.append(-value if isinstance(each, exp.Neg) else value)
    step = 1
    if series.args.get("step"):
        step = functions.literal_integer(series.args["step"], 1, node, "the step")
    if max(map(abs, bounds)) >= 2**31:
        raise refused(node, "the bounds are integers here")
    column = names[0] if names else name
    tree = spark(
        f"SELECT CAST(id AS INT) AS `{_quoted(column)}` FROM RANGE({bounds[0]}, {bounds[1] + 1}, "
        f"{step})",
        INTEGER,
    ).tree
    return exp.Subquery(this=tree, alias=_alias(name)), ((column, INTEGER),)


def _quoted(name: str) -> str:
    return name.replace("`", "``")
