"""Continuous queries and rules over time, made of what was read: plan, windows, operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from sensorstream.dotr.syntax import Program
from sensorstream.errors import InternalFault, QueryError, SensorStreamError
from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI
from sensorstream.network.build import build
from sensorstream.network.intervals.planning import is_in_time
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.selection.instants import Instants
from sensorstream.network.selection.ruleset import Ruleset
from sensorstream.network.sources import DEFAULT, Source
from sensorstream.sparql.algebra import Construct, Query, Relation
from sensorstream.sparql.places import give_place
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.lengths import Lengths
from sensorstream.streams.open_windows import OpenWindows
from sensorstream.streams.patterns_in_time import Patterns, constructed
from sensorstream.streams.planning import planned, sources_of, windows_read
from sensorstream.streams.report import Sink
from sensorstream.streams.selections import RunningRules, planned_rules
from sensorstream.streams.shape import WindowShape
from sensorstream.streams.stream_window import StreamWindow

_Error = TypeVar("_Error", bound=BaseException)


class QueryMaker:
    """Plans queries, and makes those that run: they have not begun yet.

    If one cannot be made, nothing is left of it. Every method raises

    - :class:`.UnsupportedQuery`, at its place in the text, if it asks for something that no stream
      can answer,
    - :class:`.Overrun`, if it takes more than the limits to begin,
    - :class:`.InternalFault` for a fault of ours.
    """

    def __init__(
        self,
        network: Network,
        default: TripleIndex,
        lengths: Lengths,
        windows: OpenWindows,
        patterns: Patterns,
        instants: Instants,
    ) -> None:
        self._network = network
        self._default = default
        self._lengths = lengths
        self._windows = windows
        self._patterns = patterns
        self._instants = instants

    def plan(self, name: str, query: Query, named: Mapping[IRI, TripleIndex] | None) -> Plan:
        """The plan of a query; no operator or window is made."""
        try:
            self._lengths.schedule(query)
            if is_in_time(query):
                return self._patterns.plan(name, query, named or ())
            return planned(query, self._shapes(query), named)
        except QueryError as error:
            give_place(error, query.places)
            raise
        except Exception as error:
            raise _told(error) from error

    def plan_rules(self, name: str, program: Program) -> Ruleset:
        """The plans of rules over time; the same."""
        try:
            ruleset = planned_rules(name, program, self._lengths, self._instants)
            if self._patterns.reading:
                self._patterns.check_rules(self._instants.ends(ruleset))
            return ruleset
        except Exception as error:
            raise _told(error) from error

    def query(
        self,
        name: str,
        text: str,
        query: Query,
        sink: Sink,
        plan: Plan,
        named: Mapping[IRI, TripleIndex] | None,
    ) -> ContinuousQuery:
        """A query of its plan, whose windows it reads from now on."""
        made = self._query_in_time if is_in_time(query) else self._query_over_windows
        try:
            running = made(name, text, query, sink, plan, named or {})
        except BaseException as error:
            self._network.sweep()
            raise _told(error) from error
        self._windows.read(running)
        return running

    def rules(self, ruleset: Ruleset, text: str, program: Program, sink: Sink) -> RunningRules:
        """Rules over time of their plans."""
        try:
            self._network.share((object(), "rules"), lambda: ruleset.root)
            return RunningRules(ruleset, text, program, sink, self._instants.ready)
        except BaseException as error:
            self._network.sweep()
            raise _told(error) from error

    def _query_over_windows(
        self,
        name: str,
        text: str,
        query: Query,
        sink: Sink,
        plan: Plan,
        named: Mapping[IRI, TripleIndex],
    ) -> ContinuousQuery:
        schedule = self._lengths.schedule(query)
        windows: dict[Source, StreamWindow] = {}
        try:
            sources = sources_of(query, self._shapes(query), named)
            for source, shape in windows_read(plan, sources).items():
                windows[source] = self._windows.open(shape)
            indexes: dict[Source, TripleIndex | Scope] = {DEFAULT: self._default}
            indexes |= {sources.named[name]: index for name, index in named.items()}
            indexes |= {source: window.graph for source, window in windows.items()}
            with self._network.budget.alone():
                root = build(plan, self._network, indexes)
                return ContinuousQuery(
                    name, text, query, root, list(windows.values()), schedule, sink, plan
                )
        except BaseException:
            # The operators are over the windows: they go first.
            self._network.sweep()
            self._windows.close(windows.values())
            raise

    def _query_in_time(
        self,
        name: str,
        text: str,
        query: Query,
        sink: Sink,
        plan: Plan,
        named: Mapping[IRI, TripleIndex],
    ) -> ContinuousQuery:
        schedule = self._lengths.schedule(query)
        with self._network.budget.alone():
            root = self._patterns.build(plan, named)
        if schedule.relation is not None:
            schedule = replace(schedule, relation=Relation.ISTREAM)
        made = ContinuousQuery(name, text, query, root, (), schedule, sink, plan)
        if isinstance(query.form, Construct):
            template = query.form.template
            made.timed_triples = constructed(template, root.variables, self._patterns.clock)
        return made

    def _shapes(self, query: Query) -> dict[IRI, WindowShape]:
        return {each.name: self._lengths.shape(each) for each in query.dataset.windows}


def _told(error: _Error) -> _Error | InternalFault:
    """The error that the registration of a query raises for a cause."""
    if isinstance(error, SensorStreamError) or not isinstance(error, Exception):
        return error
    return InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
