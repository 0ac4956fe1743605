"""Why a continuous query has no solution for an individual, by what it reads now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.planner import plan
from sensorstream.network.sources import DEFAULT, Source, Sources
from sensorstream.rules.prefixed import Names
from sensorstream.rules.unmet import Known, Prober, Step
from sensorstream.rules.why_not import WhyNot
from sensorstream.sparql.algebra import BGP, Query, Relation, Variable
from sensorstream.sparql.walk import nodes, visible
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.planning import sources_of
from sensorstream.streams.shape import WindowShape

_RAISES: Final[Mapping[Relation | None, str]] = {
    None: "when the solution comes, and again only after it has gone",
    Relation.ISTREAM: "when the solution comes",
    Relation.DSTREAM: "when the solution goes",
    Relation.RSTREAM: "at each report",
}


def individuals_of(query: Query) -> list[str]:
    """The variables of a query's solutions that may be an individual: subjects first."""
    form = query.form
    found: dict[str, None] = {}
    triples = [each for block in nodes(form) if isinstance(block, BGP) for each in block.patterns]
    for part in (*(each.subject for each in triples), *(each.object for each in triples)):
        if isinstance(part, Variable):
            found[part.name] = None
    returned = {each.name for each in visible(form.pattern)}
    return [name for name in found if name in returned]


def why_no_solution(
    running: ContinuousQuery,
    default: TripleIndex,
    prefixes: Mapping[str, str],
    name: Subject,
    variable: str = "",
) -> WhyNot:
    """The first part of a query that leaves no solution with an individual.

    ``default`` is what the query matches outside its windows; ``prefixes`` are those of its text.
    Without a ``variable`` the individual is the value of the one that gets furthest. Its windows
    are taken as they were computed last; each part is evaluated anew: O(what it reads).

    Raises:
        UnsupportedQuery: a part of the query cannot be evaluated alone.
    """
    reads = _reads(running, default)
    names = Names(prefixes)
    candidates = [variable] if variable else individuals_of(running.query) or [""]
    tried = [_tried(running, reads, names, name, each) for each in candidates]
    # What gets furthest was meant.
    return max(tried, key=lambda each: (each.holds, sum(step.held for step in each.steps)))


@dataclass(frozen=True, slots=True)
class _Reads:
    """What a query reads: its default graph, and copies of its windows with all of their content.

    ``known`` is the default graph together with the windows that are part of it.
    """

    known: Known
    windows: Mapping[IRI, TripleIndex]
    sources: Sources
    indexes: Mapping[Source, TripleIndex | Scope]

    def solutions(self, query: Query) -> Iterator[dict[str, Term]]:
        """The solutions of a query."""
        root = build(plan(query.form.pattern, self.sources, query.base), Network(), self.indexes)
        for row in root.rows():
            values = zip(root.variables, row, strict=False)
            yield {name: value for name, value in values if value is not None}

    def solve(self, query: Query, given: Mapping[str, Term]) -> list[dict[str, Term]]:
        """The solutions of a part of a query that agree with some values, in a fixed order."""
        found = [
            {**given, **each}
            for each in self.solutions(query)
            if all(each.get(name, value) == value for name, value in given.items())
        ]
        return sorted(found, key=lambda each: sorted((n, v.n3) for n, v in each.items()))


@dataclass(frozen=True, slots=True)
class _Together:
    """Several graphs as one."""

    graphs: tuple[TripleIndex, ...]

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """See :class:`.Known`."""
        found = (each for graph in self.graphs for each in graph.match(subject, predicate, object_))
        return iter(dict.fromkeys(found))


def _reads(running: ContinuousQuery, default: TripleIndex) -> _Reads:
    defined = {each.name: each for each in running.query.dataset.windows}
    shapes: dict[IRI, WindowShape] = {}
    windows: dict[IRI, TripleIndex] = {}
    for name, window in zip(defined, running.windows, strict=True):
        shapes[name], windows[name] = window.shape, TripleIndex()
        # Its own index has only what the patterns of queries read.
        for triple in window.graph:
            windows[name].add(triple)
    sources = sources_of(running.query, shapes, {})
    indexes: dict[Source, TripleIndex | Scope] = {DEFAULT: default}
    indexes |= {sources.windows[name]: index for name, index in windows.items()}
    inside = [windows[name] for name, each in defined.items() if each.in_default]
    return _Reads(_Together((default, *inside)), windows, sources, indexes)


def _tried(
    running: ContinuousQuery, reads: _Reads, names: Names, name: Subject, variable: str
) -> WhyNot:
    query, told = running.query, names.term(name)
    given: dict[str, Term] = {variable: name} if variable else {}
    prober = Prober(
        reads.known, reads.solve, names, query.dataset, query.base, given, reads.windows
    )
    holds = any(each.get(variable) == name for each in reads.solutions(query))
    if variable and prober.holds(query.form.pattern) and not holds:
        # Each part has solutions, but an optional one has none, or has another value.
        prober.steps.append(Step("query", "all parts together", False, 0))
    failed = next((each for each in prober.steps if not each.held), None)
    if holds:
        answer = f"query {running.name} has a solution for {told}"
        if query.alert is not None:
            answer += f": its alert is raised {_RAISES[running.schedule.relation]}"
    elif failed is None:
        answer = f"query {running.name} has no solution for {told}: it returns no individual"
    else:
        why = "; ".join(filter(None, (failed.note, *failed.found))) or "nothing matches"
        answer = f"query {running.name} has no solution for {told}: {failed.text}: {why}"
    return WhyNot(running.name, name, variable, holds, answer, tuple(prober.steps))
