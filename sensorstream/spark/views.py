"""The views of schema ``history`` for Spark, over the tables of schema ``store``."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sensorstream.history.view_definitions import View, look_up_all


def with_views(tree: exp.Expr, views: Mapping[str, View]) -> exp.Expr:
    """The tree with the query of a view in the place of its name.

    ``views`` are those of schema ``history``, by the names that the tree has for them.
    """
    tree = tree.copy()
    for table in list(tree.find_all(exp.Table)):
        if not table.db and table.name in views:
            query = exp.Subquery(this=view_query(views[table.name]))
            for name, value in table.args.items():
                if name != "this":
                    query.set(name, value)
            table.replace(query)
    return tree


def view_query(view: View) -> exp.Select:
    """The query of a view over the base tables."""
    query = view.query.copy()
    look_up_all(query)
    _join_tests(query)
    _group(query)
    return query


def _join_tests(query: exp.Select) -> None:
    """Turn EXISTS into a join: into one that it made itself, Spark moves no conditions."""
    where = query.args.get("where")
    if where is not None and isinstance(where.this, exp.Exists):
        looked_up = where.this.this
        table, test = looked_up.args["from_"].this, looked_up.args["where"].this
        join = exp.Join(this=table, side="LEFT", kind="SEMI", on=test)
        query.set("joins", [join, *query.args["joins"]])
        query.set("where", None)


def _group(query: exp.Expr) -> None:
    """Turn a look-up per row (LATERAL) into one join with all groups.

    Spark would do the same, but would compute the left side twice.
    """
    for lateral in list(query.find_all(exp.Lateral)):
        join, values = lateral.parent, lateral.this.this
        assert isinstance(join, exp.Join)
        assert isinstance(values, exp.Select)
        here: list[exp.Expr] = []
        outer: list[exp.Expr] = []
        for test in values.args["where"].this.flatten():
            tables = {column.table for column in test.find_all(exp.Column)}
            (here if len(tables) == 1 else outer).append(test.copy())
        alias = lateral.alias
        for test in outer:
            key = test.this
            values.select(exp.alias_(key.copy(), key.name), copy=False)
            values.group_by(key.copy(), copy=False)
            key.set("table", exp.to_identifier(alias))
        values.set("where", exp.Where(this=exp.and_(*here)) if here else None)
        join.set("this", exp.Subquery(this=values, alias=lateral.args["alias"].copy()))
        join.set("on", exp.and_(*outer))
