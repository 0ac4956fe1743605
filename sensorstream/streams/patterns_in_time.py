"""Queries of patterns in time: how they are planned, run, and fed by each other.

Source: Anicic et al., "EP-SPARQL", 2011, sections 4.2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.build import Happening, build_in_time
from sensorstream.network.intervals.interval_expressions import IntervalTime
from sensorstream.network.intervals.interval_planner import plan_in_time
from sensorstream.network.intervals.interval_state import renew, timed_operators
from sensorstream.network.intervals.occurrence_source import OccurrenceSource, PatternOccurrences
from sensorstream.network.intervals.query_strata import InstantKinds, ends_of, feeding, strata
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.rows import TIMES, Row, TimedRow, instantiated, shown
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query, TriplePattern, Variable
from sensorstream.sparql.query_printer import duration_text, valid_time_text
from sensorstream.sparql.walk import variables

Constructed = tuple[Triple, Instant, Instant]
"""A triple with the interval of the solution that it was made of."""


class Patterns:
    """The queries of patterns in time of one processor."""

    def __init__(
        self,
        network: Network,
        knowledge: Knowledge,
        clock: IntervalTime,
        rules: Callable[[], InstantKinds | None],
        tell_rules: Callable[[Sequence[Triple], Instant], None],
    ) -> None:
        """``rules`` gives the rules over time; ``tell_rules`` hands made triples to them."""
        self.source = OccurrenceSource(knowledge.conclusions, network.wake, self._sweep)
        self._network = network
        self.clock = clock
        self._knowledge = knowledge
        self._happening = Happening(network, self.source, knowledge, clock)
        self._ends: dict[str, InstantKinds] = {}
        self._roots: dict[str, Node] = {}
        self._feeds: dict[str, Callable[[list[Row], list[Row]], None]] = {}
        self._tell_rules = tell_rules
        self._rules = rules
        # The queries that make what rules over time read.
        self._told: frozenset[str] = frozenset()
        self.before_rules = 0
        """Strata below it have an instant before the rules over time have it."""

    def plan(self, name: str, query: Query, graphs: Iterable[IRI] = ()) -> Plan:
        """The plan of a query that could run beside the others; GRAPH matches ``graphs``.

        Raises UnsupportedQuery if a part of the query has no meaning over occurrences.
        """
        _check_form(query)
        made = plan_in_time(query.form.pattern, self.clock, query.base, graphs)
        try:
            strata({**self._ends, name: self._ends_of(query, made)}, self._rules())
        except UnsupportedQuery as error:
            error.part = query.form
            raise
        return made

    def check_rules(self, rules: InstantKinds | None) -> None:
        """Check that rules over time could run beside the queries.

        Raises UnsupportedQuery if rules and queries would wait for each other at one moment.
        """
        strata(self._ends, rules)

    def follow_rules(self) -> None:
        """Adapt to a change of the rules over time."""
        if self._roots:
            self._stratify()

    def _ends_of(self, query: Query, plan: Plan) -> InstantKinds:
        return ends_of(query, plan, self._knowledge.conclusions)

    def build(self, plan: Plan, graphs: Mapping[IRI, TripleIndex] | None) -> Node:
        """The operators of a query; they start without memory of past events."""
        return build_in_time(plan, replace(self._happening, graphs=graphs or {}))

    def begin(self, name: str, query: Query, plan: Plan, root: Node) -> None:
        """Start a query; an earlier one of its name has ended already."""
        self.source.begin()
        self._ends[name] = self._ends_of(query, plan)
        self._roots[name] = root
        if isinstance(query.form, algebra.Construct):
            triples = constructed(query.form.template, root.variables, self.clock)
            stream = _output(query)

            def feed(added: list[Row], removed: list[Row]) -> None:
                for triple, start, end in triples(added):
                    self.source.take((triple,), start, end, stream)
                    if name in self._told:
                        self._tell_rules((triple,), end)

            self._feeds[name] = feed
            self.source.fed += 1
            self._network.listen(root, feed)
        self._stratify()

    def end(self, name: str) -> None:
        """Remove a query that has ended."""
        root = self._roots.pop(name, None)
        if root is None:
            return
        del self._ends[name]
        feed = self._feeds.pop(name, None)
        if feed is not None:
            self.source.fed -= 1
            self._network.leave(root, feed)
        self._stratify()

    def _sweep(self, time: Instant) -> None:
        """Let all operators drop what is too old."""
        for root in self._roots.values():
            for each in timed_operators(root):
                for _, kept in each.kept():
                    kept.forget(time)

    def _stratify(self) -> None:
        rules = self._rules()
        levels = strata(self._ends, rules)
        self._told = frozenset() if rules is None else feeding(self._ends, rules)
        self.before_rules = levels[None] if self._told else 0
        for name, root in self._roots.items():
            for each in timed_operators(root):
                if isinstance(each, PatternOccurrences):
                    self.source.move(each, levels[name])

    @property
    def reading(self) -> bool:
        """Whether any query reads the events."""
        return bool(self._roots)

    def feeding(self) -> Iterable[str]:
        """The queries that add triples to the stream."""
        return tuple(self._feeds)

    def renew(self) -> None:
        """Take in a change of the background knowledge."""
        self.source.renew()
        for root in self._roots.values():
            try:
                renew(root)
            except Exception as error:
                # It exceeds the limits or has failed: its query is stopped.
                root.fault = error
                if not root.queued:
                    self._network.wake(root)


def constructed(
    template: Sequence[TriplePattern], names: tuple[str, ...], clock: IntervalTime
) -> Callable[[Iterable[TimedRow]], list[Constructed]]:
    """A function from solutions to the triples of a CONSTRUCT template, with their intervals.

    A solution that leaves a variable of the template unbound makes no triple (section 4.2, unlike
    SPARQL). Blank nodes are named after the solution, its interval included.
    """
    triples = instantiated(template, (*shown(names), *TIMES))
    wanted = {each.name for each in variables(tuple(template))}
    places = [place for place, name in enumerate(names) if name in wanted]
    missing = not wanted <= set(names)

    def made(rows: Iterable[TimedRow]) -> list[Constructed]:
        found: dict[Constructed, None] = {}
        for row in rows:
            if missing or any(row[place] is None for place in places):
                continue
            start, end = row[0], row[1]
            told = (*row[2:], clock.line.literal(start), clock.line.literal(end))
            found.update(((triple, start, end), None) for triple in triples((told,)))
        return list(found)

    return made


def _output(query: Query) -> IRI | None:
    """The stream that a query writes to: its name, if that is an IRI."""
    name = None if query.registration is None else query.registration.name
    return name if isinstance(name, IRI) else None


def _check_form(query: Query) -> None:
    form = query.form
    if isinstance(form, algebra.Ask | algebra.Describe):
        raise UnsupportedQuery(
            f"{type(form).__name__.upper()} with a pattern in time: its solutions come one by "
            "one: write SELECT",
            part=form,
        )
    for each in (*query.dataset.default, *query.dataset.named):
        raise UnsupportedQuery(
            f"FROM <{each}>: a pattern in time matches what happens in the streams, and the "
            "background knowledge: leave the clause out",
            part=each,
        )
    for window in query.dataset.windows:
        raise UnsupportedQuery(
            "a pattern in time reads streams, not windows: instead of the window "
            f"{_in_time(window)}",
            part=window,
        )
    if query.valid_time is not None:
        raise UnsupportedQuery(
            f"{valid_time_text(query.valid_time)}: a pattern in time follows the present",
            part=query.valid_time,
        )
    relation = query.registration.relation if query.registration is not None else None
    if relation in (algebra.Relation.RSTREAM, algebra.Relation.DSTREAM):
        raise UnsupportedQuery(
            f"REGISTER {relation.value}: the solutions of a pattern in time come and never go: "
            "write REGISTER ISTREAM or REGISTER QUERY",
            part=query.registration,
        )
    if query.report is not None and query.report.kind in (
        algebra.ReportKind.WINDOW_CLOSE,
        algebra.ReportKind.TRIPLES,
    ):
        raise UnsupportedQuery(
            "REPORT ON WINDOW CLOSE and REPORT EVERY n TRIPLES are about windows, and a pattern "
            "in time has none: leave the clause out, or write REPORT EVERY with a length of time",
            part=query.report,
        )
    if isinstance(form, algebra.Construct) and not all(
        isinstance(each.predicate, Variable | str) for each in form.template
    ):
        raise UnsupportedQuery("CONSTRUCT: a property path is not a triple")


def _in_time(window: algebra.WindowDefinition) -> str:
    """The hint what to write in a pattern in time instead of a window."""
    length = "…"
    if isinstance(window.range, timedelta):
        length = f'"{duration_text(window.range)}"^^xsd:duration'
    read = (
        "leave its name and braces out (patterns match what happens in all streams)"
        if window.stream is None
        else f"write STREAM {window.stream.n3} {{ … }}"
    )
    return (
        f"{read}, and FILTER(getDURATION() < {length}) in the group of all that must happen "
        "within that time"
    )
