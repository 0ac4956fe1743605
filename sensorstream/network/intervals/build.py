"""From the plan of a pattern in time to operators, and what of them survives a restart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.aggregates import kind_of
from sensorstream.network.intervals import joins, simple
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import Clock, timed_test, timed_value
from sensorstream.network.intervals.filters import longest_of
from sensorstream.network.intervals.first import TimedFirst
from sensorstream.network.intervals.group import TimedGroup
from sensorstream.network.intervals.known import Known
from sensorstream.network.intervals.matching import TimedMark, TimedMinus
from sensorstream.network.intervals.node import Sides, TimedNode
from sensorstream.network.intervals.plan import OCCURRENCE, TimedRow
from sensorstream.network.intervals.rank import rank_of
from sensorstream.network.intervals.source import Occurring
from sensorstream.network.network import Network
from sensorstream.network.node import operators
from sensorstream.network.operators.group import Column
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.text import plan_text
from sensorstream.sparql.algebra import Aggregate, Consumption, Expression
from sensorstream.sparql.printing import expression_text
from sensorstream.sparql.scope import names_in


@dataclass(frozen=True, slots=True)
class Setting:
    """What operators of patterns in time read.

    ``holds``: whether a triple of the background holds always, as all those of named ``graphs`` do.
    """

    network: Network
    source: Occurring
    background: TripleIndex
    holds: simple.Holds
    clock: Clock
    graphs: Mapping[IRI, TripleIndex] = field(default_factory=dict)


def build_in_time(plan: Plan, owner: Hashable, setting: Setting) -> TimedNode:
    """The operators of a query's plan, filled and connected.

    Equal parts of one query (``owner``) are one operator; queries share none, since each begins
    with nothing of what happened before it.
    """
    return _Builder(owner, setting).built(plan)


class _Builder:
    def __init__(self, owner: Hashable, setting: Setting) -> None:
        self._owner = owner
        self._setting = setting

    def built(self, plan: Plan) -> TimedNode:
        network = self._setting.network
        node = network.share((self._owner, plan), partial(self._made, plan))
        assert isinstance(node, TimedNode)
        return node

    def _made(self, plan: Plan) -> TimedNode:
        setting, text = self._setting, plan_text(plan)
        match plan:
            case timed.Occurrence():
                return simple.Occurrences(plan, setting.source, setting.background, setting.holds)
            case timed.Known(graph=None):
                return Known(plan, setting.background, setting.holds)
            case timed.Known(graph=IRI() as graph):
                return Known(plan, setting.graphs[graph], _always)
            case plans.Constant(names, rows):
                return simple.TimedValues(names, plan.certain, rows)
        inputs = [self.built(each) for each in plan.inputs]
        test = partial(self._test, plan)
        match plan:
            case timed.Join(_, _, longest):
                return joins.TimedJoin(inputs[0], inputs[1], longest, text)
            case timed.Seq(_, _, tests, longest):
                holds = self._all(plan, tests)
                if plan.consumption is Consumption.RECENT:
                    return joins.RecentSeq(inputs[0], inputs[1], holds, longest, text)
                if plan.consumption is Consumption.CHRONOLOGICAL:
                    return joins.ChronologicalSeq(inputs[0], inputs[1], holds, longest, text)
                return joins.TimedSeq(inputs[0], inputs[1], holds, rank_of(plan), longest, text)
            case timed.Equals():
                return joins.TimedEquals(inputs[0], inputs[1], text)
            case timed.Optional(_, _, condition, longest):
                return joins.TimedOptional(inputs[0], inputs[1], test(condition), longest, text)
            case timed.OptionalSeq(_, _, condition, longest):
                return joins.TimedOptionalSeq(inputs[0], inputs[1], test(condition), longest, text)
            case timed.EqualsOptional(_, _, condition):
                return joins.TimedEqualsOptional(inputs[0], inputs[1], test(condition), text)
            case timed.Minus():
                return TimedMinus(inputs[0], inputs[1], text)
            case timed.Mark(_, _, conditions, flag):
                asked = frozenset[str]().union(*map(names_in, conditions))
                names = Sides(inputs[0], inputs[1]).variables
                both = _all_of([timed_test(each, names, setting.clock) for each in conditions])
                return TimedMark(inputs[0], inputs[1], flag, asked, both, text)
            case timed.First(_, offset, limit):
                return TimedFirst(inputs[0], offset, limit, text)
            case plans.Union():
                return simple.TimedUnion(inputs)
            case plans.Filter(source, condition):
                passes = timed_test(condition, source.variables, setting.clock)
                return simple.TimedFilter(inputs[0], passes, text)
            case plans.Extend(source, name, expression):
                value = timed_value(expression, source.variables, setting.clock)
                return simple.TimedExtend(inputs[0], name, value, text)
            case timed.Once(source, pairs):
                same = simple.same_occurrence(source.variables, pairs)
                return simple.TimedFilter(inputs[0], same, text)
            case timed.Group(source, keys, aggregates):
                columns = [
                    Column(
                        variable.name,
                        kind_of(each),
                        each.expression,
                        _value(each, source.variables, setting.clock),
                        expression_text(each),
                    )
                    for variable, each in aggregates
                ]
                fits = _all_of([timed_test(each, (), setting.clock) for each in plan.lengths])
                most = longest_of(plan, setting.clock)
                return TimedGroup(inputs[0], keys, columns, fits, most, text)
            case plans.Project(_, names):
                return simple.TimedProject(inputs[0], names, text)
        raise AssertionError(plan)

    def _test(self, plan: Plan, condition: Expression | None) -> joins.Test | None:
        if condition is None:
            return None
        return timed_test(condition, plan.variables, self._setting.clock)

    def _all(self, plan: Plan, conditions: Iterable[Expression]) -> joins.Test | None:
        return _all_of(
            [timed_test(each, plan.variables, self._setting.clock) for each in conditions]
        )


def _always(_triple: Triple) -> bool:
    return True


def _all_of(tests: list[joins.Test]) -> joins.Test | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)


def _value(aggregate: Aggregate, names: Sequence[str], clock: Clock) -> Callable[[TimedRow], Any]:
    """What an aggregate takes of a row."""
    if aggregate.expression is not None:
        return timed_value(aggregate.expression, names, clock)
    return (lambda row: row[:-2]) if aggregate.distinct else (lambda row: True)


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row that an operator remembers of one of its inputs: its terms, and all its times."""

    operator: int
    side: int
    terms: tuple[Term | None, ...]
    times: tuple[Instant, ...]


def kept_rows(root: TimedNode) -> tuple[KeptRow, ...]:
    """All that the operators of a query remember of what happened."""
    return tuple(
        KeptRow(number, side, *flat(row))
        for number, node in enumerate(timed_operators(root))
        for side, kept in node.kept()
        for row in kept.rows()
    )


def keep_rows(root: TimedNode, rows: Iterable[KeptRow]) -> None:
    """Go on from :func:`kept_rows`; the operators are new."""
    nodes = timed_operators(root)
    for each in rows:
        node = nodes[each.operator]
        kept = dict(node.kept())[each.side]
        kept.add((row_of(each, node.inputs[each.side].variables),))


def flat(row: TimedRow) -> tuple[tuple[Term | None, ...], tuple[Instant, ...]]:
    """The terms of a row, and all its times."""
    terms: list[Term | None] = []
    times: list[Instant] = []
    for cell in row[:-2]:
        if isinstance(cell, tuple):
            # The label of an occurrence.
            terms += cell[:3]
            times += cell[3:]
        else:
            terms.append(cell)
    return tuple(terms), (*times, *row[-2:])


def row_of(kept: KeptRow, variables: Iterable[str]) -> TimedRow:
    """The row that :func:`flat` was given."""
    terms, times = iter(kept.terms), iter(kept.times)
    cells: list[object] = []
    for name in variables:
        if name.startswith(OCCURRENCE):
            cells.append((next(terms), next(terms), next(terms), next(times), next(times)))
        else:
            cells.append(next(terms))
    return (*cells, *times)


def timed_operators(root: TimedNode) -> list[TimedNode]:
    """All operators of a query, inputs first, in an order that is the same after a restart."""
    found = [each for each in operators(root) if isinstance(each, TimedNode)]
    return found[::-1]


def renew(root: TimedNode) -> None:
    """Take in the background knowledge as it is now."""
    for each in sorted(timed_operators(root), key=lambda node: node.depth):
        each.renew()
