"""What a query reports does not depend on the queries that run beside it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]
PROPERTIES = [IRI(f"http://example.org/{name}") for name in "pq"]
STREAMS = [IRI(f"http://example.org/{name}") for name in ("s", "t")]

PATTERNS = (
    "WINDOW :v { ?x :p ?y } OPTIONAL { WINDOW :w { ?y :q ?z } }",
    "WINDOW :v { ?x :p ?y } WINDOW :w { ?x :q ?z }",
    "WINDOW :v { ?x :p ?y } FILTER NOT EXISTS { WINDOW :w { ?x :q ?z } }",
    "WINDOW :v { ?x :p ?y }",
    "WINDOW :w { ?x :q ?y }",
    "{ SELECT (COUNT(*) AS ?y) WHERE { WINDOW :v { ?x ?any ?o } } }",
    ":a :p ?x OPTIONAL { WINDOW :v { ?x :p ?y } }",
    "WINDOW :v { ?x :p ?y } FILTER(NOW() > 0 || true)",
)
IN_TIME = (
    "SELECT ?x ?z WHERE { { ?x :p ?y } SEQ { ?y :q ?z } }",
    "SELECT ?x ?y WHERE { ?x :p ?y BIND(getENDTIME() AS ?t) }",
)
extents = st.one_of(
    st.builds("RANGE {}s".format, st.integers(1, 6)),
    st.builds("RANGE {}s STEP {}s".format, st.integers(1, 6), st.integers(1, 4)),
    st.builds("FROM NOW-{}s TO NOW-2s".format, st.integers(3, 6)),
    st.builds("FROM NOW-{}s TO NOW-1s STEP {}s".format, st.integers(2, 6), st.integers(1, 4)),
    st.builds("TRIPLES {}".format, st.integers(1, 4)),
    st.builds("TRIPLES {} STEP {}".format, st.integers(1, 4), st.integers(1, 3)),
    st.builds("INDIVIDUALS {}".format, st.integers(1, 3)),
    st.builds("RANGE {}s STEP {}s OF INDIVIDUALS".format, st.integers(1, 6), st.integers(1, 4)),
    st.just("LANDMARK"),
    st.builds("LANDMARK STEP {}s".format, st.integers(1, 4)),
    st.just("NOW"),
)
reports = st.sampled_from(
    (
        "",
        "",
        "REPORT ON WINDOW CLOSE",
        "REPORT ON WINDOW CLOSE",
        "REPORT EVERY 3s",
        "REPORT EVERY 2 TRIPLES",
        "REPORT ON CHANGE",
    )
)
forms = st.sampled_from(
    ("SELECT ?x ?y", "SELECT ?x ?y", "SELECT DISTINCT ?x", "CONSTRUCT { ?x :q ?y }", "ASK")
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 5)) == 0:
        return f"PREFIX : <http://example.org/> {draw(st.sampled_from(IN_TIME))}"
    relation = draw(st.sampled_from(("", "QUERY", "RSTREAM", "ISTREAM", "DSTREAM")))
    return f"""PREFIX : <http://example.org/> {f"REGISTER {relation} :out AS" if relation else ""}
        {draw(forms)} {draw(reports)}
        FROM NAMED WINDOW :v ON <{draw(st.sampled_from(STREAMS))}> [{draw(extents)}]
        FROM NAMED WINDOW :w ON <{draw(st.sampled_from(STREAMS))}> [{draw(extents)}]
        WHERE {{ {draw(st.sampled_from(PATTERNS))} }}"""


triples = st.tuples(st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from(NAMES))
events = st.lists(
    st.tuples(
        st.sampled_from((0, 0, 1, 1, 2, 3, 9)),
        st.sampled_from((0, 0, 0, 4)),
        st.sampled_from(STREAMS),
        st.lists(triples, min_size=1, max_size=2, unique=True),
    ),
    min_size=1,
    max_size=5,
)


def said(gaps: list[tuple[int, int, IRI, list[Triple]]]) -> list[StreamEvent]:
    time, found = 0, list[StreamEvent]()
    for gap, length, stream, graph in gaps:
        time += gap
        found.append(StreamEvent(time, tuple(graph), stream, time + length))
    return found


def told(
    texts: list[str], happened: list[StreamEvent], silence: int, name: str, *, run: bool = False
) -> Any:
    """What one of the queries reports, and what it says of its reports; ``run``: as from a file."""
    default = TripleIndex()
    default.add((NAMES[0], PROPERTIES[0], NAMES[1]))
    processor = StreamProcessor(default, instant=lambda _: 0, second=1)
    found: list[Report] = []
    for text in texts:
        running = processor.register(text, text, parse_query(text), found.append)
        assert running.name == text
    for event in happened:
        processor.more = run and event is not happened[-1]
        processor.push(event)
    if silence:
        processor.advance(happened[-1].time + silence)
    processor.finish()
    mine = [
        (
            each.time,
            each.operation,
            Counter(each.rows),
            None if each.triples is None else frozenset(each.triples),
            each.answer,
        )
        for each in found
        if each.query == name
    ]
    return mine, processor.queries[name].reports, processor.queries[name].last_report


@settings(max_examples=300)
@given(
    query=queries(),
    others=st.lists(queries(), min_size=1, max_size=2),
    gaps=events,
    silence=st.sampled_from((0, 0, 12)),
    first=st.booleans(),
)
def test_what_a_query_reports_does_not_depend_on_what_runs_beside_it(
    query: str,
    others: list[str],
    gaps: list[tuple[int, int, IRI, list[Triple]]],
    silence: int,
    first: bool,
) -> None:
    happened = said(gaps)
    together = [query, *others] if first else [*others, query]
    beside = told(list(dict.fromkeys(together)), happened, silence, query)
    assert told([query], happened, silence, query) == beside
    assert told([query], happened, silence, query, run=True) == beside


EXAMPLE = """PREFIX : <http://example.org/> REGISTER {relation} :out AS
    {form} REPORT ON WINDOW CLOSE
    FROM NAMED WINDOW :v ON :s [RANGE 3] FROM NAMED WINDOW :w ON :t [RANGE 2 STEP 2]
    WHERE {{ WINDOW :v {{ ?x :p ?y }} OPTIONAL {{ WINDOW :w {{ ?y :q ?z }} }} }}"""
HAPPENED = [StreamEvent(t, ((NAMES[0], PROPERTIES[0], NAMES[1]),), STREAMS[0]) for t in (1, 9, 20)]


@pytest.mark.parametrize(
    ("relation", "times"),
    [
        ("QUERY", [2, 4, 10, 12, 20]),
        ("ISTREAM", [2, 10, 20]),
        ("DSTREAM", [4, 12]),
        ("RSTREAM", [2, 4, 10, 12, 20]),
    ],
)
@pytest.mark.parametrize("form", ["SELECT ?x ?y", "CONSTRUCT { ?x :q ?y }"])
def test_steps_of_an_empty_window_report_what_has_changed_in_another(
    form: str, relation: str, times: list[int]
) -> None:
    text = EXAMPLE.format(form=form, relation=relation)
    reports, count, last = told([text], HAPPENED, 0, text)
    assert [each[0] for each in reports] == times
    assert (count, last) == (len(times), times[-1])


@pytest.mark.parametrize("report", ["", "REPORT ON WINDOW CLOSE", "REPORT EVERY 2s"])
@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("SELECT ?y", ":a :p ?y"),
        ("CONSTRUCT { ?y :q ?y }", ":a :p ?y"),
        ("ASK", ":a :p ?y"),
        ("ASK", "WINDOW :v { ?x :q ?y }"),
    ],
)
def test_a_whole_result_is_reported_again_at_each_step_of_a_window_that_stays_empty(
    form: str, pattern: str, report: str
) -> None:
    text = f"""PREFIX : <http://example.org/> REGISTER RSTREAM :out AS {form} {report}
        FROM NAMED WINDOW :v ON :s [RANGE 2 STEP 2] WHERE {{ {pattern} }}"""
    reports, _, _ = told([text], HAPPENED[:2], 0, text)
    assert [each[0] for each in reports] == [2, 4, 6, 8, 10]


def test_an_empty_whole_result_is_reported_once() -> None:
    text = """PREFIX : <http://example.org/> REGISTER RSTREAM :out AS SELECT ?x
        FROM NAMED WINDOW :v ON :s [RANGE 4 STEP 2] WHERE { WINDOW :v { ?x :p ?y } }"""
    reports, count, _ = told([text], HAPPENED[:1], 20, text)
    assert [(each[0], bool(each[2])) for each in reports] == [(2, True), (4, True), (6, False)]
    assert count == 3
