"""Makes continuous queries and rules over time: plan, windows, operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from sensorstream.errors import InternalFault, QueryError, SensorStreamError
from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI
from sensorstream.network.build import build
from sensorstream.network.intervals.interval_planner import is_in_time
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.query_sources import DEFAULT, TripleSource
from sensorstream.network.selection.instants import Instants
from sensorstream.sparql.algebra import Construct, Query, Relation
from sensorstream.sparql.dotr.dotr_syntax import TimedProgram
from sensorstream.sparql.text_places import give_place
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.open_windows import OpenWindows
from sensorstream.streams.patterns_in_time import Patterns, constructed
from sensorstream.streams.query_planning import planned, sources_of, windows_read
from sensorstream.streams.query_report import Sink
from sensorstream.streams.query_shape import Lengths, Schedule
from sensorstream.streams.selection_rules import RunningRules, planned_rules
from sensorstream.streams.stream_window import StreamWindow

_Error = TypeVar("_Error", bound=BaseException)


Meaning: TypeAlias = Query | TimedProgram


@frozen
class Planned:
    """A query, or the rules over time of a text, that could run, with its plan.

    ``make`` takes text and sink; ``begin`` is called when it starts.
    """

    plan: Plan
    make: Callable[[str, Sink], ContinuousQuery]
    begin: Callable[[ContinuousQuery], None]


@frozen
class QueryMaker:
    """A planner and maker of queries that have not started yet.

    Every method raises :class:`.UnsupportedQuery`, with its place in the text, if no stream can
    answer a part of the query, :class:`.Overrun` if it exceeds the limits at its start, and
    :class:`.InternalFault` for a defect of SensorStream.
    """

    network: Network
    default: TripleIndex
    lengths: Lengths
    windows: OpenWindows
    patterns: Patterns
    instants: Instants

    def planned(
        self, name: str, meaning: Meaning, named: Mapping[IRI, TripleIndex] | None
    ) -> Planned:
        """The plan of a query; no operator or window is made.

        ``named`` are the graphs that GRAPH matches; None: the query must name no graph.
        """
        try:
            if isinstance(meaning, TimedProgram):
                return self._rules(name, meaning)
            schedule = self.lengths.schedule(meaning)
            if is_in_time(meaning):
                return self._in_time(name, meaning, schedule, named or {})
            return self._over_windows(name, meaning, schedule, named)
        except QueryError as error:
            if isinstance(meaning, Query):
                give_place(error, meaning.places)
            raise
        except Exception as error:
            raise _told(error) from error

    def made(self, planned: Planned, text: str, sink: Sink) -> ContinuousQuery:
        """A query of a plan, as a reader of its windows; after an error nothing is left of it."""
        try:
            running = planned.make(text, sink)
        except BaseException as error:
            self.network.sweep()
            raise _told(error) from error
        self.windows.read(running)
        return running

    def _rules(self, name: str, program: TimedProgram) -> Planned:
        ruleset = planned_rules(name, program, self.lengths, self.instants)
        if self.patterns.reading:
            self.patterns.check_rules(self.instants.ends(ruleset))

        def make(text: str, sink: Sink) -> ContinuousQuery:
            self.network.share((object(), "rules"), lambda: ruleset.root)
            return RunningRules(ruleset, text, program, sink, self.instants.ready)

        def begin(_running: ContinuousQuery) -> None:
            self.instants.begin(ruleset)
            self.patterns.follow_rules()

        return Planned(ruleset.patterns, make, begin)

    def _in_time(
        self, name: str, query: Query, schedule: Schedule, named: Mapping[IRI, TripleIndex]
    ) -> Planned:
        plan = self.patterns.plan(name, query, named)
        if schedule.relation is not None:
            schedule = replace(schedule, relation=Relation.ISTREAM)

        def make(text: str, sink: Sink) -> ContinuousQuery:
            with self.network.budget.alone():
                root = self.patterns.build(plan, named)
            made = ContinuousQuery(name, text, query, root, (), schedule, sink, plan)
            if isinstance(query.form, Construct):
                template = query.form.template
                made.timed_triples = constructed(template, root.variables, self.patterns.clock)
            return made

        def begin(running: ContinuousQuery) -> None:
            self.patterns.begin(name, query, plan, running.root)

        return Planned(plan, make, begin)

    def _over_windows(
        self,
        name: str,
        query: Query,
        schedule: Schedule,
        named: Mapping[IRI, TripleIndex] | None,
    ) -> Planned:
        graphs = named or {}
        shapes = {each.name: self.lengths.shape(each) for each in query.dataset.windows}
        sources = sources_of(query, shapes, graphs)
        plan = planned(query, sources, graphs=named is not None)

        def make(text: str, sink: Sink) -> ContinuousQuery:
            windows: dict[TripleSource, StreamWindow] = {}
            try:
                for source, shape in windows_read(plan, sources).items():
                    windows[source] = self.windows.open(shape)
                indexes: dict[TripleSource, TripleIndex | WindowScope] = {DEFAULT: self.default}
                indexes |= {sources.named[name]: index for name, index in graphs.items()}
                indexes |= {source: window.graph for source, window in windows.items()}
                with self.network.budget.alone():
                    root = build(plan, self.network, indexes)
                    seen = list(windows.values())
                    return ContinuousQuery(name, text, query, root, seen, schedule, sink, plan)
            except BaseException:
                # Operators read the windows, so they are removed first.
                self.network.sweep()
                self.windows.close(windows.values())
                raise

        return Planned(plan, make, lambda _running: None)


def _told(error: _Error) -> _Error | InternalFault:
    """The error that a registration raises for a cause."""
    if isinstance(error, SensorStreamError) or not isinstance(error, Exception):
        return error
    return InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
