"""From the plan of a pattern in time to operators, and what of them survives a restart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals import joins, simple
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import Clock, timed_test, timed_value
from sensorstream.network.intervals.group import TimedGroup
from sensorstream.network.intervals.joins import TimedMatching
from sensorstream.network.intervals.node import Sides, TimedNode
from sensorstream.network.intervals.plan import OCCURRENCE, TimedRow
from sensorstream.network.intervals.planning import longest_of
from sensorstream.network.intervals.simple import Known
from sensorstream.network.intervals.source import Occurrences, Occurring
from sensorstream.network.network import Network
from sensorstream.network.node import operators
from sensorstream.network.operators.group import columns_of
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.sources import Knowledge
from sensorstream.sparql.algebra import Aggregate, Consumption, Expression


@dataclass(frozen=True, slots=True)
class Setting:
    """What operators of patterns in time read.

    All triples of named ``graphs`` hold always.
    """

    network: Network
    source: Occurring
    knowledge: Knowledge
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
        setting, clock = self._setting, self._setting.clock
        match plan:
            case timed.Occurrence():
                return Occurrences(plan, setting.source, setting.knowledge)
            case timed.Known(graph=None):
                return Known(plan, setting.knowledge.background, setting.knowledge.holds)
            case timed.Known(graph=IRI() as graph):
                return Known(plan, setting.graphs[graph], _always)
            case plans.Constant():
                return simple.TimedValues(plan)
        inputs = [self.built(each) for each in plan.inputs]
        one, other = inputs[0], inputs[-1]
        match plan:
            case timed.Join():
                return joins.TimedJoin(plan, one, other)
            case timed.Seq():
                return _SEQ[plan.consumption](plan, one, other, self._test(plan, plan.tests))
            case timed.Equals():
                return joins.TimedEquals(plan, one, other)
            case timed.Optional(condition=condition):
                test = self._test(plan, () if condition is None else (condition,))
                return joins.TimedOptional(plan, one, other, test)
            case timed.Minus():
                return TimedMatching(plan, one, other)
            case timed.Mark():
                names = Sides(one, other).variables
                tests = [timed_test(each, names, clock) for each in plan.conditions]
                return TimedMatching(plan, one, other, _all_of(tests))
            case timed.First():
                return simple.TimedFirst(plan, one)
            case plans.Union():
                return simple.TimedUnion(plan, *inputs)
            case plans.Filter(_, condition):
                passes = timed_test(condition, plan.variables, clock)
                return simple.TimedMapped(plan, one, partial(filter, passes))
            case timed.Once(_, pairs):
                same = simple.same_occurrence(plan.variables, pairs)
                return simple.TimedMapped(plan, one, partial(filter, same))
            case plans.Extend(source, _, expression):
                value = timed_value(expression, source.variables, clock)
                return simple.TimedMapped(plan, one, partial(_extended, value))
            case plans.Project(source, names):
                rearranged = simple.laid_out(source.variables, names)
                return simple.TimedMapped(plan, one, rearranged, merges=True)
            case timed.Group(source):
                columns = columns_of(plan, lambda each: _value(each, source.variables, clock))
                fits = _all_of([timed_test(each, (), clock) for each in plan.lengths])
                return TimedGroup(plan, one, columns, fits, longest_of(plan, clock))
        raise AssertionError(plan)

    def _test(self, plan: Plan, conditions: Iterable[Expression]) -> joins.Test | None:
        clock = self._setting.clock
        return _all_of([timed_test(each, plan.variables, clock) for each in conditions])


_SEQ: Final[Mapping[Consumption, type[joins.TimedSeq]]] = {
    Consumption.UNRESTRICTED: joins.TimedSeq,
    Consumption.RECENT: joins.RecentSeq,
    Consumption.CHRONOLOGICAL: joins.ChronologicalSeq,
}


def _extended(value: Callable[[TimedRow], Term | None], rows: Iterable[TimedRow]) -> list[TimedRow]:
    return [(*row[:-2], value(row), *row[-2:]) for row in rows]


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
