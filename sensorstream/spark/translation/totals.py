"""The total over no rows: ``GROUP BY`` with the empty set, as in ROLLUP, CUBE and GROUPING SETS.

PostgreSQL gives a row of it even if there is nothing to group; Spark does not.
"""

from __future__ import annotations

from sqlglot import exp

from sensorstream.spark.translation.refusal import refused


def empty_sets(group: exp.Expr | None) -> int:
    """How many of the sets that a query groups by are empty."""
    found = 1 if group is not None else 0
    for each in group.expressions if group is not None else ():
        match each:
            case exp.Rollup() | exp.Cube():
                continue
            case exp.GroupingSets():
                found *= sum(
                    isinstance(one, exp.Tuple) and not one.expressions for one in each.expressions
                )
            case _:
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
    total = _total(built)
    clause = built.args.get("with_")
    built.set("with_", None)
    total.set("with_", None)
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
        if isinstance(part, exp.Grouping) or (
            isinstance(part, exp.Anonymous) and part.name.upper() == "GROUPING"
        ):
            return exp.Literal.number(1)
        return part

    total = built.copy()
    total.set("group", None)
    total.set("expressions", [each.transform(alone) for each in total.expressions])
    nothing = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    having = total.args.get("having")
    test = nothing if having is None else exp.and_(having.this.transform(alone), nothing)
    total.set("having", exp.Having(this=test))
    return total
