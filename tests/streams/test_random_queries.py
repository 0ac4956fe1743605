"""Random queries over windows of random streams equal Oxigraph on the windows' contents.

The contents are computed from their definition, anew after every event: what was said in
``(t - range, t]``, or the last triples. Some windows are part of the default graph as well. Events
come out of order, within a lateness.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensorstream.engine.reorder import Disorder, ReorderBuffer
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import (
    Dataset,
    Graph,
    Join,
    Pattern,
    Project,
    Query,
    ReportClause,
    ReportKind,
    Select,
    Variable,
    Window,
    WindowDefinition,
)
from sensorstream.sparql.variable_scope import in_scope
from sensorstream.sparql.walk import replaced
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation
from tests.network.oracle import GRAPHS, Oracle, patterns, subtract, triples, values

STREAMS = (IRI("http://example.org/stream1"), IRI("http://example.org/stream2"))
LATENESS = 3

events = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, LATENESS),
        st.sampled_from(STREAMS),
        st.lists(triples, min_size=1, max_size=2, unique=True),
    ),
    max_size=8,
)


def streams_of(gaps: list[tuple[int, int, IRI, list[Triple]]]) -> list[StreamEvent]:
    """Events in order of arrival; each is at most the lateness behind what came before."""
    latest, found = LATENESS, []
    for gap, late, stream, said in gaps:
        latest += gap
        found.append(StreamEvent(latest - late, tuple(said), stream))
    return found


def in_order(arrived: list[StreamEvent]) -> list[StreamEvent]:
    buffer: ReorderBuffer[StreamEvent] = ReorderBuffer(Disorder(LATENESS, {}, 0, 1000))
    found: list[StreamEvent] = []
    for event in arrived:
        assert buffer.offer("", event.time, 0, event)
        found += buffer.release()
    buffer.advance(1)
    return [*found, *buffer.release()]


def over_windows(pattern: Pattern) -> Pattern:
    """The pattern with windows in the places of graphs."""

    def change(node: object) -> object | None:
        if isinstance(node, Graph):
            name = node.name if isinstance(node.name, IRI) else GRAPHS[0]
            return Window(name, replaced(node.pattern, change))
        return None

    return replaced(pattern, change)


def over_graphs(pattern: Pattern) -> Pattern:
    """The same for an engine that knows graphs only."""

    def change(node: object) -> object | None:
        if isinstance(node, Window):
            return Graph(node.name, replaced(node.pattern, change))
        return None

    return replaced(pattern, change)


def content(told: list[StreamEvent], name: IRI, span: int, count: int) -> set[Triple]:
    """The first window is by time over one stream, the second by count over both."""
    if name == GRAPHS[0]:
        now = told[-1].time
        mine = [e for e in told if e.stream == STREAMS[0] and now - span < e.time]
        return {t for e in mine for t in e.triples}
    return set([t for e in told for t in e.triples][-count:])


@settings(max_examples=80)
@given(
    background=st.lists(triples, max_size=4, unique=True),
    inner=patterns(depth=2),
    windowed=patterns(depth=1, complex_paths=False),
    gaps=events,
    span=st.integers(1, 4),
    count=st.integers(1, 4),
    inside=st.sets(st.sampled_from(GRAPHS[:2])),
)
def test_after_every_event_the_result_is_that_of_the_contents(
    background: list[Triple],
    inner: Pattern,
    windowed: Pattern,
    gaps: list[tuple[int, int, IRI, list[Triple]]],
    span: int,
    count: int,
    inside: set[IRI],
) -> None:
    pattern = Join(Window(GRAPHS[0], over_windows(windowed)), over_windows(inner))
    names = tuple(map(Variable, sorted(in_scope(pattern))))
    project = Project(pattern, names)
    windows: tuple[WindowDefinition, ...] = (
        WindowDefinition(GRAPHS[0], STREAMS[0], range=timedelta(seconds=span)),
        WindowDefinition(GRAPHS[1], None, range=count),
    )
    windows = tuple(replace(each, in_default=each.name in inside) for each in windows)
    default = TripleIndex()
    for triple in background:
        default.add(triple)
    processor = StreamProcessor(default, instant=lambda literal: 0, second=1)
    totals: Counter[Any] = Counter()

    def sink(report: Report) -> None:
        found = values(report.rows)
        (totals.update if report.operation is RowOperation.ADDED else totals.subtract)(found)

    query = Query(Select(project), Dataset(windows=windows), report=ReportClause(ReportKind.CHANGE))
    running = processor.register("q", "", query, sink)
    assume(not running.reason)
    totals.update(values(running.result()))
    told: list[StreamEvent] = []
    for event in in_order(streams_of(gaps)):
        told.append(event)
        processor.push(event)
        oracle = Oracle()
        for triple in background:
            oracle.add(triple, None)
        for name in GRAPHS:
            for triple in content(told, name, span, count):
                oracle.add(triple, name)
                if name in inside:
                    oracle.add(triple, None)
        expected = oracle.answer(cast(Project, over_graphs(project)))
        assert values(running.result()) == expected
        assert subtract(totals) == expected
