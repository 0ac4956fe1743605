"""Solutions of a pattern as an SQL relation.

A variable is stored as the id of its term, as a computed value (five columns), or as both, in
columns of the same names in every relation. A null is an unbound variable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.terms import IRI, Term
from sensorstream.sparql.algebra import Pattern
from sensorstream.sql.sparql.compiled_query import Id
from sensorstream.sql.sparql.sql_terms import STORED, TYPES, SqlTerm, Unbound, UnknownTerm, said
from sensorstream.sql.sql_fragments import all_of, any_of, free, named, null, sql, table

LOADED = (*STORED, "moment")
"""The columns of a term that was looked up."""


@frozen
class Layout:
    """The columns in which a relation stores a variable; ``certain``: every row binds it."""

    column: str
    has_id: bool
    has_value: bool
    certain: bool

    @property
    def columns(self) -> Iterator[str]:
        """The names of its columns."""
        if self.has_id:
            yield self.column
        if self.has_value:
            for part in LOADED if self.has_id else STORED:
                yield f"{self.column}_{part}"

    def id_in(self, alias: str) -> exp.Expr:
        """The column of the id, under an alias."""
        return exp.column(self.column, alias)

    def value_in(self, alias: str) -> UnknownTerm:
        """The columns of the value, under an alias."""
        parts = LOADED if self.has_id else STORED
        return UnknownTerm(
            {part: exp.column(f"{self.column}_{part}", alias) for part in parts},
            self.id_in(alias) if self.has_id else None,
        )

    def bound_in(self, alias: str) -> exp.Expr:
        """Whether the variable is bound, under an alias."""
        column = self.column if self.has_id else f"{self.column}_kind"
        return sql("NOT :column IS NULL", column=exp.column(column, alias))


@frozen
class SolutionSelect:
    """A select that gives solutions.

    ``unique``: no two solutions are equal. ``pending``: they are not, but rows may be: DISTINCT is
    still to come (which may be cheaper after a join). ``order`` names columns that solutions are
    ordered by, with whether descending. ``keys`` are columns that follow from the others and in
    whose order an index has the rows, so that the first distinct ones are found without reading
    all.
    """

    tree: exp.Select
    layouts: Mapping[str, Layout]
    unique: bool = False
    pending: bool = False
    order: tuple[tuple[str, bool], ...] = ()
    keys: tuple[str, ...] = ()
    is_unit: bool = False
    """Whether it is the one empty solution, which joins with everything."""

    @property
    def columns(self) -> list[str]:
        """The names of all columns that matter."""
        found = [name for each in self.layouts.values() for name in each.columns]
        return [*found, *(name for name, _ in self.order), *self.keys]

    def under(self, alias: str) -> exp.Subquery:
        """The relation as a table of FROM."""
        return table(self.tree, alias)

    def is_certain(self, name: str) -> bool:
        return name in self.layouts and self.layouts[name].certain


@mutable
class FreshNames:
    """Names of columns and tables that no other part of a query uses."""

    _variables: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def column(self, variable: str) -> str:
        """The column of a variable, the same wherever it stands."""
        return self._variables.setdefault(variable, f"v{len(self._variables) + 1}")

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"


def selected(expressions: Iterable[exp.Expr]) -> exp.Select:
    """A select of these columns; of a constant if there are none."""
    found = list(expressions)
    if not found:
        found = [named(exp.Literal.number(1), "unit")]
    return exp.Select(expressions=found)


def from_(tree: exp.Select, *tables: exp.Expr) -> exp.Select:
    """Set the FROM of a select: a product of tables."""
    first, *rest = tables
    tree.set("from_", exp.From(this=first))
    for each in rest:
        tree.append("joins", exp.Join(this=each, kind="CROSS"))
    return tree


def columns_of(tree: exp.Expr, alias: str, names: Iterable[str]) -> exp.Select:
    """A select of some columns of a query."""
    return from_(selected(exp.column(name, alias) for name in names), table(tree, alias))


def where(tree: exp.Select, *conditions: exp.Expr) -> exp.Select:
    """Set the WHERE of a select."""
    if conditions:
        tree.set("where", exp.Where(this=all_of(*conditions)))
    return tree


def join(table: exp.Expr, on: exp.Expr, side: str = "") -> exp.Join:
    """A join of a table."""
    return exp.Join(this=table, on=on, side=side or None)


def own_columns(relation: SolutionSelect, alias: str) -> list[exp.Expr]:
    """The columns of a relation, all under one alias."""
    return [exp.column(name, alias) for name in relation.columns]


def settled(relation: SolutionSelect, names: FreshNames) -> SolutionSelect:
    """A relation in which each solution comes as often as it should."""
    if not relation.pending:
        return relation
    if not relation.tree.args.get("distinct"):
        tree = free(relation.tree)
        if tree.args.get("limit") or tree.args.get("order") or tree.args.get("group"):
            tree = columns_of(relation.tree, names.fresh("r"), relation.columns)
        tree.set("distinct", exp.Distinct())
        # In their order, so that PostgreSQL makes only the first few solutions distinct.
        order_by(tree, relation)
        relation = replace(relation, tree=tree)
    return replace(relation, pending=False, unique=True)


def order_by(tree: exp.Select, relation: SolutionSelect, alias: str | None = None) -> None:
    """Set the ORDER BY of a select to the order of a relation below it."""
    if relation.order:
        keys = [
            exp.Ordered(this=exp.column(name, alias), desc=descending, nulls_first=not descending)
            for name, descending in relation.order
        ]
        tree.set("order", exp.Order(expressions=keys))


def empty(variables: Iterable[str], names: FreshNames) -> SolutionSelect:
    """The relation without solutions."""
    layouts = {each: Layout(names.column(each), True, False, True) for each in variables}
    tree = selected(named(null("BIGINT"), layout.column) for layout in layouts.values())
    return SolutionSelect(where(tree, exp.false()), layouts, unique=True)


def unit() -> SolutionSelect:
    """The one empty solution."""
    return SolutionSelect(selected(()), {}, unique=True, is_unit=True)


def compatible(
    left: tuple[SolutionSelect, str], right: tuple[SolutionSelect, str], shared: Sequence[str]
) -> exp.Expr:
    """Whether two rows agree on the variables they share; these are stored alike."""
    (one, alias), (other, second) = left, right
    conditions = []
    for name in shared:
        a, b = one.layouts[name], other.layouts[name]
        if a.has_id and b.has_id:
            same = sql(":a = :b", a=a.id_in(alias), b=b.id_in(second))
        else:
            same = same_value(a.value_in(alias), b.value_in(second))
        doubts = [
            sql("NOT :bound", bound=layout.bound_in(where_))
            for layout, where_ in ((a, alias), (b, second))
            if not layout.certain
        ]
        conditions.append(any_of(same, *doubts))
    return all_of(*conditions)


def same_value(a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """Whether the parts of two terms are equal; of such a form that they can be hashed."""
    return said(
        ":a_kind = :b_kind AND :a_text = :b_text "
        "AND COALESCE(:a_datatype, '') = COALESCE(:b_datatype, '') "
        "AND COALESCE(:a_language, '') = COALESCE(:b_language, '')",
        a=a,
        b=b,
    )


def merged_columns(
    left: tuple[SolutionSelect, str], right: tuple[SolutionSelect, str], *, optional: bool
) -> tuple[list[exp.Expr], dict[str, Layout]]:
    """The columns of a join: a shared variable has the value of the side that binds it; the right
    side may be missing if ``optional``.
    """
    (one, alias), (other, second) = left, right
    columns: list[exp.Expr] = []
    layouts: dict[str, Layout] = {}
    for name in dict.fromkeys((*one.layouts, *other.layouts)):
        a, b = one.layouts.get(name), other.layouts.get(name)
        if b is None or (a is not None and a.certain and a.has_id >= b.has_id):
            assert a is not None
            layouts[name] = a
            columns += [exp.column(each, alias) for each in a.columns]
        elif a is None or (b.certain and not optional):
            layouts[name] = replace(b, certain=b.certain and not optional)
            columns += [exp.column(each, second) for each in b.columns]
        else:
            # Both are stored alike, but perhaps only one side has the id as well.
            has_id = a.has_id and b.has_id
            made = Layout(a.column, has_id, not has_id or (a.has_value and b.has_value), a.certain)
            layouts[name] = made
            columns += [
                named(
                    exp.Coalesce(
                        this=exp.column(each, alias), expressions=[exp.column(each, second)]
                    ),
                    each,
                )
                for each in made.columns
            ]
    return columns, layouts


def aligned(relation: SolutionSelect, target: Mapping[str, Layout], alias: str) -> list[exp.Expr]:
    """The columns of a relation in the layouts of a union; null where a variable is missing."""
    columns: list[exp.Expr] = []
    for name, layout in target.items():
        own = relation.layouts.get(name)
        for each in layout.columns:
            if own is None:
                part = each.rpartition("_")[2] if each != layout.column else ""
                columns.append(named(null(TYPES.get(part, "BIGINT")), each))
            else:
                columns.append(exp.column(each, alias))
    return columns


Asked: TypeAlias = "Callable[[Pattern, Frame], exp.Expr]"


def _beside(tree: exp.Select, tables: Iterable[exp.Expr]) -> exp.Select:
    """A select with tables that may name the columns of those before them."""
    for each in tables:
        tree.append("joins", exp.Join(this=exp.Lateral(this=each), kind="CROSS"))
    return tree


class Frame:
    """A row of one or two relations, for expressions.

    Terms whose values an expression needs are looked up by joins, and parts that it needs more
    than once are computed in tables of their own; :meth:`attach` puts both below a select.
    ``outer`` is the row around an EXISTS.
    """

    def __init__(
        self,
        names: FreshNames,
        terms: exp.Select,
        ids: Callable[[Term], Id | None],
        exists: Asked,
        *relations: tuple[SolutionSelect, str],
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
        self._values: dict[str, SqlTerm] = {}

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

    def variable(self, name: str) -> SqlTerm:
        """The value of a variable."""
        if name not in self._values:
            self._values[name] = self._variable(name)
        return self._values[name]

    def _variable(self, name: str) -> SqlTerm:
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
                for part in STORED
            }
            return UnknownTerm(parts, self.id(name))
        id_ = self.id(name)
        assert id_ is not None
        return self.load(id_, certain=self.is_certain(name))

    def load(self, id_: exp.Expr, *, certain: bool) -> UnknownTerm:
        """The term with an id."""
        alias = self.names.fresh("t")
        source = table(self._terms.copy(), alias)
        on = sql(":one = :other", one=exp.column("id", alias), other=id_)
        self._loads.append(join(source, on, "" if certain else "LEFT"))
        return UnknownTerm({part: exp.column(part, alias) for part in LOADED}, id_)

    def light(self, value: SqlTerm) -> SqlTerm:
        """The value with parts that may be repeated."""
        if value.is_light:
            return value
        return value.remade(self._let(value.parts()))

    def computed(self, tree: exp.Expr, name: str = "number") -> exp.Expr:
        """Compute an expression that may be repeated in a table of its own."""
        return self._let({name: tree})[name]

    def _let(self, parts: Mapping[str, exp.Expr]) -> Mapping[str, exp.Expr]:
        """The columns of a table of its own that computes parts."""
        alias = self.names.fresh("e")
        tree = selected(named(each.copy(), name) for name, each in parts.items())
        chance = any(each.find(exp.Rand, exp.Uuid) for each in parts.values())
        if chance and not tree.find(exp.Column) and (one := self._column()) is not None:
            # Otherwise it might be joined first, once for all rows.
            tree.append("expressions", named(one, "row_"))
        # Without OFFSET, PostgreSQL would put the expressions back into each place.
        tree.set("offset", exp.Offset(expression=exp.Literal.number(0)))
        self._lets.append(table(tree, alias))
        return {name: exp.column(name, alias) for name in parts}

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
        return _beside(tree, self._lets)

    def within(self, condition: exp.Expr) -> exp.Expr:
        """A condition with what it needs inside itself, for ON."""
        assert not self._loads
        if not self._lets:
            return condition
        first, *rest = self._lets
        tree = selected([named(condition, "truth")])
        return exp.Subquery(this=_beside(from_(tree, first), rest))


@frozen
class NumberBound:
    """``?name operator number``, which a filter demands; the number as a double."""

    name: str
    operator: str
    number: float


@frozen
class OneOf:
    """The terms that a filter allows, where only the same term is equal."""

    name: str
    terms: tuple[Term, ...]


@frozen
class PatternPlace:
    """The context of a pattern: its graph, and how its solutions are used.

    ``once``: how often a solution comes makes no difference. ``bounds`` are conditions that the
    filters above imply. ``outer`` is the row around an EXISTS; ``substituted`` tells whether its
    values must be put into blocks of triples, not only compared at the end.
    """

    graph: exp.Select
    once: bool = False
    bounds: tuple[NumberBound | OneOf, ...] = ()
    outer: Frame | None = None
    substituted: bool = False
    most: int | None = None
    """For the solutions of one triple in the order of one variable: so many are needed."""


UNREPEATABLE: Final = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Functions that give another value each time."""


@mutable
class Compiler(ABC):
    """The context in which the parts of one query are compiled; a subclass compiles its patterns.

    ``beside``, ``marked``: as in :class:`.QueryRelations`.
    """

    terms: exp.Select
    ids: dict[Term, Id]
    named: Mapping[IRI, exp.Select]
    names: FreshNames = field(default_factory=FreshNames)
    beside: bool = True
    marked: bool = False

    @abstractmethod
    def exists(self, pattern: Pattern, frame: Frame, place: PatternPlace) -> exp.Expr:
        """Whether a pattern has a solution for a row of the frame."""

    def frame(self, place: PatternPlace, *relations: tuple[SolutionSelect, str]) -> Frame:
        """The row of relations, for expressions at a place."""
        return Frame(
            self.names,
            self.terms,
            self.ids.get,
            lambda pattern, frame: self.exists(pattern, frame, place),
            *relations,
            outer=place.outer,
        )

    def valued(
        self, relation: SolutionSelect, names: Iterable[str], place: PatternPlace
    ) -> SolutionSelect:
        """The relation with the values of some variables beside their ids."""
        loaded = [
            name
            for name in dict.fromkeys(names)
            if name in relation.layouts and not relation.layouts[name].has_value
        ]
        if not loaded:
            return relation
        alias = self.names.fresh("r")
        frame = self.frame(place, (relation, alias))
        columns, layouts = own_columns(relation, alias), dict(relation.layouts)
        for name in loaded:
            value = frame.variable(name)
            assert isinstance(value, UnknownTerm)
            layouts[name] = replace(layouts[name], has_value=True)
            columns += [
                named(
                    exp.column(part, value.kind.args["table"].name),
                    f"{layouts[name].column}_{part}",
                )
                for part in LOADED
            ]
        tree = frame.attach(from_(selected(columns), relation.under(alias)))
        return replace(relation, tree=tree, layouts=layouts)
