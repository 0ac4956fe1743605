"""GROUP BY, and its total over no rows.

Of the empty set, as in ROLLUP, CUBE and GROUPING SETS, PostgreSQL gives a row even if there is
nothing to group; Spark does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sensorstream.sql.postgres.casts import uncompared
from sensorstream.sql.postgres.constants import settled
from sensorstream.sql.postgres.scope import Scope, only, refused


def group_by(group: exp.Expr, outputs: Mapping[str, exp.Expr], scope: Scope) -> exp.Group:
    """The keys of a query; those that are names of its columns are what these show."""
    only(group, "expressions")

    def read(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Column) and not each.table and each.name in outputs:
            each = outputs[each.name]
        value = settled(scope.value(each), each)
        if isinstance(value.tree, exp.Literal):
            raise refused(each, "a constant does not group")
        uncompared(value, each)
        return value.tree.copy()

    def several(each: exp.Expr) -> exp.Expr:
        match each:
            case exp.Rollup() | exp.Cube():
                return type(each)(expressions=list(map(read, each.expressions)))
            case exp.GroupingSets():
                sets = [
                    one.expressions if isinstance(one, exp.Tuple) else [one.unnest()]
                    for one in each.expressions
                ]
                return exp.GroupingSets(
                    expressions=[exp.Tuple(expressions=list(map(read, one))) for one in sets]
                )
            case _:
                return read(each)

    return exp.Group(expressions=list(map(several, group.expressions)))


def empty_sets(group: exp.Expr | None) -> int:
    """How many of the sets that a query groups by are empty."""
    if group is None:
        return 0
    found = 1
    for each in group.expressions:
        if isinstance(each, exp.GroupingSets):
            found *= sum(
                isinstance(one, exp.Tuple) and not one.expressions for one in each.expressions
            )
        elif not isinstance(each, exp.Rollup | exp.Cube):
            found = 0
    return found


def with_totals(node: exp.Select, built: exp.Select, times: int) -> exp.Expr:
    """A grouped SELECT for Spark with the totals that are missing if it has no rows to group.

    Raises:
        QueryError: they cannot be told apart from the groups.
    """
    if any(each.find(exp.Window) for each in built.expressions):
        raise refused(
            node.args["group"],
            "over no rows Spark has no total: compute OVER in a query around this one",
        )
    clause = built.args.get("with_")
    built.set("with_", None)
    total = _total(built)
    united: exp.Expr = built
    for _ in range(times):
        united = exp.Union(this=united, expression=total.copy(), distinct=False)
    united.set("with_", clause)
    return united


def _total(built: exp.Select) -> exp.Select:
    """The one row over no rows: no key has a value."""
    keys = {
        column
        for each in built.args["group"].expressions
        for one in each.expressions
        for column in (one.expressions if isinstance(one, exp.Tuple) else [one])
    }

    def alone(part: exp.Expr) -> exp.Expr:
        if part in keys:
            return exp.null()
        return exp.Literal.number(1) if isinstance(part, exp.Grouping) else part

    total = built.copy()
    total.set("group", None)
    total.set("expressions", [each.transform(alone) for each in total.expressions])
    nothing = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    having = total.args.get("having")
    test = nothing if having is None else exp.and_(having.this.transform(alone), nothing)
    total.set("having", exp.Having(this=test))
    return total
