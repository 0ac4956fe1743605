"""Reports of windows against their definition: what is in (t - range, t] at every time t."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import SensorStreamError
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation

S, OTHER = IRI("http://example.org/s"), IRI("http://example.org/other")
C = IRI("http://example.org/C")
P = IRI("http://example.org/p")
NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]

triples = st.tuples(st.sampled_from(NAMES), st.just(P), st.sampled_from(NAMES))
events = st.lists(
    st.tuples(st.integers(0, 4), st.lists(triples, min_size=1, max_size=2, unique=True)),
    max_size=12,
)
Content = frozenset[Triple]


def processor() -> StreamProcessor:
    return StreamProcessor(
        default=TripleIndex(), instant=lambda literal: int(literal.lexical), second=1
    )


def in_order(gaps: list[tuple[int, list[Triple]]], stream: IRI = S) -> list[StreamEvent]:
    time, found = 0, []
    for gap, said in gaps:
        time += gap
        found.append(StreamEvent(time, tuple(said), stream))
    return found


def query(window: str, head: str = "") -> str:
    return f"""PREFIX : <http://example.org/> {head}
        SELECT ?x ?p ?y FROM NAMED WINDOW :w ON :s [{window}]
        WHERE {{ WINDOW :w {{ ?x ?p ?y }} }}"""


def reports(text: str, stream: list[StreamEvent]) -> list[Report]:
    found: list[Report] = []
    machine = processor()
    machine.register("q", text, parse_query(text), found.append)
    for event in stream:
        machine.push(event)
    machine.finish()
    return found


def by_time(found: list[Report], operation: RowOperation) -> dict[int, Content]:
    content: dict[int, set[Any]] = {}
    for each in found:
        if each.operation is operation:
            content.setdefault(each.time, set()).update(each.rows)
    return {time: frozenset(rows) for time, rows in content.items() if rows}


def content(stream: list[StreamEvent], low: int, high: int) -> Content:
    """The graph of what was said in (low, high]."""
    return frozenset(t for e in stream if low < e.time <= high for t in e.triples)


@settings(max_examples=150)
@given(gaps=events, span=st.integers(1, 9), step=st.integers(1, 9), origin=st.integers(0, 3))
def test_a_window_with_a_step_reports_its_content_at_the_multiples_of_the_step(
    gaps: list[tuple[int, list[Triple]]], span: int, step: int, origin: int
) -> None:
    stream = in_order(gaps)
    text = query(f"RANGE PT{span}S STEP PT{step}S STARTING AT {origin}", "REGISTER RSTREAM :out AS")
    expected = {}
    if stream:
        first = origin + -(-(stream[0].time - origin) // step) * step
        last = origin + -(-(stream[-1].time - origin) // step) * step
        for boundary in range(first, last + 1, step):
            if found := content(stream, boundary - span, boundary):
                expected[boundary] = found
    assert by_time(reports(text, stream), RowOperation.RESULT) == expected


@settings(max_examples=150)
@given(gaps=events, span=st.integers(1, 6), relation=st.sampled_from(["", "I", "D"]))
def test_a_window_without_a_step_reports_every_change_at_its_instant(
    gaps: list[tuple[int, list[Triple]]], span: int, relation: str
) -> None:
    stream = in_order(gaps)
    head = f"REGISTER {relation}STREAM :out AS" if relation else ""
    found = reports(query(f"RANGE PT{span}S", head), stream)
    added: dict[int, Content] = {}
    removed: dict[int, Content] = {}
    before: Content = frozenset()
    for time in range(stream[-1].time + 1 if stream else 0):
        now = content(stream, time - span, time)
        if now - before:
            added[time] = now - before
        if before - now:
            removed[time] = before - now
        before = now
    assert net(found) == {
        **{(time, t): 1 for time, ts in added.items() for t in ts if relation != "D"},
        **{(time, t): -1 for time, ts in removed.items() for t in ts if relation != "I"},
    }


def net(found: list[Report]) -> dict[Any, int]:
    weights: Counter[Any] = Counter()
    for each in found:
        for row in each.rows:
            weights[each.time, row] += 1 if each.operation is RowOperation.ADDED else -1
    return {key: weight for key, weight in weights.items() if weight}


@settings(max_examples=100)
@given(gaps=events, size=st.integers(1, 5))
def test_a_window_of_triples_holds_the_last_ones(
    gaps: list[tuple[int, list[Triple]]], size: int
) -> None:
    stream = in_order(gaps)
    found = reports(query(f"TRIPLES {size}", "REGISTER RSTREAM :out AS"), stream)
    said = [t for e in stream for t in e.triples]
    last = [each for each in found if each.operation is RowOperation.RESULT][-1:]
    assert [frozenset(each.rows) for each in last] == ([frozenset(said[-size:])] if said else [])


@settings(max_examples=100)
@given(gaps=events, size=st.integers(1, 3))
def test_a_window_of_individuals_keeps_them_whole(
    gaps: list[tuple[int, list[Triple]]], size: int
) -> None:
    stream = in_order(gaps)
    found = reports(query(f"INDIVIDUALS {size}", "REGISTER RSTREAM :out AS"), stream)
    kept: dict[Term, set[Triple]] = {}
    for event in stream:
        for name in dict.fromkeys(t[0] for t in event.triples):
            kept[name] = kept.pop(name, set()) | {t for t in event.triples if t[0] == name}
        while len(kept) > size:
            del kept[next(iter(kept))]
    last = found[-1:]
    expected = frozenset().union(*kept.values()) if kept else frozenset()
    assert [frozenset(each.rows) for each in last] == ([expected] if stream else [])


def test_only_instances_of_the_class_are_individuals_of_its_window() -> None:
    text = """PREFIX : <http://example.org/>
        SELECT ?x ?y WHERE { WINDOW TYPE INSTANCE :C SLIDINGINSTANCES 1 { ?x :p ?y } }"""
    found = reports(
        text,
        [
            StreamEvent(1, ((NAMES[0], P, NAMES[1]),)),
            StreamEvent(2, ((NAMES[0], rdf.TYPE, C), (NAMES[0], P, NAMES[2]))),
            StreamEvent(3, ((NAMES[1], P, NAMES[2]),)),
        ],
    )
    assert [(each.time, list(each.rows)) for each in found] == [(2, [(NAMES[0], NAMES[2])])]


@settings(max_examples=60)
@given(gaps=events, other=events, spans=st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_windows_over_several_streams_keep_one_clock(
    gaps: list[tuple[int, list[Triple]]],
    other: list[tuple[int, list[Triple]]],
    spans: tuple[int, int],
) -> None:
    stream = sorted([*in_order(gaps), *in_order(other, OTHER)], key=lambda event: event.time)
    text = f"""PREFIX : <http://example.org/> REGISTER RSTREAM :out AS SELECT ?x ?y ?z
        FROM NAMED WINDOW :v ON :s [RANGE PT{spans[0]}S STEP PT2S]
        FROM NAMED WINDOW :w ON :other [RANGE PT{spans[1]}S STEP PT2S]
        WHERE {{ WINDOW :v {{ ?x :p ?y }} WINDOW :w {{ ?y :p ?z }} }}"""
    expected = {}
    for boundary in range(0, stream[-1].time + 2 if stream else 0, 2):
        left = content([e for e in stream if e.stream == S], boundary - spans[0], boundary)
        right = content([e for e in stream if e.stream == OTHER], boundary - spans[1], boundary)
        rows = {(x, y, z) for x, _, y in left for again, _, z in right if y == again}
        if rows and boundary >= stream[0].time:
            expected[boundary] = frozenset(rows)
    assert by_time(reports(text, stream), RowOperation.RESULT) == expected


def test_a_landmark_window_only_grows() -> None:
    text = query("LANDMARK", "REGISTER RSTREAM :out AS")
    stream = [StreamEvent(time, ((NAMES[0], P, NAMES[time]),), S) for time in range(3)]
    found = reports(text, stream)
    assert [len(each.rows) for each in found] == [1, 2, 3]


def test_a_report_by_period_gives_the_whole_result_at_its_multiples() -> None:
    text = """PREFIX : <http://example.org/> SELECT (COUNT(*) AS ?n)
        STREAM INTERMEDIATERESULT DURATION 2000
        WHERE { WINDOW TYPE SLIDINGTRIPLES 2 { ?x :p ?y } }"""
    stream = [StreamEvent(time, ((NAMES[0], P, NAMES[time % 3]),)) for time in (1, 2, 3, 7)]
    found = reports(text, stream)
    assert [(each.time, [row[0].value for row in each.rows]) for each in found] == [  # type: ignore[union-attr]
        (2, [2]),
        (4, [2]),
        (6, [2]),
        (8, [2]),
    ]


def test_a_report_by_triples_comes_after_so_many() -> None:
    text = """PREFIX : <http://example.org/> SELECT ?y STREAM INTERMEDIATERESULT TRIPLES 2
        WHERE { WINDOW TYPE SLIDINGTRIPLES 3 { ?x :p ?y } }"""
    stream = [StreamEvent(time, ((NAMES[0], P, NAMES[time % 3]),)) for time in range(5)]
    assert [each.time for each in reports(text, stream)] == [1, 3]


def test_an_absence_is_reported_by_the_clock() -> None:
    text = """PREFIX : <http://example.org/> REGISTER ISTREAM :out AS SELECT (COUNT(*) AS ?n)
        FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT2S] WHERE { WINDOW :w { ?x :p ?y } }"""
    stream = [StreamEvent(1, ((NAMES[0], P, NAMES[1]),), S), StreamEvent(9, (), S)]
    found = [(each.time, [str(r[0]) for r in each.rows]) for each in reports(text, stream)]
    assert [time for time, _ in found] == [2, 4]


def test_construct_reports_the_triples_that_come_and_go() -> None:
    text = """PREFIX : <http://example.org/> CONSTRUCT { ?y :q ?x } 
        FROM NAMED WINDOW :w ON :s [RANGE PT2S] WHERE { WINDOW :w { ?x :p ?y } }"""
    stream = [StreamEvent(1, ((NAMES[0], P, NAMES[1]),), S), StreamEvent(5, (), S)]
    found = [(e.time, e.operation.value, list(e.triples or ())) for e in reports(text, stream)]
    triple = (NAMES[1], IRI("http://example.org/q"), NAMES[0])
    assert found == [(1, "+", [triple]), (3, "-", [triple])]


def test_ask_reports_its_answer_when_it_changes() -> None:
    text = """PREFIX : <http://example.org/> ASK FROM NAMED WINDOW :w ON :s [RANGE PT2S]
        WHERE { WINDOW :w { ?x :p ?y } }"""
    stream = [StreamEvent(1, ((NAMES[0], P, NAMES[1]),), S), StreamEvent(5, (), S)]
    assert [(e.time, e.answer) for e in reports(text, stream)] == [(1, True), (3, False)]


def test_a_new_query_begins_with_the_content_of_the_window_it_shares() -> None:
    machine, found = processor(), list[Report]()
    text = query("RANGE PT9S").replace("FROM", "REPORT ON CHANGE FROM")
    machine.register("first", text, parse_query(text), lambda _: None)
    machine.push(StreamEvent(1, ((NAMES[0], P, NAMES[1]),), S))
    second = machine.register("second", text, parse_query(text), found.append)
    assert second.result() == [(NAMES[0], P, NAMES[1])]
    machine.unregister("first")
    machine.push(StreamEvent(2, ((NAMES[0], P, NAMES[2]),), S))
    assert [list(each.rows) for each in found] == [[(NAMES[0], P, NAMES[2])]]
    machine.unregister("second")
    assert len(machine.network) == 0


def test_what_is_late_is_left_out_and_counted() -> None:
    machine = processor()
    assert machine.push(StreamEvent(5, (), S))
    assert not machine.push(StreamEvent(4, (), S))
    assert machine.counts.late == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * WHERE { WINDOW <http://x/w> { ?s ?p ?o } }", "is not defined"),
        ("SELECT * WHERE { SERVICE <http://x/> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * WHERE { { ?s ?p ?o } SEQ { SERVICE <http://x/> { ?o ?p ?q } } }", "SERVICE"),
    ],
)
def test_what_no_stream_can_answer_is_refused(text: str, expected: str) -> None:
    machine = processor()
    with pytest.raises(SensorStreamError, match=expected):
        machine.register("q", text, parse_query(text), lambda _: None)
    assert len(machine.network) == 0


@given(before=events, after=events)
def test_a_query_that_replaces_another_reports_as_one_that_is_new(
    before: list[tuple[int, list[Triple]]], after: list[tuple[int, list[Triple]]]
) -> None:
    machine, own, beside = processor(), list[Report](), list[Report]()
    old, new = query("RANGE PT9S"), query("RANGE PT3S STEP PT1S", "REGISTER ISTREAM :x AS")
    machine.register("q", old, parse_query(old), lambda _: None)
    said = in_order([*before, *after])
    for event in said[: len(before)]:
        machine.push(event)
    machine.register("q", new, parse_query(new), own.append, replaces=True)
    machine.register("other", new, parse_query(new), beside.append)
    for event in said[len(before) :]:
        machine.push(event)
    machine.finish()
    assert [(e.time, e.operation, e.rows) for e in own] == [
        (e.time, e.operation, e.rows) for e in beside
    ]
    for name in ("q", "other"):
        machine.unregister(name)
    assert len(machine.network) == 0


@pytest.mark.parametrize("text", [query("RANGE PT9S"), query("RANGE PT9S STEP PT3S")])
def test_a_query_that_replaces_one_of_the_same_operators_reports(text: str) -> None:
    machine, found = processor(), list[Report]()
    machine.register("q", text, parse_query(text), lambda _: None)
    machine.register("q", text, parse_query(text), found.append, replaces=True)
    machine.push(StreamEvent(2, ((NAMES[0], P, NAMES[2]),), S))
    machine.finish()
    assert found
    machine.unregister("q")
    assert len(machine.network) == 0


def test_a_query_that_cannot_be_replaced_goes_on() -> None:
    machine, found = processor(), list[Report]()
    text = query("RANGE PT9S")
    running = machine.register("q", text, parse_query(text), found.append)
    unfit = parse_query("PREFIX : <http://example.org/> SELECT ?x { GRAPH :g { ?x ?p ?y } }")
    with pytest.raises(SensorStreamError):
        machine.register("q", "", unfit, found.append, replaces=True)
    assert machine.queries == {"q": running}
    machine.push(StreamEvent(2, ((NAMES[0], P, NAMES[2]),), S))
    machine.finish()
    assert {each.query for each in found} == {"q"}
