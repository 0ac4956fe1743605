"""Rules over time: how they are planned, run, and reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sensorstream.dotr.syntax import Program
from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Instant
from sensorstream.network.network import Network
from sensorstream.network.selection.clause_checks import check_clauses
from sensorstream.network.selection.instants import Instants, Told
from sensorstream.network.selection.making import triples_of
from sensorstream.network.selection.planning import plan_rules
from sensorstream.network.selection.ruleset import Ruleset
from sensorstream.sparql.algebra import BGP, Construct, Query, Relation, ReportKind
from sensorstream.streams.continuous_query import ContinuousQuery, Schedule
from sensorstream.streams.lengths import Lengths
from sensorstream.streams.patterns import Knowledge
from sensorstream.streams.report import Operation, Report, Sink
from sensorstream.streams.state import QueryState

_SCHEDULE: Final = Schedule(ReportKind.INSTANT, Relation.ISTREAM)


class RunningRules(ContinuousQuery):
    """The rules of one text, which report each graph that they make."""

    def __init__(
        self,
        ruleset: Ruleset,
        text: str,
        program: Program,
        sink: Sink,
        ready: Callable[[], None],
    ) -> None:
        template = tuple(triple for each in program.rules for triple in each.template)
        query = Query(Construct(template, BGP()))
        super().__init__(
            ruleset.name, text, query, ruleset.root, (), _SCHEDULE, sink, ruleset.patterns
        )
        self.ruleset = ruleset
        self._ready = ready

    def report(self, time: Instant) -> None:
        """Give out the graphs of this moment, one by one."""
        added, self._added = self._added, []
        self.reports += 1
        self.last_report = time
        for row in added:
            name = row[0]
            assert isinstance(name, Literal)
            self._sink(
                Report(
                    self.name,
                    time,
                    Operation.ADDED,
                    triples=triples_of(row),
                    rule=name.lexical,
                )
            )

    def state(self, pending: bool) -> QueryState:
        self._ready()
        return replace(
            super().state(pending), events=tuple(self.ruleset.kept()), since=self.ruleset.since
        )

    def restore(self, state: QueryState) -> None:
        super().restore(state)
        self.ruleset.keep(state.events, state.since)


class Selections:
    """The rules over time of one processor."""

    def __init__(
        self,
        network: Network,
        knowledge: Knowledge,
        lengths: Lengths,
        now: Callable[[], Instant | None],
        told: Told,
    ) -> None:
        self._network = network
        self._lengths = lengths
        self.instants = Instants(
            network, knowledge.background, knowledge.holds, knowledge.conclusions, now, told
        )

    def plan(self, name: str, program: Program) -> Ruleset:
        """The rules of a text that could run beside the others.

        Raises:
            UnsupportedQuery: a rule or a Datalog rule has no meaning here, or a rule would see
                what it makes itself.
        """
        if not program.rules:
            raise UnsupportedQuery(
                "Datalog rules alone report nothing: expected a rule with 'define'"
            )
        ruleset = Ruleset(name, plan_rules(program, self._lengths.exact), program.clauses)
        check_clauses(ruleset.sees)
        self.instants.check(ruleset)
        return ruleset

    def build(self, ruleset: Ruleset) -> None:
        """Give the rules their place in the network."""
        self._network.share((object(), "rules"), lambda: ruleset.root)

    def begin(self, ruleset: Ruleset) -> None:
        """Rules run from now on, in place of those of their name, which have ended already."""
        self.instants.begin(ruleset)
