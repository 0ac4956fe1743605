"""From a plan to operators: equal plans, of one query or of several, become one operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.network.aggregates import kind_of
from sensorstream.network.expressions.compile import test_of, value_of
from sensorstream.network.expressions.order import Constants
from sensorstream.network.expressions.values import FALSE, TRUE
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.closure import Closure
from sensorstream.network.operators.delta_join import DeltaJoin, Pattern, Test
from sensorstream.network.operators.distinct import Distinct
from sensorstream.network.operators.ends import Ends
from sensorstream.network.operators.group import Column, Group
from sensorstream.network.operators.join import Join
from sensorstream.network.operators.matching import LeftJoin, Mark, Minus
from sensorstream.network.operators.scoped_join import InScope, ScopedJoin
from sensorstream.network.operators.simple import Constant, Extend, Filter, Project, Union
from sensorstream.network.operators.slice import Slice
from sensorstream.network.operators.thresholds import Beyond, Thresholds
from sensorstream.network.ordering import order_of
from sensorstream.network.plan import nodes as plans
from sensorstream.network.reevaluate import Reevaluated
from sensorstream.network.rows import Row, slots_of
from sensorstream.network.sources import Source
from sensorstream.sparql.algebra import Aggregate, Expression
from sensorstream.sparql.printing import expression_text
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
        if not _matches_below(each):
            ahead += each.inputs
    return found


def _matches_below(plan: plans.Plan) -> bool:
    """Whether the triples of a match are part of the operator above it."""
    return isinstance(plan, plans.Thresholds) and isinstance(plan.source, plans.Match)


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
                return Filter(inputs[0], test_of(condition, places), expression_text(condition))
            case plans.Extend(_, name, expression):
                value = value_of(expression, slots_of(inputs[0].variables))
                return Extend(inputs[0], name, value, expression_text(expression))
            case plans.Slice(_, conditions, offset, limit):
                key = order_of(conditions, slots_of(inputs[0].variables)) if conditions else None
                return Slice(inputs[0], key, offset, limit)
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
            return InScope(self._scoped_join(scope, plan, tests), scope, self._network.wake)
        patterns = [Pattern(self._indexes[each.source], *each.ends) for each in plan.triples]
        return DeltaJoin(patterns, tests, plan.output, self._network.dispatcher)

    def _scope(self, plan: plans.Match) -> Scope | None:
        """The window that a match is inside of, if it is inside of one."""
        graphs = [self._indexes[each.source] for each in plan.triples]
        first = graphs[0]
        return first if isinstance(first, Scope) and all(g is first for g in graphs) else None

    def _scoped_join(self, scope: Scope, plan: plans.Match, tests: Sequence[Test]) -> ScopedJoin:
        """The match over the whole stream: one operator for all windows that share it."""
        stream = scope.occurrences
        patterns = [Pattern(stream.index, *each.ends) for each in plan.triples]
        key = (id(stream), tuple(each.ends for each in plan.triples), plan.filters, plan.output)
        found = self._network.share(
            ("stream", key),
            lambda: ScopedJoin(stream, patterns, tests, plan.output, self._network.dispatcher),
        )
        assert isinstance(found, ScopedJoin)
        return found

    def _thresholds(self, plan: plans.Thresholds) -> Node:
        constants = Constants(plan.operator)
        source = plan.source
        if isinstance(source, plans.Match) and self._scope(source) is None:
            # Its triples are matched no further than for values that some reader wants.
            wanted = Test(
                (plan.variable,),
                lambda row: constants.any_passed(row[0]),
                f"?{plan.variable} {plan.operator} any constant of its readers",
            )
            below = self._network.share(("of", plan), lambda: self._match(source, (wanted,)))
        else:
            below = self.built(source)
        return Thresholds(below, plan.variable, plan.operator, constants)

    def _beyond(self, plan: plans.Beyond) -> Node:
        source = self.built(plan.source)
        assert isinstance(source, Thresholds)
        condition = plan.condition
        holds = test_of(condition, slots_of(source.variables))
        return Beyond(source, plan.constant, holds, plan.output, expression_text(condition))

    def _mark(self, plan: plans.Mark) -> Node:
        left, right = self.built(plan.left), self.built(plan.right)
        joined = tuple(dict.fromkeys((*left.variables, *right.variables)))
        tests = [test_of(each, slots_of(joined)) for each in plan.conditions]
        condition = (lambda row: all(test(row) for test in tests)) if tests else None
        return Mark(left, right, plan.flag, TRUE, FALSE, condition)

    def _left_join(self, plan: plans.LeftJoin) -> Node:
        left, right = self.built(plan.left), self.built(plan.right)
        if plan.condition is None:
            return LeftJoin(left, right)
        names = tuple(dict.fromkeys((*left.variables, *right.variables)))
        condition = test_of(plan.condition, slots_of(names))
        return LeftJoin(left, right, condition, expression_text(plan.condition))

    def _group(self, plan: plans.Group) -> Node:
        source = self.built(plan.source)
        columns = [
            Column(
                variable.name,
                kind_of(aggregate),
                aggregate.expression,
                _value(aggregate, source),
                expression_text(aggregate),
            )
            for variable, aggregate in plan.aggregates
        ]
        return Group(source, plan.keys, columns)


def _test(condition: Expression) -> Test:
    names = tuple(sorted(names_in(condition)))
    return Test(names, test_of(condition, slots_of(names)), expression_text(condition))


def _value(aggregate: Aggregate, source: Node) -> Callable[[Row], Any]:
    """What an aggregate takes of a row."""
    if aggregate.expression is not None:
        return value_of(aggregate.expression, slots_of(source.variables))
    return (lambda row: row) if aggregate.distinct else (lambda row: True)
