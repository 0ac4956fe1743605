"""Names for expressions as tables below each other, where Spark allows no query beside a table.

The tree gives a name to an expression by ``CROSS JOIN LATERAL (SELECT … AS name)``. Spark allows
this, but neither with an EXISTS in it nor with what is another value each time, such as RAND.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from sensorstream.sql.sparql.fragments import named, table
from sensorstream.sql.sparql.relations import from_, selected

_ALONE: Final = (exp.Exists, exp.Rand, exp.Uuid)


def layered(select: exp.Select) -> exp.Select:
    """The same select, with such names given in tables below it."""
    joins = select.args.get("joins") or []
    names = [each for each in joins if _is_name(each)]
    if not any(each.find(*_ALONE) for each in names):
        return select
    tables = [select.args["from_"].this, *(each.this for each in joins if not _is_name(each))]
    aliases = {each.alias_or_name for each in tables}
    every = [column for column in select.find_all(exp.Column) if column.table in aliases]
    flat = {_flat(column): column for column in every}
    below = from_(selected(named(column, name) for name, column in flat.items()), tables[0].copy())
    for each in joins:
        if not _is_name(each):
            below.append("joins", each.copy())
    known = list(flat)
    for number, each in enumerate(names):
        alias = f"layer{number}"
        rename = _renamed(alias, aliases)
        let = each.this.this
        made = [
            named(rename(part.unalias()), f"{let.alias}_{part.alias}")
            for part in let.this.expressions
        ]
        columns = [*(exp.column(name, alias) for name in known), *made]
        below = from_(selected(columns), table(below, alias))
        known += [part.alias for part in made]
        aliases.add(let.alias)
    rest = select.copy()
    rest.set("joins", None)
    rest.set("from_", None)
    above = _renamed("layers", aliases)(rest)
    assert isinstance(above, exp.Select)
    return from_(above, table(below, "layers"))


def _is_name(join: exp.Join) -> bool:
    lateral = join.this
    return (
        isinstance(lateral, exp.Lateral)
        and isinstance(lateral.this.this, exp.Select)
        and not lateral.this.this.args.get("from_")
    )


def _flat(column: exp.Column) -> str:
    return f"{column.table}_{column.name}"


def _renamed(alias: str, tables: set[str]) -> Callable[[exp.Expr], exp.Expr]:
    """A copy of a tree in which the columns of some tables are those of the table below."""
    known = frozenset(tables)

    def rename(tree: exp.Expr) -> exp.Expr:
        made = exp.Paren(this=tree.copy())
        for column in list(made.find_all(exp.Column)):
            if column.table in known:
                new: exp.Expr = exp.column(_flat(column), alias)
                if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
                    # The column of a result keeps its name.
                    new = named(new, column.name)
                column.replace(new)
        inner: exp.Expr = made.this
        inner.pop()
        return inner

    return rename
