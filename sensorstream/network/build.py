"""Operators made from plans: equal plans, of one query or of several, become one operator."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.exact_values import ways_of_no_length
from sensorstream.network.expressions.constant_order import Constants
from sensorstream.network.expressions.expression_functions import all_of, test_of
from sensorstream.network.intervals import interval_joins
from sensorstream.network.intervals.interval_expressions import (
    IntervalTime,
    timed_test,
    timed_value,
)
from sensorstream.network.intervals.interval_operators import (
    TimedFirst,
    TimedGroup,
    TimedProject,
    TimedUnion,
    same_occurrence,
)
from sensorstream.network.intervals.interval_planner import longest_of
from sensorstream.network.intervals.occurrence_source import (
    KnownRows,
    OccurrenceSource,
    PatternOccurrences,
)
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.delayed_groups import DelayedOperator
from sensorstream.network.operators.delta_join import DeltaJoin, Pattern, Test
from sensorstream.network.operators.group_by import GroupOperator, columns_of
from sensorstream.network.operators.join import JoinOperator, Sides
from sensorstream.network.operators.matching import Matching, MatchTest, mark, minus, optional
from sensorstream.network.operators.path_closure import ClosureOperator
from sensorstream.network.operators.place_join import (
    PlaceJoinOperator,
    PlaceMatching,
    constant_places,
)
from sensorstream.network.operators.row_operators import (
    ConstantOperator,
    DistinctOperator,
    ExtendOperator,
    RowByRow,
    SliceOperator,
    UnionOperator,
    ends_of,
)
from sensorstream.network.operators.scoped_join import OLDEST, ByNumber, InScope, ScopedJoin
from sensorstream.network.operators.thresholds import BeyondOperator, ThresholdsOperator
from sensorstream.network.ordering import order_of
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.conjunction import Conjunction, assembled, places_between
from sensorstream.network.plan.paths import add_path
from sensorstream.network.plan.plan_text import plan_text, stream_text
from sensorstream.network.plan.planner import expressions_of
from sensorstream.network.query_sources import DEFAULT, Knowledge, TripleSource
from sensorstream.network.reevaluate import Reevaluated
from sensorstream.network.rows import TIMES, Row, rearranged, shown, slots_of
from sensorstream.sparql.algebra import Aggregate, Expression, OneOrMore, ZeroOrMore
from sensorstream.sparql.variable_scope import names_in

Indexes = Mapping[TripleSource, TripleIndex | WindowScope]


@frozen
class Happening:
    """The sources of operators of patterns in time.

    All triples of the named ``graphs`` hold always.
    """

    network: Network
    source: OccurrenceSource
    knowledge: Knowledge
    clock: IntervalTime
    graphs: Mapping[IRI, TripleIndex] = field(default_factory=dict)


def build(plan: plans.Plan, network: Network, indexes: Indexes) -> Node:
    """Return the operator of a plan: an existing one, or a new one, filled and connected.

    ``indexes`` are the graphs that the plan's sources stand for.
    """
    return _Builder(network, indexes, None).whole(plan)


def build_in_time(plan: plans.Plan, happening: Happening) -> Node:
    """Make the operators of a pattern in time, filled and connected.

    Equal parts of one query are one operator; queries share none, since each begins with nothing of
    what happened before it.
    """
    return _Builder(happening.network, {}, happening).whole(plan)


def _match_below(plan: plans.Plan) -> plans.Match | None:
    """The match whose triples are found, with all thresholds on them, by the plan's operator."""
    match plan:
        case plans.BeyondPlan(plans.ThresholdsPlan(plans.Match() as found)):
            return found
    return None


class _Builder:
    def __init__(self, network: Network, indexes: Indexes, happening: Happening | None) -> None:
        self._network = network
        self._indexes = indexes
        self._happening = happening
        self._owner: Hashable = None if happening is None else object()

    def whole(self, plan: plans.Plan) -> Node:
        """The operator of a plan, those below it first."""
        # Not recursively: a plan may be as deep as a query.
        found, ahead = list[plans.Plan](), [plan]
        while ahead:
            each = ahead.pop()
            found.append(each)
            if _match_below(each) is None:
                ahead += each.inputs
        for each in reversed(found):
            self.built(each)
        return self.built(plan)

    def built(self, plan: plans.Plan) -> Node:
        """The operator of a plan; an existing one, or a new one."""
        key = plan if self._owner is None else (self._owner, plan)
        return self._told(key, partial(self._made, plan), plan)

    def _told(self, key: Hashable, make: Callable[[], Node], *parts: str | plans.Plan) -> Node:
        """The operator of a key, described to people by texts and the lines of plans."""
        node = self._network.share(key, make)
        if not node.text:
            node.text = " ".join(e if isinstance(e, str) else plan_text(e) for e in parts)
        return node

    def _made(self, plan: plans.Plan) -> Node:
        return self._of_source(plan) or self._over(plan, [self.built(e) for e in plan.inputs])

    def _of_source(self, plan: plans.Plan) -> Node | None:
        """Make the operator of a plan that reads graphs, streams or thresholds; else None."""
        match plan:
            case plans.Match():
                return self._match(plan, ())
            case plans.ThresholdsPlan():
                return self._thresholds(plan)
            case plans.BeyondPlan():
                return self._beyond(plan)
            case plans.ConstantPlan():
                return ConstantOperator(plan)
            case plans.Anew():
                return Reevaluated(plan, self._indexes, self._network)
        happening = self._happening
        match plan:
            case plans.Occurrence() if happening is not None:
                return PatternOccurrences(plan, happening.source, happening.knowledge)
            case plans.KnownPlan(graph=None) if happening is not None:
                known = happening.knowledge
                return KnownRows(plan, known.background, known.holds, self._pairs)
            case plans.KnownPlan(graph=IRI() as graph) if happening is not None:
                return KnownRows(plan, happening.graphs[graph], _always, self._pairs)
        return None

    def _over(self, plan: plans.Plan, inputs: list[Node]) -> Node:
        """Make an operator over those of the plan's inputs."""
        one, other = inputs[0], inputs[-1]
        match plan:
            case plans.JoinPlan(_, _, output):
                return (
                    interval_joins.TimedJoin(plan, one, other)
                    if one.timed
                    else JoinOperator(one, other, output)
                )
            case plans.PlaceJoinPlan():
                return PlaceJoinOperator(plan, one, other)
            case plans.EqualsPlan():
                return interval_joins.TimedJoin(plan, one, other)
            case plans.SeqPlan(_, _, tests, _, consumption):
                return interval_joins.SEQ[consumption](
                    plan, one, other, self._test(tests, plan.variables)
                )
            case plans.LeftJoinPlan() | plans.MinusPlan() | plans.Mark():
                question = self._question(plan, one, other)
                if one.timed:
                    return interval_joins.TimedMatching(plan, one, other, question)
                places = places_between(expressions_of(plan), one.variables, other.variables)
                if places is not None:
                    return PlaceMatching(plan, one, other, question, places)
                return Matching(plan, one, other, question)
            case plans.UnionPlan():
                return (TimedUnion if one.timed else UnionOperator)(plan, inputs)
            case plans.DistinctPlan():
                return DistinctOperator(one)
            case plans.ProjectPlan(_, names):
                mapped = rearranged(one.variables, names)
                return (TimedProject if one.timed else RowByRow)(one, names, mapped)
            case plans.PathEndsPlan(_, subject, object_):
                names = plan.variables
                return RowByRow(one, names, ends_of((subject, object_)), certain=names)
            case plans.FilterPlan(_, condition):
                return _filter(one, timed_test(condition, one.variables, self._clock))
            case plans.Once(_, pairs):
                return _filter(one, same_occurrence(one.variables, pairs))
            case plans.ExtendPlan(_, name, expression):
                return ExtendOperator(one, name, self._value(expression, one.variables))
            case plans.SlicePlan() if one.timed:
                return TimedFirst(plan, one)
            case plans.SlicePlan(_, conditions, offset, limit):
                key = order_of(conditions, slots_of(one.variables)) if conditions else None
                return SliceOperator(one, key, offset, limit)
            case plans.GroupPlan():
                return self._group(plan, one)
            case plans.DelayedPlan(_, delay, names):
                return self._delayed(one, delay, names)
            case plans.ClosurePlan(_, start, end):
                first, last = one.variables
                return ClosureOperator(one, (first, last), start, end)
        raise AssertionError(plan)

    @property
    def _clock(self) -> IntervalTime | None:
        return None if self._happening is None else self._happening.clock

    def _value(self, expression: Expression, names: Sequence[str]) -> Callable[[Row], Any]:
        return timed_value(expression, names, self._clock)

    def _test(
        self, conditions: Iterable[Expression], names: Sequence[str]
    ) -> Callable[[Row], bool] | None:
        """Make a test of whether all conditions are true of a row; None if there are none."""
        return all_of([timed_test(each, names, self._clock) for each in conditions])

    def _question(
        self, plan: plans.LeftJoinPlan | plans.MinusPlan | plans.Mark, left: Node, right: Node
    ) -> MatchTest:
        same_time = isinstance(plan, plans.LeftJoinPlan) and not plan.remembers
        sides = Sides(left, right, alike=TIMES if same_time else ())
        match plan:
            case plans.MinusPlan():
                return minus(sides)
            case plans.Mark(_, _, conditions):
                return mark(sides, self._test(conditions, sides.variables))
        alone = (None,) * (len(plan.variables) - len(left.variables))
        condition = () if plan.condition is None else (plan.condition,)
        return optional(sides, alone, self._test(condition, sides.variables))

    def _match(self, plan: plans.Match, more: tuple[Test, ...]) -> Node:
        tests = [*map(_test, plan.filters), *more]
        scope = self._scope(plan)
        if scope is not None:
            return self._in_scope(scope, self._scoped_join(scope, plan, tests))
        patterns = [Pattern(self._indexes[each.source], *each.ends) for each in plan.triples]
        return DeltaJoin(patterns, tests, plan.variables, self._network.dispatcher)

    def _scope(self, plan: plans.Match) -> WindowScope | None:
        """The window that all of a match is inside of, if there is one."""
        graphs = [self._indexes[each.source] for each in plan.triples]
        first = graphs[0]
        return first if isinstance(first, WindowScope) and all(g is first for g in graphs) else None

    def _scoped_join(
        self,
        scope: WindowScope,
        plan: plans.Match,
        tests: Sequence[Test],
        under: plans.ThresholdsPlan | None = None,
    ) -> Node:
        """The match over the whole stream, shared by all windows.

        ``under`` are the thresholds that one of the tests is for, if any.
        """
        stream = scope.occurrences
        patterns = [Pattern(stream.index, *each.ends) for each in plan.triples]
        wanted = None if under is None else (under.variable, under.operator)
        key = (id(stream), _ends(plan), plan.filters, plan.variables, wanted)
        return self._told(
            ("stream", key),
            lambda: ScopedJoin(stream, patterns, tests, plan.variables, self._network.dispatcher),
            stream_text(plan),
            *(() if under is None else (_any_of(under),)),
        )

    def _in_scope(self, scope: WindowScope, source: Node) -> InScope:
        held = self._network.share(("by number", source.key), lambda: ByNumber(source))
        assert isinstance(held, ByNumber)
        return InScope(held, scope, self._network.agenda, self._network.wake)

    def _thresholds(self, plan: plans.ThresholdsPlan) -> Node:
        operator = plan.operator
        constants = constant_places(operator) if isinstance(operator, IRI) else Constants(operator)
        source = plan.source
        if not isinstance(source, plans.Match):
            return ThresholdsOperator(self.built(source), plan.variable, plan.operator, constants)
        # Triples are matched further only for values that some reader wants.
        wanted = Test((plan.variable,), lambda row: constants.any_passed(row[0]))
        scope = self._scope(source)
        if scope is None:
            below = self._told(
                ("of", plan), lambda: self._match(source, (wanted,)), source, _any_of(plan)
            )
        else:
            below = self._scoped_join(scope, source, [*map(_test, source.filters), wanted], plan)
        return ThresholdsOperator(below, plan.variable, plan.operator, constants)

    def _beyond(self, plan: plans.BeyondPlan) -> Node:
        match = _match_below(plan)
        scope = None if match is None else self._scope(match)
        if scope is None:
            source = self.built(plan.source)
            return self._beyond_constant(plan, source, plan.variables)
        # The filter comes before the scope, so that windows of all lengths share it.
        stream = id(scope.occurrences)
        assert match is not None
        over = plan.source
        key = (stream, _ends(match), match.filters, match.variables, over.variable, over.operator)
        source = self._network.share(("thresholds", key), lambda: self._thresholds(over))
        found = self._told(
            ("beyond", key, plan.constant, plan.variables),
            lambda: self._beyond_constant(plan, source, (*plan.variables, OLDEST)),
            plan,
        )
        return self._in_scope(scope, found)

    def _beyond_constant(
        self, plan: plans.BeyondPlan, source: Node, output: Sequence[str]
    ) -> BeyondOperator:
        assert isinstance(source, ThresholdsOperator)
        holds = test_of(plan.condition, slots_of(source.variables))
        return BeyondOperator(source, plan.constant, holds, output)

    def _delayed(self, source: Node, delay: int, names: Sequence[str]) -> Node:
        assert isinstance(source, GroupOperator)
        network = self._network
        return DelayedOperator(source, names, delay, network.now, network.agenda, network.wake)

    def _pairs(self, plan: plans.KnownPlan, triples: Iterable[Triple]) -> Iterable[Row]:
        """The ends of a path over some triples, as they are now."""
        index, path = TripleIndex(), plan.path
        assert path is not None
        index.add(*triples)
        if isinstance(path, OneOrMore) and ways_of_no_length(path.path):
            path = ZeroOrMore(path.path)
        found = Conjunction()
        add_path(found, (plan.subject, path, plan.object), DEFAULT, count())
        network = Network(budget=self._network.budget)
        return build(assembled(found), network, {DEFAULT: index}).rows()

    def _group(self, plan: plans.GroupPlan, source: Node) -> Node:
        columns = columns_of(plan, lambda each: self._taken(each, source))
        if not source.timed:
            return GroupOperator(plan, source, columns)
        clock = self._clock
        assert clock is not None
        longest = longest_of(plan, clock)
        return TimedGroup(plan, source, columns, self._test(plan.lengths, ()), longest)

    def _taken(self, aggregate: Aggregate, source: Node) -> Callable[[Row], Any]:
        """The function that gives the value an aggregate takes of a row."""
        if aggregate.expression is not None:
            return self._value(aggregate.expression, source.variables)
        hidden = len(source.variables) - len(shown(source.variables))
        return (lambda row: row[hidden:]) if aggregate.distinct else (lambda row: True)


def _ends(plan: plans.Match) -> tuple[tuple[plans.End, plans.End, plans.End], ...]:
    """The triple patterns of a match, without their sources."""
    return tuple(each.ends for each in plan.triples)


def _test(condition: Expression) -> Test:
    names = tuple(sorted(names_in(condition)))
    return Test(names, test_of(condition, slots_of(names)))


def _any_of(plan: plans.ThresholdsPlan) -> str:
    return f"filter ?{plan.variable} {plan.operator} any constant of its readers"


def _filter(source: Node, holds: Callable[[Row], bool]) -> Node:
    return RowByRow(source, source.variables, partial(filter, holds), computes=True)


def _always(_triple: Triple) -> bool:
    return True
