"""Solution modifiers: order, projection, DISTINCT, LIMIT and OFFSET (SPARQL 1.1, section 15)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sensorstream.sparql.algebra import OrderCondition, Variable
from sensorstream.sql.sparql.comparisons import order_keys
from sensorstream.sql.sparql.expressions import value_of
from sensorstream.sql.sparql.fragments import named, null, sql
from sensorstream.sql.sparql.relations import (
    Layout,
    Relation,
    from_,
    join,
    order_by,
    own_columns,
    selected,
)

if TYPE_CHECKING:
    from sensorstream.sql.sparql.patterns import Compiler, Place


def ordered(
    compiler: Compiler, below: Relation, conditions: Iterable[OrderCondition], place: Place
) -> Relation:
    """The relation with columns that it is to be ordered by."""
    alias = compiler.names.fresh("r")
    frame = compiler.frame(place, (below, alias))
    columns = own_columns(replace(below, order=()), alias)
    order = []
    for each in conditions:
        for key in order_keys(frame.light(value_of(each.expression, frame)), frame):
            name = compiler.names.fresh("o")
            columns.append(named(key, name))
            order.append((name, each.descending))
    tree = frame.attach(from_(selected(columns), below.under(alias)))
    return replace(below, tree=tree, order=tuple(order))


def foremost(
    compiler: Compiler, below: Relation, condition: OrderCondition, most: int, place: Place
) -> Relation:
    """The solutions in the order of one variable, with its first values alone.

    ``most`` values have as many solutions at least. Values are few beside solutions, and an index
    has them; so solutions of other values are not read, made distinct and ordered.
    """
    variable = condition.expression
    assert isinstance(variable, Variable)
    layout = below.layouts.get(variable.name)
    if layout is None or not layout.has_id or layout.has_value:
        return ordered(compiler, below, (condition,), place)
    alias, outer = compiler.names.fresh("r"), compiler.names.fresh("r")
    values = from_(selected([layout.id_in(alias)]), below.under(alias))
    values.set("distinct", exp.Distinct())
    each = Relation(values, {variable.name: layout}, unique=True)
    first = sliced(compiler, ordered(compiler, each, (condition,), place), 0, most)
    alias = compiler.names.fresh("r")
    order = [exp.column(name, outer) for name, _ in first.order]
    tree = from_(selected([*own_columns(below, alias), *order]), below.under(alias))
    same = sql(":a = :b", a=layout.id_in(alias), b=layout.id_in(outer))
    tree.append("joins", join(first.under(outer), same))
    return replace(below, tree=tree, order=first.order)


def projected(compiler: Compiler, below: Relation, names: Sequence[str]) -> Relation:
    """Only these variables; one that is never bound is a column of nulls."""
    alias = compiler.names.fresh("r")
    layouts = {
        name: below.layouts.get(name, Layout(compiler.names.column(name), True, False, False))
        for name in names
    }
    columns: list[exp.Expr] = []
    for name, layout in layouts.items():
        if name in below.layouts:
            columns += [exp.column(each, alias) for each in layout.columns]
        else:
            columns.append(named(null("BIGINT"), layout.column))
    columns += [exp.column(name, alias) for name, _ in below.order]
    # Of solutions that are still to be made distinct, the keys may follow from a variable left out.
    keys = () if below.pending else below.keys
    columns += [exp.column(name, alias) for name in keys]
    tree = from_(selected(columns), below.under(alias))
    kept = below.layouts.keys() <= layouts.keys()
    unique = below.unique and kept
    return replace(below, tree=tree, layouts=layouts, unique=unique, keys=keys, is_unit=False)


def distinct(compiler: Compiler, below: Relation) -> Relation:
    """Each solution once; of those that differ in their order only, the first."""
    alias = compiler.names.fresh("r")
    keys = below.keys if below.pending else ()
    own = own_columns(replace(below, order=(), keys=keys), alias)
    first = [
        named((exp.Max if descending else exp.Min)(this=exp.column(name, alias)), name)
        for name, descending in below.order
    ]
    tree = from_(selected([*own, *first]), below.under(alias))
    if first and own:
        tree.set("group", exp.Group(expressions=[each.copy() for each in own]))
    elif own:
        tree.set("distinct", exp.Distinct())
    else:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    order = below.order if own else ()
    made = replace(below, tree=tree, order=order, keys=keys)
    return replace(made, unique=True, pending=False, is_unit=False)


def sliced(compiler: Compiler, below: Relation, offset: int, limit: int | None) -> Relation:
    """Some solutions, by their place in the order."""
    alias = compiler.names.fresh("r")
    tree = from_(selected(own_columns(below, alias)), below.under(alias))
    order_by(tree, below, alias)
    if limit is not None:
        if below.keys and not below.order:
            # Any solutions will do. The planner would rather go by another index, in the hope that
            # the numbers asked for are everywhere in it.
            first = [exp.Ordered(this=exp.column(name, alias)) for name in below.keys]
            tree.set("order", exp.Order(expressions=first))
        tree.set("limit", exp.Limit(expression=exp.Literal.number(limit)))
    if offset:
        tree.set("offset", exp.Offset(expression=exp.Literal.number(offset)))
    return replace(below, tree=tree, keys=(), is_unit=False)
