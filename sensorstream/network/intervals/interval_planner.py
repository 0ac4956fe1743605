"""The plan of a pattern in time, made from the algebra, with its filters in the right places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.network.expressions.expression_functions import with_base
from sensorstream.network.intervals.interval_expressions import (
    IntervalTime,
    asks_for_time,
    check_lengths,
    longest,
    timed_value,
)
from sensorstream.network.intervals.pattern_blocks import Where, block, visible
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.conjunction import join, projected
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import (
    PatternPlanner,
    expressions_of,
    lifted_filters,
    named_aggregates,
)
from sensorstream.network.rows import ALWAYS, TIMES, Row
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Comparison, Expression, Pattern, Query
from sensorstream.sparql.rewrite import constants_right, filters_split
from sensorstream.sparql.variable_scope import existences, names_in
from sensorstream.sparql.walk import nodes

_Given = TypeVar("_Given", Expression, Expression | None)


def is_in_time(query: Query) -> bool:
    """Whether a pattern is one in time: it has an operator or function about times."""
    pattern = query.form.pattern
    return any(
        isinstance(each, algebra.InTime | algebra.Stream) for each in nodes(pattern)
    ) or asks_for_time(pattern)


def plan_in_time(
    pattern: Pattern, clock: IntervalTime, base: IRI | None = None, graphs: Iterable[IRI] = ()
) -> Plan:
    """Make the plan whose rows are a query's solutions with their intervals.

    ``graphs`` are those that GRAPH matches; their triples hold always. Raises UnsupportedQuery if
    part of the pattern has no meaning over occurrences, or an expression cannot be evaluated.
    """
    pattern = named_aggregates(constants_right(filters_split(with_base(pattern, base))))
    plan = bounded(_Planner(clock, graphs).planned(pattern, Where()), None, clock)
    _check(plan, clock)
    return plan


class _Planner(PatternPlanner[Where]):
    """Plans over what happens: each row has two hidden columns."""

    def __init__(self, clock: IntervalTime, graphs: Iterable[IRI]) -> None:
        super().__init__({each: Where(graph=each) for each in graphs})
        self._clock = clock

    def special(self, pattern: Pattern, where: Where) -> Plan:
        match pattern:
            case algebra.BGP(patterns):
                return block(patterns, self.fresh, where)
            case algebra.Join(left, right):
                return join(self.planned(left, where), self.planned(right, where))
            case algebra.Seq(_, _, consumption):
                one, other = self._happening("SEQ", pattern, where)
                return plans.SeqPlan(one, other, consumption=consumption)
            case algebra.Equals():
                return plans.EqualsPlan(*self._happening("EQUALS", pattern, where))
            case algebra.LeftJoin(left, right, condition):
                one, other = self.planned(left, where), self.planned(right, where)
                return plans.LeftJoinPlan(one, other, _plain(condition), "OPTIONAL")
            case algebra.OptionalSeq(_, _, condition):
                one, other = self._happening("OPTIONALSEQ", pattern, where)
                return plans.LeftJoinPlan(other, one, _plain(condition), "OPTIONALSEQ")
            case algebra.EqualsOptional(_, _, condition):
                one, other = self._happening("EQUALSOPTIONAL", pattern, where)
                return plans.LeftJoinPlan(one, other, _plain(condition), "EQUALSOPTIONAL")
            case algebra.Filter(condition, inner):
                below, condition = self.marked(self.planned(inner, where), condition, where)
                return filtered(below, condition, self._clock)
            case algebra.Stream(name, inner):
                return self.planned(inner, Where(stream=name))
            case algebra.Slice(inner, offset, limit):
                _check_order(inner)
                return plans.SlicePlan(self.planned(inner, where), (), offset, limit)
            case algebra.Group():
                return self._group(pattern, where)
            case algebra.Project(inner, variables):
                names = [*TIMES, *(each.name for each in variables)]
                below = _without_unused(self.planned(inner, where), frozenset(names))
                return projected(below, names)
            case algebra.Distinct(inner):
                # Solutions are a set; those of one report are put in order when it is made.
                return self.planned(inner, where)
        _refuse(pattern)

    def constant(self, names: Sequence[str], rows: Sequence[Row]) -> Plan:
        lasting = dict.fromkeys((*ALWAYS, *row) for row in rows)
        return plans.ConstantPlan((*TIMES, *names), tuple(lasting))

    def graph(self, pattern: algebra.Graph) -> Plan:
        return super().graph(pattern) if self.named else _refuse(pattern)

    def _group(self, pattern: algebra.Group, where: Where) -> Plan:
        below = self.planned(pattern.pattern, where)
        # The variable of EXISTS is no part of a solution that is counted.
        below = projected(below, visible(below))
        for key in pattern.keys:
            _plain(key.expression)
        below, keys = self.keyed(below, pattern.keys, where)
        for _, aggregate in pattern.aggregates:
            _plain(aggregate.expression)
        return plans.GroupPlan(below, keys, pattern.aggregates)

    def extend(self, below: Plan, name: str, expression: Expression, where: Where) -> Plan:
        below, expression = self.marked(below, expression, where)
        return plans.ExtendPlan(below, name, expression)

    def _happening(self, operator: str, written: algebra.InTime, where: Where) -> list[Plan]:
        """The plans of what an operator compares by their intervals."""
        found = [self.planned(each, where) for each in (written.left, written.right)]
        if any(each.is_timeless for each in found):
            raise UnsupportedQuery(
                f"{operator}: one of its sides holds always (a path of any length, GRAPH or VALUES "
                "alone), so it is neither before nor equal to anything: put it into a group "
                "together with what happens",
                part=written,
            )
        return found

    def mark(self, below: Plan, asked: algebra.Exists, flag: str, where: Where) -> Plan:
        lifted, pattern, deep = lifted_filters(asked.pattern, frozenset(below.variables))
        if deep:
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
        return plans.Mark(below, self.planned(pattern, where), lifted, flag)


def _check_order(pattern: Pattern) -> None:
    """Refuse ORDER BY below LIMIT or OFFSET."""
    while isinstance(pattern, algebra.Project | algebra.Distinct | algebra.Reduced):
        pattern = pattern.pattern
    if isinstance(pattern, algebra.OrderBy):
        raise UnsupportedQuery(
            "ORDER BY with LIMIT or OFFSET in a pattern in time: what comes later could stand "
            "before what has been told: leave ORDER BY out, then LIMIT takes the solutions "
            "that end first; or use MIN or MAX",
            part=pattern.conditions[0],
        )


def _refuse(pattern: Pattern) -> NoReturn:
    match pattern:
        case algebra.Graph():
            raise UnsupportedQuery(
                "GRAPH: a pattern in time matches what happens in the streams, and the background "
                "knowledge, which is one graph here: leave GRAPH out",
                part=pattern,
            )
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


def _without_unused(plan: Plan, names: frozenset[str]) -> Plan:
    """The plan without values that nobody asks for."""
    match plan:
        case plans.ExtendPlan(source, name, expression):
            if name not in names:
                return _without_unused(source, names)
            return replace(plan, source=_without_unused(source, names | names_in(expression)))
        case plans.FilterPlan(source, condition):
            return replace(plan, source=_without_unused(source, names | names_in(condition)))
        case plans.GroupPlan():
            used = tuple(each for each in plan.aggregates if each[0].name in names)
            return replace(plan, aggregates=used)
    return plan


def _check(plan: Plan, clock: IntervalTime) -> None:
    """Refuse expressions that cannot be evaluated, before any operator is made."""
    try:
        for each in plans.parts(plan):
            for expression in expressions_of(each):
                if not isinstance(each, plans.GroupPlan) or expression in each.lengths:
                    check_lengths(expression, clock)
                timed_value(expression, each.variables, clock)
    except NotIncremental as error:
        told = f"within a pattern in time: {error.message}"
        raise UnsupportedQuery(told, part=error.part) from None


def filtered(plan: Plan, condition: Expression, clock: IntervalTime) -> Plan:
    """Add a condition to a plan, at the smallest part that binds its variables.

    A condition on the interval stays above, since each part has another one; its limit of the
    length goes down as a bound of what is kept.
    """
    lowered = _chosen(plan, condition) or _taken_together(plan, condition, clock)
    if lowered is None and not asks_for_time(condition):
        lowered = _lowered(plan, condition)
    return plans.FilterPlan(plan, condition) if lowered is None else lowered


def _chosen(plan: Plan, condition: Expression) -> Plan | None:
    """Make the filter on the interval of a SEQ that chooses among rows a test of it; or None.

    A consuming policy filters first, then consumes.
    """
    match plan:
        case plans.SeqPlan() if not plan.unrestricted and asks_for_time(condition):
            if names_in(condition) <= plan.certain:
                return replace(plan, tests=(*plan.tests, condition))
        case plans.FilterPlan(source, _):
            found = _chosen(source, condition)
            return None if found is None else replace(plan, source=found)
        case plans.Mark(left):
            found = _chosen(left, condition)
            return None if found is None else replace(plan, left=found)
    return None


def _taken_together(plan: Plan, condition: Expression, clock: IntervalTime) -> Plan | None:
    """Make a filter on the length of a GROUP BY a limit of the rows in a group; or None."""
    at_most = isinstance(condition, Comparison) and condition.operator != "="
    if not at_most or longest(condition, clock) is None:
        return None
    match plan:
        case plans.GroupPlan():
            return replace(plan, lengths=(*plan.lengths, condition))
        case plans.FilterPlan() | plans.ExtendPlan() | plans.ProjectPlan():
            found = _taken_together(plan.source, condition, clock)
            return None if found is None else replace(plan, source=found)
        case plans.Mark(left):
            found = _taken_together(left, condition, clock)
            return None if found is None else replace(plan, left=found)
    return None


def _lowered(plan: Plan, condition: Expression) -> Plan | None:
    """Put a filter into the part of a plan that binds its variables; None: there is none."""
    names = names_in(condition)

    def into(part: Plan) -> Plan:
        return _lowered(part, condition) or plans.FilterPlan(part, condition)

    match plan:
        case plans.PlanOverTwo():
            for name in plan.kept:
                if names <= (side := getattr(plan, name)).certain:
                    changed: dict[str, Any] = {name: into(side)}
                    return replace(plan, **changed)
            if isinstance(plan, plans.SeqPlan) and names <= plan.certain:
                return replace(plan, tests=(*plan.tests, condition))
        case plans.FilterPlan() | plans.ProjectPlan() | plans.Once() if (
            names <= plan.source.certain
        ):
            return replace(plan, source=into(plan.source))
        case plans.ExtendPlan() if names <= plan.source.certain and plan.name not in names:
            return replace(plan, source=into(plan.source))
    return None


def bounded(plan: Plan, most: int | None, clock: IntervalTime) -> Plan:
    """Set the length beyond which solutions of a plan are not wanted.

    A part of a solution is never longer than the whole.
    """
    inner = most
    match plan:
        case plans.FilterPlan(_, condition):
            inner = _least(most, (condition,), clock)
        case plans.GroupPlan():
            # The rows of a group must not depend on bounds from above.
            inner = longest_of(plan, clock)
        case plans.SlicePlan():
            # Nor must the rows that come first.
            inner = None
        case plans.SeqPlan():
            # Nor must the rows that SEQ chooses.
            inner = _least(most if plan.unrestricted else None, plan.tests, clock)
    changed: dict[str, Any] = {}
    match plan:
        case plans.PlanOverOne(source):
            changed["source"] = bounded(source, inner, clock)
        case plans.UnionPlan(parts):
            changed["parts"] = tuple(bounded(each, inner, clock) for each in parts)
        case plans.PlanOverTwo(left, right):
            changed["left"] = bounded(left, inner, clock)
            changed["right"] = bounded(right, inner if "right" in plan.kept else None, clock)
    if isinstance(plan, plans.SeqPlan | plans.JoinPlan | plans.LeftJoinPlan):
        optional = isinstance(plan, plans.LeftJoinPlan) and not _only_existence(plan)
        changed["longest"] = None if optional else inner
    return replace(plan, **changed)


def longest_of(plan: plans.GroupPlan, clock: IntervalTime) -> int | None:
    """The length beyond which rows are never in one group; None: there is none."""
    return _least(None, plan.lengths, clock)


def _least(most: int | None, conditions: Iterable[Expression], clock: IntervalTime) -> int | None:
    """The least of a length and the bounds by conditions."""
    bounds = (most, *(longest(each, clock) for each in conditions))
    return min((each for each in bounds if each is not None), default=None)


def _only_existence(plan: plans.LeftJoinPlan) -> bool:
    """Whether an old optional row of a key stands for all others of the key.

    A row joined with an old one is too long to be wanted; but that there is one must be known.
    """
    shared = set(plan.left.variables).intersection(plan.right.variables)
    certain = plan.left.certain & plan.right.certain
    return plan.remembers and plan.condition is None and shared <= certain
