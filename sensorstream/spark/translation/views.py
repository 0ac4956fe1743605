"""The views of schema ``history`` over the tables that Spark reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sensorstream.history.views import HISTORY, View, look_up_all
from sensorstream.spark.source_tables import SOURCE_TABLES


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A base table in one view: columns to read, and texts that other columns must have."""

    table: str
    columns: tuple[str, ...]
    equals: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of its temporary view."""
        digest = hashlib.sha256(repr((self.columns, self.equals)).encode()).hexdigest()[:12]
        return f"store_{self.table}_{digest}"


def view_name(name: str) -> str:
    """The temporary view for ``history.name``; temporary views have no schema."""
    return f"{HISTORY}_{name}"


def view_query(view: View) -> tuple[exp.Select, tuple[ViewSource, ...]]:
    """The query of a view over temporary views of the base tables, and these tables."""
    query = view.query.copy()
    look_up_all(query)
    _group(query)
    sources: dict[ViewSource, None] = {}
    for table in list(query.find_all(exp.Table)):
        equals = sorted(_take_equalities(table))
        select = table.find_ancestor(exp.Select)
        assert select is not None
        used = {c.name for c in select.find_all(exp.Column) if c.table == table.alias}
        columns = [c.name for c in SOURCE_TABLES[table.name].columns if c.name in used]
        source = ViewSource(table.name, tuple(columns), tuple(equals))
        sources[source] = None
        table.set("this", exp.to_identifier(source.name, quoted=True))
        table.set("db", None)
    return query, tuple(sources)


def _take_equalities(table: exp.Table) -> Iterator[tuple[str, str]]:
    """Remove from the query the equalities with a value that every row of a table must fulfil."""
    select = table.find_ancestor(exp.Select)
    assert select is not None
    where = select.args.get("where")
    tests = [where.this] if where is not None else []
    # A left join's condition binds its right side, and no view states more there.
    tests += [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on")]
    for test in tests:
        for each in list(test.flatten()) if isinstance(test, exp.And) else [test]:
            left, right = each.args.get("this"), each.args.get("expression")
            if (
                isinstance(each, exp.EQ)
                and isinstance(left, exp.Column)
                and left.table == table.alias
                and isinstance(right, exp.Literal)
            ):
                yield left.name, right.this
                each.replace(exp.true())


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
