"""Translate a pattern of the algebra to a relation of its solutions (SPARQL 1.1, section 18.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Term
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Variable
from sensorstream.sparql.variable_scope import in_scope, names_in
from sensorstream.sparql.walk import nodes, variables
from sensorstream.sql.sparql import path_relations, solution_modifiers
from sensorstream.sql.sparql.solution_relations import (
    UNREPEATABLE,
    Compiler,
    Frame,
    Layout,
    PatternPlace,
    SolutionSelect,
    aligned,
    columns_of,
    compatible,
    empty,
    from_,
    join,
    merged_columns,
    own_columns,
    same_value,
    selected,
    settled,
    where,
)
from sensorstream.sql.sparql.sql_expressions import truth_of
from sensorstream.sql.sql_fragments import all_of, any_of, constant, null, sql, titled, united

_FEW: Final = 1_000
"""Solutions: for more, their values are not looked for first."""


class PatternCompiler(Compiler):
    """Compiles the patterns of one query."""

    def relation(self, pattern: Pattern, place: PatternPlace) -> SolutionSelect:
        """The solutions of a pattern; raises UnsupportedQuery if SQL cannot say part of it."""
        match pattern:
            case algebra.BGP(patterns):
                return path_relations.block(self, patterns, place)
            case algebra.Join(left, right):
                return self._join(self.relation(left, place), self.relation(right, place), place)
            case algebra.LeftJoin():
                return self._left_join(pattern, place)
            case algebra.Filter():
                return self._filter(pattern, place)
            case algebra.Union(left, right):
                return self._union([self.relation(each, place) for each in (left, right)], place)
            case algebra.Minus(left, right):
                return self._minus(left, right, place)
            case algebra.Extend(inner, variable, expression):
                return solution_modifiers.extended(
                    self,
                    self.relation(inner, _below(place, variable.name)),
                    variable.name,
                    expression,
                    place,
                )
            case algebra.Graph(name, inner):
                return self._graph(name, inner, place)
            case algebra.Values(variables, rows):
                return self._values([each.name for each in variables], rows)
            case algebra.Group():
                return solution_modifiers.grouped(
                    self, pattern, self._members(pattern, place), place
                )
            case algebra.OrderBy(inner, conditions):
                below = self.relation(inner, place)
                if place.most is not None:
                    return solution_modifiers.foremost(
                        self, below, conditions[0], place.most, place
                    )
                return solution_modifiers.ordered(self, below, conditions, place)
            case algebra.Project(inner, variables):
                below = self.relation(inner, PatternPlace(place.graph, place.once, most=place.most))
                kept = below if place.once else self._kept(below, variables)
                return solution_modifiers.projected(self, kept, [each.name for each in variables])
            case algebra.Distinct(inner):
                return solution_modifiers.distinct(
                    self, self.relation(inner, replace(place, once=True))
                )
            case algebra.Reduced(inner):
                return self.relation(inner, place)
            case algebra.Slice(inner, offset, limit):
                most = _most(pattern)
                below = self.relation(
                    inner, PatternPlace(place.graph, outer=place.outer, most=most)
                )
                return solution_modifiers.sliced(self, settled(below, self.names), offset, limit)
            case algebra.Service():
                raise UnsupportedQuery("SERVICE: a query cannot call other endpoints")
        raise UnsupportedQuery(
            f"{type(pattern).__name__.upper()}: it belongs to a continuous query; history is "
            "asked with plain SPARQL, and with AT or DURING for a time"
        )

    # -- joins --------------------------------------------------------------------------------

    def _join(
        self, left: SolutionSelect, right: SolutionSelect, place: PatternPlace
    ) -> SolutionSelect:
        if left.is_unit or right.is_unit:
            return right if left.is_unit else left
        return self._joined(left, right, place)

    def _left_join(self, pattern: algebra.LeftJoin, place: PatternPlace) -> SolutionSelect:
        left = self.relation(pattern.left, place)
        right = self.relation(pattern.right, replace(place, bounds=()))
        return self._joined(left, right, place, pattern.condition, "LEFT")

    def _joined(
        self,
        left: SolutionSelect,
        right: SolutionSelect,
        place: PatternPlace,
        condition: Expression | None = None,
        side: str = "",
    ) -> SolutionSelect:
        shared = _shared(left, right)
        left, right = self._matched(left, right, shared, place)
        if condition is not None:
            needed = names_in(condition)
            left, right = (self.valued(each, needed, place) for each in (left, right))
        left, right, pending = self._deferred(left, right, shared, place)
        one, other = self.names.fresh("r"), self.names.fresh("r")
        on = compatible((left, one), (right, other), shared)
        if condition is not None:
            frame = self.frame(place, (left, one), (right, other))
            on = all_of(on, frame.within(truth_of(condition, frame)))
        columns, layouts = merged_columns((left, one), (right, other), optional=bool(side))
        tree = from_(selected(columns), left.under(one))
        tree.append("joins", join(right.under(other), on, side))
        return SolutionSelect(tree, layouts, _is_unique(left, right, shared), pending)

    def _matched(
        self,
        left: SolutionSelect,
        right: SolutionSelect,
        shared: Sequence[str],
        place: PatternPlace,
    ) -> tuple[SolutionSelect, SolutionSelect]:
        """Both relations with the shared variables stored so that they can be compared."""
        mixed = [n for n in shared if left.layouts[n].has_id != right.layouts[n].has_id]
        return self.valued(left, mixed, place), self.valued(right, mixed, place)

    def _deferred(
        self,
        left: SolutionSelect,
        right: SolutionSelect,
        shared: Sequence[str],
        place: PatternPlace,
    ) -> tuple[SolutionSelect, SolutionSelect, bool]:
        """Whether DISTINCT can wait until after a join; if not, the relations after it."""
        pending = left.pending or right.pending
        if not pending or place.once or _is_unique(left, right, shared):
            return left, right, pending
        return settled(left, self.names), settled(right, self.names), False

    def _minus(
        self, left_pattern: Pattern, right_pattern: Pattern, place: PatternPlace
    ) -> SolutionSelect:
        left = self.relation(left_pattern, place)
        right = self.relation(right_pattern, replace(place, once=True, bounds=()))
        shared = _shared(left, right)
        if not shared:
            return left
        left, right = self._matched(left, right, shared, place)
        one, other = self.names.fresh("r"), self.names.fresh("r")
        conditions = [compatible((left, one), (right, other), shared)]
        if not any(left.is_certain(n) and right.is_certain(n) for n in shared):
            conditions.append(
                any_of(
                    *(
                        all_of(
                            left.layouts[name].bound_in(one), right.layouts[name].bound_in(other)
                        )
                        for name in shared
                    )
                )
            )
        found = where(from_(selected(()), right.under(other)), *conditions)
        tree = where(
            from_(selected(own_columns(left, one)), left.under(one)),
            exp.Not(this=exp.Exists(this=found)),
        )
        return replace(left, tree=tree, is_unit=False)

    def _union(self, parts: Sequence[SolutionSelect], place: PatternPlace) -> SolutionSelect:
        if not place.once:
            parts = [settled(each, self.names) for each in parts]
        target: dict[str, Layout] = {}
        for name in dict.fromkeys(n for each in parts for n in each.layouts):
            layouts = [each.layouts[name] for each in parts if name in each.layouts]
            has_id = all(layout.has_id for layout in layouts)
            certain = len(layouts) == len(parts) and all(layout.certain for layout in layouts)
            target[name] = Layout(layouts[0].column, has_id, not has_id, certain)
        valued = [name for name, layout in target.items() if layout.has_value]
        parts = [self.valued(each, valued, place) for each in parts]
        selects: list[exp.Expr] = []
        for each in parts:
            alias = self.names.fresh("r")
            selects.append(from_(selected(aligned(each, target, alias)), each.under(alias)))
        columns = [name for each in target.values() for name in each.columns]
        return SolutionSelect(columns_of(united(selects), self.names.fresh("r"), columns), target)

    # -- conditions ---------------------------------------------------------------------------

    def _filter(self, pattern: algebra.Filter, place: PatternPlace) -> SolutionSelect:
        conditions = [pattern.condition]
        inner = pattern.pattern
        while isinstance(inner, algebra.Filter):
            conditions.append(inner.condition)
            inner = inner.pattern
        bounds = [found for each in conditions if (found := path_relations.bound(each)) is not None]
        below = self.relation(inner, replace(place, bounds=(*place.bounds, *bounds)))
        alias = self.names.fresh("r")
        frame = self.frame(place, (below, alias))
        tests = [truth_of(each, frame) for each in conditions]
        tree = from_(selected(own_columns(below, alias)), below.under(alias))
        return replace(below, tree=where(frame.attach(tree), *tests), is_unit=False)

    def exists(self, pattern: Pattern, frame: Frame, place: PatternPlace) -> exp.Expr:
        inner = self.relation(
            pattern,
            PatternPlace(
                place.graph,
                once=True,
                outer=frame,
                substituted=any(
                    isinstance(n, algebra.LeftJoin | algebra.Minus | algebra.Exists)
                    for n in nodes(pattern)
                ),
            ),
        )
        shared = [name for name in inner.layouts if _is_seen(frame, name)]
        mixed = [
            name for name in shared if not inner.layouts[name].has_id or frame.id(name) is None
        ]
        inner = self.valued(inner, mixed, place)
        alias = self.names.fresh("r")
        conditions = []
        for name in shared:
            layout, id_ = inner.layouts[name], frame.id(name)
            doubts = []
            if not layout.certain:
                doubts.append(sql("NOT :bound", bound=layout.bound_in(alias)))
            if layout.has_id and id_ is not None:
                same = sql(":a = :b", a=layout.id_in(alias), b=id_)
                unbound = sql(":id IS NULL", id=id_)
            else:
                outer = frame.light(frame.variable(name))
                same = same_value(layout.value_in(alias), outer)
                unbound = sql(":kind IS NULL", kind=outer.kind)
            if not frame.is_certain(name):
                doubts.append(unbound)
            conditions.append(any_of(same, *doubts))
        return exp.Exists(this=where(from_(selected(()), inner.under(alias)), *conditions))

    def _members(self, group: algebra.Group, place: PatternPlace) -> SolutionSelect:
        """The solutions that are grouped."""
        once = _is_once(group)
        below = self.relation(group.pattern, PatternPlace(place.graph, once, outer=place.outer))
        if not (once and below.pending):
            return below
        # Values are fewer than solutions, so only the values are looked up and compared.
        seen = {each.name for each in variables((group.keys, group.aggregates))}
        names = [each for each in below.layouts if each in seen]
        only = solution_modifiers.projected(self, replace(below, order=()), names)
        return solution_modifiers.distinct(self, only)

    # -- values -------------------------------------------------------------------------------

    def _values(
        self, names: Sequence[str], rows: Sequence[Sequence[Term | None]]
    ) -> SolutionSelect:
        if not rows:
            return empty(names, self.names)
        layouts = {
            name: Layout(
                self.names.column(name), True, False, all(row[n] is not None for row in rows)
            )
            for n, name in enumerate(names)
        }
        tuples = [
            exp.Tuple(
                expressions=[
                    null("BIGINT") if term is None else exp.cast(constant(self.ids[term]), "BIGINT")
                    for term in row
                ]
                or [constant(1)]
            )
            for row in rows
        ]
        alias = self.names.fresh("r")
        columns = [each.column for each in layouts.values()] or ["unit"]
        source = exp.Values(expressions=tuples, alias=titled(alias, columns))
        tree = from_(selected(exp.column(each, alias) for each in columns), source)
        return SolutionSelect(tree, layouts, unique=len(set(map(tuple, rows))) == len(rows))

    # -- graphs -------------------------------------------------------------------------------

    def _graph(self, name: Variable | IRI, inner: Pattern, place: PatternPlace) -> SolutionSelect:
        if isinstance(name, IRI):
            if name not in self.named:
                # A graph that does not exist has no solutions, not even of an empty pattern.
                return empty(sorted(in_scope(inner)), self.names)
            return self.relation(inner, replace(place, graph=self.named[name]))
        parts = [
            self._join(
                self._values([name.name], [[graph]]),
                self.relation(inner, replace(place, graph=tree)),
                place,
            )
            for graph, tree in self.named.items()
        ]
        if not parts:
            return empty(sorted(in_scope(inner) | {name.name}), self.names)
        return parts[0] if len(parts) == 1 else self._union(parts, place)

    def _kept(self, below: SolutionSelect, variables: Iterable[Variable]) -> SolutionSelect:
        """The relation with its solutions counted, if variables are going to be left out."""
        if below.layouts.keys() <= {each.name for each in variables}:
            return below
        return settled(below, self.names)


def _most(slice_: algebra.Slice) -> int | None:
    """The number of solutions that LIMIT needs of one triple ordered by one variable; else None."""
    match slice_:
        case algebra.Slice(
            algebra.Project(
                algebra.OrderBy(algebra.BGP((_,)), (algebra.OrderCondition(Variable()),))
            ),
            offset,
            int() as limit,
        ) if 0 < offset + limit <= _FEW:
            return offset + limit
    return None


def _is_once(group: algebra.Group) -> bool:
    """Whether how often a solution comes, and what else it has, makes no difference to a group."""
    return all(
        each.expression is not None and (each.distinct or each.name in solution_modifiers.EXTREMES)
        for _, each in group.aggregates
    ) and not any(
        isinstance(each, algebra.Exists)
        or (isinstance(each, algebra.Call) and each.name in UNREPEATABLE)
        for each in nodes((group.keys, group.aggregates))
    )


def _below(place: PatternPlace, name: str) -> PatternPlace:
    """The place below a BIND: what is known of its variable is not known there."""
    return replace(place, bounds=tuple(each for each in place.bounds if each.name != name))


def _shared(left: SolutionSelect, right: SolutionSelect) -> list[str]:
    return [name for name in left.layouts if name in right.layouts]


def _is_unique(left: SolutionSelect, right: SolutionSelect, shared: Iterable[str]) -> bool:
    """Whether a join of relations without equal solutions has none either: a solution must tell
    which of each side it was made of.
    """
    return (
        left.unique
        and right.unique
        and all(left.is_certain(name) and right.is_certain(name) for name in shared)
    )


def _is_seen(frame: Frame, name: str) -> bool:
    return frame.sees(name) or (frame.outer is not None and _is_seen(frame.outer, name))
