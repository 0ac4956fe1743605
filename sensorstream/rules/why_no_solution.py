"""Why a continuous query has no solution for an individual, by what it reads now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.planner import plan
from sensorstream.network.sources import DEFAULT, Source, Sources
from sensorstream.rules.conditions import as_text
from sensorstream.rules.given import GIVEN, given_triples, property_of
from sensorstream.rules.unmet import Prober, ShortNames, Statements, Step, first_unmet
from sensorstream.rules.why_not import WhyNot
from sensorstream.sparql.algebra import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    Project,
    Query,
    Reduced,
    Relation,
    TriplePattern,
    Union,
    Variable,
    Window,
)
from sensorstream.sparql.scope import names_in
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
    are taken as they were computed last; each part is evaluated anew, from the individual on.

    Raises:
        UnsupportedQuery: a part of the query cannot be evaluated alone.
    """
    reads = _reads(running, default)
    names = ShortNames(prefixes)
    candidates = [variable] if variable else individuals_of(running.query) or [""]
    tried = [_tried(running, reads, names, name, each) for each in candidates]
    # What gets furthest was meant.
    return max(tried, key=lambda each: (each.holds, sum(step.held for step in each.steps)))


@dataclass(frozen=True, slots=True)
class _Reads:
    """What a query reads: its default graph, and copies of its windows with all of their content.

    ``known`` is the default graph together with the windows that are part of it.
    """

    known: Statements
    windows: Mapping[IRI, TripleIndex]
    sources: Sources
    indexes: Mapping[Source, TripleIndex | Scope]

    def solutions(self, query: Query, given: Mapping[str, Term]) -> Iterator[dict[str, Term]]:
        """The solutions of a query that may agree with some values."""
        pattern = query.form.pattern
        for name in given:
            pattern = _starting(pattern, name)
        values = TripleIndex()
        for triple in given_triples(given):
            values.add(triple)
        place = Source(GIVEN, "the values given")
        sources = replace(self.sources, windows={**self.sources.windows, GIVEN: place})
        root = build(plan(pattern, sources, query.base), Network(), {**self.indexes, place: values})
        for row in root.rows():
            pairs = zip(root.variables, row, strict=False)
            yield {name: value for name, value in pairs if value is not None}

    def solve(self, query: Query, given: Mapping[str, Term]) -> list[dict[str, Term]]:
        """The solutions of a part of a query that agree with some values, in a fixed order."""
        found = [
            {**given, **each}
            for each in self.solutions(query, given)
            if all(each.get(name, value) == value for name, value in given.items())
        ]
        return sorted(found, key=as_text)


@dataclass(frozen=True, slots=True)
class _Together:
    """Several graphs as one."""

    graphs: tuple[TripleIndex, ...]

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterator[Triple]:
        """See :class:`.Statements`."""
        found = (each for graph in self.graphs for each in graph.match(subject, predicate, object_))
        return iter(dict.fromkeys(found))


def _starting(pattern: Pattern, name: str) -> Pattern:
    """The pattern without solutions in which a variable has another value than the one given.

    Others may stay. Each block of triples that binds the variable starts at its value, so it costs
    what it matches with that.
    """

    def inside(part: Pattern) -> Pattern:
        return _starting(part, name)

    match pattern:
        case BGP(patterns) if any(name in names_in(each) for each in patterns if _is_plain(each)):
            value = TriplePattern(GIVEN, property_of(name), Variable(name))
            return Join(Window(GIVEN, BGP((value,))), pattern)
        case Join(left, right):
            return Join(inside(left), inside(right))
        case Union(left, right):
            return Union(inside(left), inside(right))
        case LeftJoin(left, _, _) | Minus(left, _):
            return replace(pattern, left=inside(left))
        case Extend(inner, variable, _) if variable.name != name:
            return replace(pattern, pattern=inside(inner))
        case Project(inner, columns) if Variable(name) in columns:
            return replace(pattern, pattern=inside(inner))
        case Filter(_, inner) | Window(_, inner) | Distinct(inner) | Reduced(inner):
            return replace(pattern, pattern=inside(inner))
    return pattern


def _is_plain(pattern: TriplePattern) -> bool:
    """Whether it is no path: one of no steps would lead from the value to itself."""
    return isinstance(pattern.predicate, IRI | Variable)


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
    running: ContinuousQuery, reads: _Reads, names: ShortNames, name: Subject, variable: str
) -> WhyNot:
    query, told = running.query, names.term(name)
    given: dict[str, Term] = {variable: name} if variable else {}
    prober = Prober(
        reads.known, reads.solve, names, query.dataset, query.base, given, reads.windows
    )
    holds = any(each.get(variable) == name for each in reads.solutions(query, given))
    if variable and prober.holds(query.form.pattern) and not holds:
        # Each part has solutions, but an optional one has none, or has another value.
        prober.steps.append(Step("query", "all parts together", False, 0))
    if holds:
        answer = f"query {running.name} has a solution for {told}"
        if query.alert is not None:
            answer += f": its alert is raised {_RAISES[running.schedule.relation]}"
    else:
        unmet = first_unmet(prober.steps) or "it returns no individual"
        answer = f"query {running.name} has no solution for {told}: {unmet}"
    return WhyNot(running.name, name, variable, holds, answer, tuple(prober.steps))
