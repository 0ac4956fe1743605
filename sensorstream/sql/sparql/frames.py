"""Where an expression stands: the row it sees, and the tables that it makes necessary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sqlglot import exp

from sensorstream.model.terms import Term
from sensorstream.sparql.algebra import Pattern
from sensorstream.sql.sparql.fragments import named, sql, table
from sensorstream.sql.sparql.relations import LOADED, Names, Relation, join, selected
from sensorstream.sql.sparql.scope import Id
from sensorstream.sql.sparql.values import Columns, Unbound, Value

Asked: TypeAlias = "Callable[[Pattern, Frame], exp.Expr]"


class Frame:
    """A row of one or two relations, for expressions.

    Terms whose values an expression needs are looked up by joins, and parts that it needs more
    than once are computed in tables of their own; :meth:`attach` puts both below a select.
    ``outer`` is the row around an EXISTS.
    """

    def __init__(
        self,
        names: Names,
        terms: exp.Select,
        ids: Callable[[Term], Id | None],
        exists: Asked,
        *relations: tuple[Relation, str],
        outer: Frame | None = None,
    ) -> None:
        self.names = names
        self.ids = ids
        self.exists = exists
        self.outer = outer
        self._terms = terms
        self._relations = relations
        self._loads: list[exp.Join] = []
        self._lets: list[exp.Subquery] = []
        self._values: dict[str, Value] = {}

    def sees(self, name: str) -> bool:
        """Whether the row has a variable."""
        return any(name in relation.layouts for relation, _ in self._relations)

    def id(self, name: str) -> exp.Expr | None:
        """The id of a variable's term; None if it has none, or two rows may give it."""
        found = [(r.layouts[name], alias) for r, alias in self._relations if name in r.layouts]
        if not found:
            return None if self.outer is None else self.outer.id(name)
        if any(not layout.has_id for layout, _ in found):
            return None
        for layout, alias in found:
            if layout.certain:
                return layout.id_in(alias)
        ids = [layout.id_in(alias) for layout, alias in found]
        return ids[0] if len(ids) == 1 else exp.Coalesce(this=ids[0], expressions=ids[1:])

    def is_certain(self, name: str) -> bool:
        """Whether the row binds a variable surely."""
        if self.sees(name):
            return any(relation.is_certain(name) for relation, _ in self._relations)
        return self.outer is not None and self.outer.is_certain(name)

    def variable(self, name: str) -> Value:
        """The value of a variable."""
        if name not in self._values:
            self._values[name] = self._variable(name)
        return self._values[name]

    def _variable(self, name: str) -> Value:
        found = [(r.layouts[name], alias) for r, alias in self._relations if name in r.layouts]
        if not found:
            return Unbound() if self.outer is None else self.outer.variable(name)
        valued = [(layout, alias) for layout, alias in found if layout.has_value]
        for layout, alias in valued:
            if layout.certain or len(found) == 1:
                return layout.value_in(alias)
        if valued and len(valued) == len(found):
            one, other = (layout.value_in(alias) for layout, alias in found)
            parts = {
                part: exp.Coalesce(this=one.part(part), expressions=[other.part(part)])
                for part in ("kind", "text", "datatype", "language", "number")
            }
            return Columns(parts, self.id(name))
        id_ = self.id(name)
        assert id_ is not None
        return self.load(id_, certain=self.is_certain(name))

    def load(self, id_: exp.Expr, *, certain: bool) -> Columns:
        """The term with an id."""
        alias = self.names.fresh("t")
        source = table(self._terms.copy(), alias)
        on = sql(":one = :other", one=exp.column("id", alias), other=id_)
        self._loads.append(join(source, on, "" if certain else "LEFT"))
        return Columns({part: exp.column(part, alias) for part in LOADED}, id_)

    def light(self, value: Value) -> Value:
        """The value with parts that may be repeated."""
        if value.is_light:
            return value
        alias = self.names.fresh("e")
        parts = value.parts()
        self._let({name: each.copy() for name, each in parts.items()}, alias)
        return value.remade({name: exp.column(name, alias) for name in parts})

    def computed(self, tree: exp.Expr, name: str = "number") -> exp.Expr:
        """One expression that may be repeated."""
        alias = self.names.fresh("e")
        self._let({name: tree.copy()}, alias)
        return exp.column(name, alias)

    def _let(self, parts: Mapping[str, exp.Expr], alias: str) -> None:
        tree = selected(named(each, name) for name, each in parts.items())
        chance = any(each.find(exp.Rand, exp.Uuid) for each in parts.values())
        if chance and not tree.find(exp.Column) and (one := self._column()) is not None:
            # Else it might be joined first, once for all rows.
            tree.append("expressions", named(one, "row_"))
        # Without OFFSET, PostgreSQL would put the expressions back into each place.
        tree.set("offset", exp.Offset(expression=exp.Literal.number(0)))
        self._lets.append(table(tree, alias))

    def _column(self) -> exp.Expr | None:
        """Any column of the row; None: it has none, so that there is one row."""
        for relation, alias in self._relations:
            for layout in relation.layouts.values():
                return layout.id_in(alias) if layout.has_id else layout.value_in(alias).kind
        return None

    def attach(self, tree: exp.Select) -> exp.Select:
        """Put what the expressions need below a select that has a FROM."""
        for load in self._loads:
            tree.append("joins", load)
        for each in self._lets:
            tree.append("joins", exp.Join(this=exp.Lateral(this=each), kind="CROSS"))
        return tree

    def within(self, condition: exp.Expr) -> exp.Expr:
        """A condition with what it needs inside itself, for ON."""
        assert not self._loads
        if not self._lets:
            return condition
        first, *rest = self._lets
        tree = selected([named(condition, "truth")])
        tree.set("from_", exp.From(this=first))
        for each in rest:
            tree.append("joins", exp.Join(this=exp.Lateral(this=each), kind="CROSS"))
        return exp.Subquery(this=tree)
