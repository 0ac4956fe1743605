"""From a plan to operators: equal plans, of one query or of several, become one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.network.expressions.expression_functions import test_of, value_of
from sensorstream.network.expressions.order import Constants
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.closure import Closure
from sensorstream.network.operators.delayed import Delayed
from sensorstream.network.operators.delta_join import DeltaJoin, Pattern, Test
from sensorstream.network.operators.group import Group, columns_of
from sensorstream.network.operators.join import Join
from sensorstream.network.operators.matching import LeftJoin, Mark, Minus
from sensorstream.network.operators.scoped_join import OLDEST, ByNumber, InScope, ScopedJoin
from sensorstream.network.operators.simple import (
    Constant,
    Distinct,
    Ends,
    Extend,
    Filter,
    Project,
    Slice,
    Union,
)
from sensorstream.network.operators.thresholds import Beyond, Thresholds
from sensorstream.network.ordering import order_of
from sensorstream.network.plan import nodes as plans
from sensorstream.network.reevaluate import Reevaluated
from sensorstream.network.rows import Row, slots_of
from sensorstream.network.sources import Source
from sensorstream.sparql.algebra import Aggregate, Expression
from sensorstream.sparql.printing import part_text
from sensorstream.sparql.scope import names_in

Indexes = Mapping[Source, TripleIndex | Scope]


def build(plan: plans.Plan, network: Network, indexes: Indexes) -> Node:
    """The operator of a plan: one that is there already, or a new one, filled and connected.

    ``indexes`` are the graphs that the plan's sources stand for.
    """
    builder = _Builder(network, indexes)
    # Not recursively: a plan may be as deep as a query.
    for each in reversed(_from_the_top(plan)):
        builder.built(each)
    return builder.built(plan)


def _from_the_top(plan: plans.Plan) -> list[plans.Plan]:
    """A plan and all below it, each after what it feeds; as often as it feeds something."""
    found, ahead = list[plans.Plan](), [plan]
    while ahead:
        each = ahead.pop()
        found.append(each)
        if _match_below(each) is None:
            ahead += each.inputs
    return found


def _match_below(plan: plans.Plan) -> plans.Match | None:
    """The match whose triples are found, with all thresholds on them, by the plan's operator."""
    match plan:
        case plans.Beyond(plans.Thresholds(plans.Match() as found)):
            return found
    return None


class _Builder:
    def __init__(self, network: Network, indexes: Indexes) -> None:
        self._network = network
        self._indexes = indexes

    def built(self, plan: plans.Plan) -> Node:
        return self._network.share(plan, partial(self.made, plan))

    def made(self, plan: plans.Plan) -> Node:
        """A new operator, over those of the plan's inputs."""
        match plan:
            case plans.Match():
                return self._match(plan, ())
            case plans.Thresholds():
                return self._thresholds(plan)
            case plans.Beyond():
                return self._beyond(plan)
            case plans.Constant(names, rows):
                return Constant(names, rows)
            case plans.Anew():
                return Reevaluated(plan, self._indexes, self._network)
            case plans.Mark():
                return self._mark(plan)
            case plans.LeftJoin():
                return self._left_join(plan)
            case plans.Group():
                return self._group(plan)
        inputs = [self.built(each) for each in plan.inputs]
        match plan:
            case plans.Join(_, _, output):
                return Join(inputs[0], inputs[1], output)
            case plans.Minus():
                return Minus(inputs[0], inputs[1])
            case plans.Union():
                return Union(inputs)
            case plans.Distinct():
                return Distinct(inputs[0])
            case plans.Project(_, names):
                return Project(inputs[0], names)
            case plans.Filter(_, condition):
                places = slots_of(inputs[0].variables)
                return Filter(inputs[0], test_of(condition, places), part_text(condition))
            case plans.Extend(_, name, expression):
                value = value_of(expression, slots_of(inputs[0].variables))
                return Extend(inputs[0], name, value, part_text(expression))
            case plans.Slice(_, conditions, offset, limit):
                key = order_of(conditions, slots_of(inputs[0].variables)) if conditions else None
                return Slice(inputs[0], key, offset, limit)
            case plans.Delayed(_, delay, names):
                return self._delayed(inputs[0], delay, names)
            case plans.Closure(source, start, end):
                one, other = source.variables
                return Closure(inputs[0], (one, other), start, end)
            case plans.Ends(_, subject, object_):
                return Ends(inputs[0], (0, 1), (subject, object_))
        raise AssertionError(plan)

    def _match(self, plan: plans.Match, more: tuple[Test, ...]) -> Node:
        tests = [*map(_test, plan.filters), *more]
        scope = self._scope(plan)
        if scope is not None:
            return self._in_scope(scope, self._scoped_join(scope, plan, tests))
        patterns = [Pattern(self._indexes[each.source], *each.ends) for each in plan.triples]
        return DeltaJoin(patterns, tests, plan.output, self._network.dispatcher)

    def _scope(self, plan: plans.Match) -> Scope | None:
        """The window that a match is inside of, if it is inside of one."""
        graphs = [self._indexes[each.source] for each in plan.triples]
        first = graphs[0]
        return first if isinstance(first, Scope) and all(g is first for g in graphs) else None

    def _scoped_join(
        self,
        scope: Scope,
        plan: plans.Match,
        tests: Sequence[Test],
        under: plans.Thresholds | None = None,
    ) -> Node:
        """The match over the whole stream: one operator for all windows that share it.

        ``under`` are the thresholds that one of the tests is for, if any.
        """
        stream = scope.occurrences
        patterns = [Pattern(stream.index, *each.ends) for each in plan.triples]
        wanted = None if under is None else (under.variable, under.operator)
        key = (id(stream), _ends(plan), plan.filters, plan.output, wanted)
        return self._network.share(
            ("stream", key),
            lambda: ScopedJoin(stream, patterns, tests, plan.output, self._network.dispatcher),
        )

    def _in_scope(self, scope: Scope, source: Node) -> InScope:
        held = self._network.share(("by number", source.key), lambda: ByNumber(source))
        assert isinstance(held, ByNumber)
        return InScope(held, scope, self._network.agenda, self._network.wake)

    def _thresholds(self, plan: plans.Thresholds) -> Node:
        constants = Constants(plan.operator)
        source = plan.source
        if not isinstance(source, plans.Match):
            return Thresholds(self.built(source), plan.variable, plan.operator, constants)
        # Its triples are matched no further than for values that some reader wants.
        wanted = Test(
            (plan.variable,),
            lambda row: constants.any_passed(row[0]),
            f"?{plan.variable} {plan.operator} any constant of its readers",
        )
        scope = self._scope(source)
        if scope is None:
            below = self._network.share(("of", plan), lambda: self._match(source, (wanted,)))
        else:
            below = self._scoped_join(scope, source, [*map(_test, source.filters), wanted], plan)
        return Thresholds(below, plan.variable, plan.operator, constants)

    def _beyond(self, plan: plans.Beyond) -> Node:
        match = _match_below(plan)
        scope = None if match is None else self._scope(match)
        if scope is None:
            source = self.built(plan.source)
            return self._beyond_constant(plan, source, plan.output)
        # First the filter, then the scope: windows of all lengths share the filter.
        stream = id(scope.occurrences)
        assert match is not None
        over = plan.source
        key = (stream, _ends(match), match.filters, match.output, over.variable, over.operator)
        source = self._network.share(("thresholds", key), lambda: self._thresholds(over))
        found = self._network.share(
            ("beyond", key, plan.constant, plan.output),
            lambda: self._beyond_constant(plan, source, (*plan.output, OLDEST)),
        )
        return self._in_scope(scope, found)

    def _beyond_constant(self, plan: plans.Beyond, source: Node, output: Sequence[str]) -> Beyond:
        assert isinstance(source, Thresholds)
        condition = plan.condition
        holds = test_of(condition, slots_of(source.variables))
        return Beyond(source, plan.constant, holds, output, part_text(condition))

    def _delayed(self, source: Node, delay: int, names: Sequence[str]) -> Node:
        assert isinstance(source, Group)
        network = self._network
        return Delayed(source, names, delay, network.now, network.agenda, network.wake)

    def _mark(self, plan: plans.Mark) -> Node:
        left, right = self.built(plan.left), self.built(plan.right)
        joined = tuple(dict.fromkeys((*left.variables, *right.variables)))
        tests = [test_of(each, slots_of(joined)) for each in plan.conditions]
        condition = (lambda row: all(test(row) for test in tests)) if tests else None
        return Mark(left, right, plan.flag, condition)

    def _left_join(self, plan: plans.LeftJoin) -> Node:
        left, right = self.built(plan.left), self.built(plan.right)
        if plan.condition is None:
            return LeftJoin(left, right)
        names = tuple(dict.fromkeys((*left.variables, *right.variables)))
        condition = test_of(plan.condition, slots_of(names))
        return LeftJoin(left, right, condition, part_text(plan.condition))

    def _group(self, plan: plans.Group) -> Node:
        source = self.built(plan.source)
        columns = columns_of(plan, lambda each: _value(each, source))
        return Group(source, plan.keys, columns)


def _ends(plan: plans.Match) -> tuple[tuple[plans.End, plans.End, plans.End], ...]:
    """Its triple patterns, wherever they are matched."""
    return tuple(each.ends for each in plan.triples)


def _test(condition: Expression) -> Test:
    names = tuple(sorted(names_in(condition)))
    return Test(names, test_of(condition, slots_of(names)), part_text(condition))


def _value(aggregate: Aggregate, source: Node) -> Callable[[Row], Any]:
    """What an aggregate takes of a row."""
    if aggregate.expression is not None:
        return value_of(aggregate.expression, slots_of(source.variables))
    return (lambda row: row) if aggregate.distinct else (lambda row: True)
