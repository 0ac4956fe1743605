"""Rules over time: planning, running, reporting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import BlankNode, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.selection.instants import Instants
from sensorstream.network.selection.moment_graph import check_clauses
from sensorstream.network.selection.running_rules import Ruleset, rule_of, triples_of
from sensorstream.network.selection.selection_plan import plan_rules
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query, TriplePattern, Variable
from sensorstream.sparql.dotr.dotr_syntax import TimedProgram
from sensorstream.streams.continuous_query import ContinuousQuery, layout_of_rules
from sensorstream.streams.query_report import Report, RowOperation, Sink
from sensorstream.streams.query_shape import Lengths, Schedule
from sensorstream.streams.query_state import QueryState

_SCHEDULE: Final = Schedule(algebra.ReportKind.INSTANT, algebra.Relation.ISTREAM)


class RunningRules(ContinuousQuery):
    """The rules of one text, which report each graph that they make."""

    def __init__(
        self,
        ruleset: Ruleset,
        text: str,
        program: TimedProgram,
        sink: Sink,
        ready: Callable[[], None],
    ) -> None:
        template = tuple(triple for each in program.rules for triple in each.template)
        query = Query(algebra.Construct(template, algebra.BGP()))
        super().__init__(
            ruleset.name, text, query, ruleset.root, (), _SCHEDULE, sink, ruleset.patterns
        )
        # Patterns in time make events for the rules at the ends of intervals.
        self.follows_ends = True
        self.ruleset = ruleset
        self._ready = ready
        self.rules = {each.name: each for each in program.rules}

    def report(self, time: Instant) -> None:
        """Give out the graphs of this moment, one by one."""
        added, self._added = self._added, []
        self.reports += 1
        self.last_report = time
        for row in added:
            self._sink(
                Report(
                    self.name,
                    time,
                    RowOperation.ADDED,
                    triples=triples_of(row),
                    rule=rule_of(row),
                )
            )

    def state(self, pending: bool) -> QueryState:
        self._ready()
        return replace(
            super().state(pending), events=tuple(self.ruleset.kept()), since=self.ruleset.since
        )

    @cached_property
    def layout(self) -> str:
        return layout_of_rules(self.ruleset.patterns)

    def _restore_rows(self, state: QueryState) -> None:
        super()._restore_rows(state)
        self.ruleset.keep(state.events, state.since)


def planned_rules(
    name: str, program: TimedProgram, lengths: Lengths, instants: Instants
) -> Ruleset:
    """The rules of a text that could run beside the others.

    Raises UnsupportedQuery if a rule or a Datalog rule has no meaning here, or a rule would read
    its own output.
    """
    if not program.rules:
        raise UnsupportedQuery("Datalog rules alone report nothing: expected a rule with 'define'")
    ruleset = Ruleset(name, plan_rules(program, lengths.exact), program.clauses)
    check_clauses(ruleset.sees)
    instants.check(ruleset)
    return ruleset


def values_of(template: Sequence[TriplePattern], triples: Sequence[Triple]) -> dict[str, Term]:
    """The values of a template's variables in one of its graphs.

    Invalid triples are missing in the graph. A variable has no value where it is not certain to
    which triple of the template a triple of the graph belongs.
    """
    first, last = _earliest(template, triples), _earliest(template[::-1], triples[::-1])
    found: dict[str, Term] = {}
    for place, triple in enumerate(triples):
        number = first[place]
        if number == len(template) - 1 - last[len(triples) - 1 - place]:
            for end, term in zip(template[number].parts, triple, strict=True):
                if isinstance(end, Variable):
                    found[end.name] = term
    return found


def _earliest(template: Sequence[TriplePattern], triples: Sequence[Triple]) -> list[int]:
    """The first possible place in the template of each triple of a graph."""
    found: list[int] = []
    number = 0
    for triple in triples:
        while not _fits(template[number], triple):
            number += 1
        found.append(number)
        number += 1
    return found


def _fits(pattern: TriplePattern, triple: Triple) -> bool:
    return all(
        isinstance(end, Variable | BlankNode) or end == term
        for end, term in zip(pattern.parts, triple, strict=True)
    )
