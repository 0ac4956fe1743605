"""ORDER BY, LIMIT and OFFSET, and SELECT DISTINCT ON, which takes the first in an order."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sensorstream.sql.postgres.casts import ordered
from sensorstream.sql.postgres.constants import settled
from sensorstream.sql.postgres.scope import Outputs, Scope, only, refused, whole
from sensorstream.sql.types import Typed

_RANK = "sensorstream_rank"
_ORDER = "sensorstream_order_"


def as_name(name: str) -> exp.TableAlias:
    """An alias as it is written."""
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def order_by(order: exp.Expr, scope: Scope) -> exp.Order:
    """The keys of an order, each with the place of NULL that PostgreSQL gives it."""
    return exp.Order(expressions=[_by_value(each, scope) for each in order.expressions])


def _by_value(given: exp.Expr, scope: Scope) -> exp.Ordered:
    only(given, "this", "desc", "nulls_first")
    value = settled(scope.value(given.this), given)
    free = scope.by_code_point or isinstance(given.this, exp.Collate)
    ordered(value, given, by_code_point=free)
    return _key(value.tree, given)


def _key(tree: exp.Expr, given: exp.Expr) -> exp.Ordered:
    """A key of an order; what it sorts by is in Spark's SQL already."""
    return exp.Ordered(
        this=tree.copy(),
        desc=bool(given.args.get("desc")),
        nulls_first=bool(given.args.get("nulls_first")),
    )


def _ordinal(node: exp.Expr, names: Sequence[str]) -> int | None:
    """The place of a column that ORDER BY names by its number or its name."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    if isinstance(node, exp.Column) and not node.table and names.count(node.name) == 1:
        return names.index(node.name) + 1
    return None


def order_result(
    node: exp.Expr, built: exp.Expr, columns: Outputs, scope: Scope, *, by_values: bool
) -> None:
    """Give a built query ORDER BY, LIMIT and OFFSET of the one that was read.

    Args:
        node: the query as it was read.
        built: the one for Spark.
        columns: of its result, by which it can be ordered.
        scope: of what it is ordered by.
        by_values: it can be ordered by other expressions, too.
    """
    names = [name for name, _ in columns]
    keys = []
    for each in node.args["order"].expressions if node.args.get("order") else ():
        place = _ordinal(each.this, names)
        if place is not None:
            sorted_by = Typed(exp.Literal.number(place), columns[place - 1][1])
            ordered(sorted_by, each, by_code_point=scope.by_code_point)
            keys.append(_key(sorted_by.tree, each))
        elif by_values:
            keys.append(_by_value(each, scope))
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


def first_of_each(
    node: exp.Select, built: exp.Select, names: Sequence[str], scope: Scope
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
    inner.append("expressions", exp.alias_(rank, _RANK, quoted=True))
    outer_keys = []
    for index, each in enumerate(sorting.expressions):
        inner.append("expressions", exp.alias_(each.this.copy(), f"{_ORDER}{index}", quoted=True))
        outer_keys.append(_key(exp.column(f"{_ORDER}{index}", quoted=True), each))
    clause = inner.args.get("with_")
    inner.set("with_", None)
    first = exp.EQ(this=exp.column(_RANK, quoted=True), expression=exp.Literal.number(1))
    outer = exp.Select(
        with_=clause,
        expressions=[exp.column(name, quoted=True) for name in names],
        from_=exp.From(this=exp.Subquery(this=inner, alias=as_name("ranked"))),
        where=exp.Where(this=first),
        order=exp.Order(expressions=outer_keys),
    )
    _cut(node, outer)
    return outer
