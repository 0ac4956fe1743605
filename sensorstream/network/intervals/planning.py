"""From the algebra to the plan of a pattern in time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final, NoReturn, TypeVar

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.network.expressions.expression_functions import with_base
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.blocks import Where, block
from sensorstream.network.intervals.conditions import (
    Clock,
    asks_for_time,
    check_lengths,
    timed_test,
    timed_value,
)
from sensorstream.network.intervals.filters import bounded, conjuncts, filtered
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, Variable
from sensorstream.sparql.rewrite.constants_right import constants_right
from sensorstream.sparql.rewrite.filters_split import filters_split
from sensorstream.sparql.scope import borrowed, existences, in_scope, names_in
from sensorstream.sparql.walk import nodes, replaced

_Given = TypeVar("_Given", Expression, Expression | None)
_TEMPORAL: Final = (
    algebra.Seq,
    algebra.Equals,
    algebra.OptionalSeq,
    algebra.EqualsOptional,
    algebra.Stream,
)


def is_in_time(query: Query) -> bool:
    """Whether a query's pattern is one in time: an operator or a function of it asks for when."""
    pattern = query.form.pattern
    return any(isinstance(each, _TEMPORAL) for each in nodes(pattern)) or asks_for_time(pattern)


def plan_in_time(
    pattern: Pattern, clock: Clock, base: IRI | None = None, graphs: Iterable[IRI] = ()
) -> Plan:
    """The plan whose rows are a query's solutions with their intervals.

    ``graphs`` are those that GRAPH matches; what they say holds always.

    Raises:
        UnsupportedQuery: part of the pattern has no meaning over occurrences, or an expression
            cannot be evaluated.
    """
    rewritten = constants_right(filters_split(with_base(pattern, base)))
    plan = bounded(_Planner(clock, tuple(graphs)).planned(rewritten), None, clock)
    _check(plan, clock)
    return plan


class _Planner:
    """Plans the pattern of one query."""

    def __init__(self, clock: Clock, graphs: tuple[IRI, ...]) -> None:
        self._clock = clock
        self._graphs = graphs
        # What the GRAPH or STREAM that is being planned names.
        self._where = Where()
        self._fresh = count()

    def planned(self, pattern: Pattern) -> Plan:
        match pattern:
            case algebra.BGP(patterns):
                return block(patterns, self._fresh, self._where)
            case algebra.Join(left, right):
                return _join(self.planned(left), self.planned(right))
            case algebra.Seq(left, right, consumption):
                one, other = self._happening("SEQ", pattern, left, right)
                return timed.Seq(one, other, consumption=consumption)
            case algebra.Equals(left, right):
                return timed.Equals(*self._happening("EQUALS", pattern, left, right))
            case algebra.LeftJoin(left, right, condition):
                one, other = self.planned(left), self.planned(right)
                return timed.Optional(one, other, _plain(condition), "OPTIONAL")
            case algebra.OptionalSeq(left, right, condition):
                one, other = self._happening("OPTIONALSEQ", pattern, left, right)
                return timed.Optional(other, one, _plain(condition), "OPTIONALSEQ")
            case algebra.EqualsOptional(left, right, condition):
                one, other = self._happening("EQUALSOPTIONAL", pattern, left, right)
                return timed.Optional(one, other, _plain(condition), "EQUALSOPTIONAL")
            case algebra.Minus(left, right):
                return timed.Minus(self.planned(left), self.planned(right))
            case algebra.Union(left, right):
                return plans.Union((self.planned(left), self.planned(right)))
            case algebra.Filter(condition, inner):
                below, condition = self._marked(self.planned(inner), condition)
                return filtered(below, conjuncts(condition), self._clock)
            case algebra.Extend(inner, variable, expression):
                below, expression = self._marked(self.planned(inner), expression)
                return _extended(below, variable.name, expression)
            case algebra.Graph(name, inner):
                return self._graph(pattern, name, inner)
            case algebra.Stream(name, inner):
                return self._within(Where(stream=name), inner)
            case algebra.Slice(inner, offset, limit):
                return self._first(inner, offset, limit)
            case algebra.Values(variables, rows):
                return plans.Constant(tuple(each.name for each in variables), rows)
            case algebra.Group():
                return self._group(pattern)
            case algebra.Project(inner, variables):
                names = [each.name for each in variables]
                return _projected(_without_unused(self.planned(inner), frozenset(names)), names)
            case algebra.Distinct(inner) | algebra.Reduced(inner) | algebra.OrderBy(inner, _):
                # Solutions are a set; those of one report are put in order when it is made.
                return self.planned(inner)
        _refuse(pattern)

    def _first(self, pattern: Pattern, offset: int, limit: int | None) -> Plan:
        below = pattern
        while isinstance(below, algebra.Project | algebra.Distinct | algebra.Reduced):
            below = below.pattern
        if isinstance(below, algebra.OrderBy):
            raise UnsupportedQuery(
                "ORDER BY with LIMIT or OFFSET in a pattern in time: what comes later could stand "
                "before what has been told: leave ORDER BY out, then LIMIT takes the solutions "
                "that end first; or use MIN or MAX",
                part=below.conditions[0],
            )
        return timed.First(self.planned(pattern), offset, limit)

    def _group(self, pattern: algebra.Group) -> Plan:
        below = self.planned(pattern.pattern)
        # Whether something exists is no part of a solution that is counted.
        told = [name for name in below.variables if not name.startswith(".")]
        below = _projected(below, told)
        keys: list[str] = []
        for place, key in enumerate(pattern.keys):
            expression = _plain(key.expression)
            if isinstance(expression, Variable) and key.variable in (None, expression):
                name = expression.name
            else:
                name = key.variable.name if key.variable is not None else f".key{place}"
            if name not in below.variables:
                below = plans.Extend(below, name, expression)
            if name not in keys:
                keys.append(name)
        for _, aggregate in pattern.aggregates:
            _plain(aggregate.expression)
        return timed.Group(below, tuple(keys), pattern.aggregates)

    def _happening(self, operator: str, written: Pattern, *sides: Pattern) -> list[Plan]:
        """The plans of what an operator compares by their intervals."""
        found = [self.planned(each) for each in sides]
        if any(map(timed.is_timeless, found)):
            raise UnsupportedQuery(
                f"{operator}: one of its sides holds always (a path of any length, GRAPH or VALUES "
                "alone), so it is neither before nor equal to anything: put it into a group "
                "together with what happens",
                part=written,
            )
        return found

    # -- EXISTS -----------------------------------------------------------------------------

    def _marked(self, below: Plan, expression: Expression) -> tuple[Plan, Expression]:
        """Replace each EXISTS by a variable that says whether its pattern matches."""
        for found in existences(expression):
            flag = Variable(f".exists{next(self._fresh)}")
            below = self._mark(below, found, flag.name)
            expression = replaced(expression, partial(_exchanged, found, flag))
        return below, expression

    def _mark(self, below: Plan, asked: algebra.Exists, flag: str) -> Plan:
        outer, pattern = frozenset(below.variables), asked.pattern
        lifted: list[Expression] = []
        inside: list[Expression] = []
        while isinstance(pattern, algebra.Filter):
            here = borrowed(pattern, outer) > borrowed(pattern.pattern, outer)
            (lifted if here else inside).append(pattern.condition)
            pattern = pattern.pattern
        for condition in reversed(inside):
            pattern = algebra.Filter(condition, pattern)
        if deep := borrowed(pattern, outer):
            raise UnsupportedQuery(
                f"EXISTS within a pattern in time: ?{min(deep)} of the outer pattern is used deep "
                "within: filters that stand directly in its braces see outer variables, and an "
                "optional part or MINUS those that the part before it binds",
                part=asked,
            )
        for condition in lifted:
            if existences(condition) or asks_for_time(condition):
                raise UnsupportedQuery(
                    "EXISTS within a pattern in time: a filter in it that looks at outer variables "
                    "cannot ask for the interval, or for another EXISTS: write a filter for each",
                    part=condition,
                )
        return timed.Mark(below, self.planned(pattern), tuple(lifted), flag)

    # -- graphs -----------------------------------------------------------------------------

    def _graph(self, written: algebra.Graph, name: IRI | Variable, inner: Pattern) -> Plan:
        if not self._graphs:
            raise UnsupportedQuery(
                "GRAPH: a pattern in time matches what happens in the streams, and the background "
                "knowledge, which is one graph here: leave GRAPH out",
                part=written,
            )
        if isinstance(name, IRI):
            if name not in self._graphs:
                return plans.Constant(tuple(sorted(in_scope(inner))), ())
            return self._within(Where(graph=name), inner)
        found = tuple(
            _join(plans.Constant((name.name,), ((each,),)), self._within(Where(each), inner))
            for each in self._graphs
        )
        return found[0] if len(found) == 1 else plans.Union(found)

    def _within(self, where: Where, inner: Pattern) -> Plan:
        outer, self._where = self._where, where
        try:
            return self.planned(inner)
        finally:
            self._where = outer


def _refuse(pattern: Pattern) -> NoReturn:
    match pattern:
        case algebra.Window():
            raise UnsupportedQuery(
                "WINDOW: a pattern in time reads streams, not windows: write STREAM <name> { … }, "
                "and bound how long it takes by FILTER(getDURATION() < …)",
                part=pattern,
            )
        case algebra.Service():
            raise UnsupportedQuery(
                "SERVICE: a pattern in time matches what happens in the streams, and the "
                "background knowledge",
                part=pattern,
            )
    raise UnsupportedQuery(f"{type(pattern).__name__}: not within a pattern in time", part=pattern)


def _plain(expression: _Given) -> _Given:
    for asked in existences(expression):
        raise UnsupportedQuery(
            "EXISTS within a pattern in time stands in FILTER, HAVING or BIND, not in GROUP BY, in "
            "an aggregate, or directly in the group of an optional part: bind it before by "
            "BIND(EXISTS { … } AS ?found), or put the optional part into braces of its own",
            part=asked,
        )
    return expression


def _exchanged(old: algebra.Exists, new: Variable, node: object) -> object | None:
    return new if node is old else None


def _is_unit(plan: Plan) -> bool:
    return isinstance(plan, plans.Constant) and plan.is_unit


def _join(left: Plan, right: Plan) -> Plan:
    if _is_unit(left):
        return right
    return left if _is_unit(right) else timed.Join(left, right)


def _projected(plan: Plan, names: Sequence[str]) -> Plan:
    return plan if tuple(names) == plan.variables else plans.Project(plan, tuple(names))


def _extended(plan: Plan, name: str, expression: Expression) -> Plan:
    """The plan with one value more: an aggregate under another name is given out by its group."""
    if isinstance(plan, timed.Group) and isinstance(expression, Variable):
        for variable, aggregate in plan.aggregates:
            if variable == expression:
                return replace(plan, aggregates=(*plan.aggregates, (Variable(name), aggregate)))
    return plans.Extend(plan, name, expression)


def _without_unused(plan: Plan, names: frozenset[str]) -> Plan:
    """The plan without values that nobody asks for."""
    match plan:
        case plans.Extend(source, name, expression):
            if name not in names:
                return _without_unused(source, names)
            asked = names | names_in(expression)
            return replace(plan, source=_without_unused(source, asked))
        case plans.Filter(source, condition):
            return replace(plan, source=_without_unused(source, names | names_in(condition)))
        case timed.Group():
            used = tuple(each for each in plan.aggregates if each[0].name in names)
            return replace(plan, aggregates=used)
    return plan


def _check(plan: Plan, clock: Clock) -> None:
    """Refuse expressions that cannot be evaluated, before any operator is made."""
    try:
        for each in timed.parts(plan):
            names = each.variables
            match each:
                case plans.Filter(_, condition):
                    check_lengths(condition, clock)
                    timed_test(condition, names, clock)
                case plans.Extend(source, _, expression):
                    check_lengths(expression, clock)
                    timed_value(expression, source.variables, clock)
                case timed.Group(source, _, aggregates):
                    for _, aggregate in aggregates:
                        if aggregate.expression is not None:
                            timed_value(aggregate.expression, source.variables, clock)
                    for length in each.lengths:
                        check_lengths(length, clock)
                case timed.Mark(left, right, conditions):
                    seen = tuple(dict.fromkeys((*left.variables, *right.variables)))
                    for test in conditions:
                        timed_test(test, seen, clock)
                case timed.Seq(_, _, tests):
                    for test in tests:
                        check_lengths(test, clock)
                        timed_test(test, names, clock)
                case timed.Optional():
                    if each.condition is not None:
                        check_lengths(each.condition, clock)
                        timed_test(each.condition, names, clock)
    except NotIncremental as error:
        told = f"within a pattern in time: {error.message}"
        raise UnsupportedQuery(told, part=error.part) from None
