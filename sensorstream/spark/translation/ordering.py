"""ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.coercion import ordered
from sensorstream.spark.translation.functions import literal_integer
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import SqlType, Typed


def order_by(order: exp.Expr | None, scope: Scope) -> exp.Expr | None:
    """The keys of an order, each with the place of NULL that PostgreSQL gives it."""
    if order is None:
        return None
    keys = []
    for each in order.expressions:
        only(each, "this", "desc", "nulls_first")
        value = constants.settled(scope.value(each.this), each)
        free = scope.by_code_point or isinstance(each.this, exp.Collate)
        ordered(value, each, by_code_point=free)
        keys.append(key(value.tree, each))
    return exp.Order(expressions=keys)


def key(tree: exp.Expr, given: exp.Expr) -> exp.Ordered:
    """A key of an order; what it sorts by is in Spark's SQL already."""
    return exp.Ordered(
        this=tree.copy(),
        desc=bool(given.args.get("desc")),
        nulls_first=bool(given.args.get("nulls_first")),
    )


def sortable(type_: SqlType, node: exp.Expr, scope: Scope) -> None:
    """Raises QueryError: both systems do not sort values of this type the same."""
    ordered(Typed(exp.null(), type_), node, by_code_point=scope.by_code_point)


def ordinal(node: exp.Expr, names: Sequence[str]) -> int | None:
    """The place of a column that ORDER BY names by its number or its name."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    if isinstance(node, exp.Column) and not node.table and names.count(node.name) == 1:
        return names.index(node.name) + 1
    return None


def cut(node: exp.Expr, built: exp.Expr) -> None:
    """Give a built query LIMIT and OFFSET of the one that was read."""
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
        told = literal_integer(number, 0, given, f"the {name}")
        built.set(name, type(given)(expression=exp.Literal.number(told)))


def key_of(
    given: exp.Expr, names: Sequence[str], values: Sequence[Typed], scope: Scope
) -> exp.Ordered:
    """A key of a SELECT: a column of the result, by name or number, or an expression."""
    only(given, "this", "desc", "nulls_first")
    place = ordinal(given.this, names)
    if place is not None:
        sortable(values[place - 1].type, given, scope)
        return key(exp.Literal.number(place), given)
    (found,) = order_by(exp.Order(expressions=[given]), scope).expressions  # type: ignore[union-attr]
    assert isinstance(found, exp.Ordered)
    if isinstance(found.this, exp.Literal):
        raise refused(given, "a constant does not sort")
    return found
