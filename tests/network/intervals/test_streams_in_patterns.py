"""STREAM in patterns in time, against the definition over several streams."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.errors import Position, QueryError, UnsupportedQuery
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from sensorstream.streams.query_state import ProcessorState
from tests.network.intervals.definition import ALWAYS, Solution, solutions, streams, timed
from tests.network.intervals.random_patterns import (
    NAMES,
    PREFIX,
    PROPERTIES,
    blocks,
    combined,
    found_in,
    processor,
    triples,
)

S, T = (IRI(f"http://example.org/{name}") for name in "st")
happening = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0, 0, 1, 3]),
        st.lists(triples, min_size=1, max_size=3, unique=True),
        st.sampled_from([S, S, T, None]),
    ),
    min_size=2,
    max_size=8,
)
Happening = list[tuple[int, int, list[Triple], IRI | None]]
of_stream = st.sampled_from(["STREAM :s ", "STREAM :s ", "STREAM :t ", ""])
parts = st.tuples(of_stream, blocks).map(lambda each: f"{each[0]}{{ {each[1]} }}")
bodies = st.one_of(
    combined(st.one_of(parts, combined(parts))),
    st.tuples(of_stream, combined(parts)).map(lambda each: f"{each[0]}{{ {each[1]} }}"),
    st.tuples(parts, of_stream, blocks).map(
        lambda each: f"{each[0]} FILTER NOT EXISTS {{ {each[1]} {{ {each[2]} }} }}"
    ),
)
texts = bodies.map(
    lambda body: f"{PREFIX}SELECT ?x ?y ?z ?v WHERE {{ {body} FILTER(getENDTIME() >= 0) }}"
)


def events(given: Happening) -> list[StreamEvent]:
    time, found = 0, []
    for gap, length, said, stream in given:
        time += gap
        found.append(StreamEvent(time, tuple(said), stream, end=time + length))
    return found


def defined(query: Query, said: list[StreamEvent], background: list[Triple]) -> set[Solution]:
    def happens(stream: IRI | None) -> Any:
        which = [each for each in said if stream in (None, each.stream)]
        return {(triple, each.time, each.end) for each in which for triple in each.triples}

    always = {(triple, *ALWAYS) for triple in background}
    everything = streams(happens(None) | always, {name: happens(name) for name in (S, T)})
    return {each for each in solutions(query.form.pattern, everything) if timed(each)}


def start(machine: StreamProcessor, reports: list[Report], name: str, text: str) -> None:
    machine.register(name, text, parse_query(text), reports.append)


def run(
    text: str, said: list[StreamEvent], background: list[Triple], cut: int | None = None
) -> list[Solution]:
    """What is found; by another processor from the event ``cut`` on."""
    reports: list[Report] = []
    machine = processor(background)
    start(machine, reports, "q", text)
    for number, event in enumerate(said):
        if number == cut:
            state = decode(encode(machine.state(), ProcessorState), ProcessorState)
            machine = processor(background)
            machine.restore(state, partial(start, machine, reports))
        machine.push(event)
    machine.finish()
    assert machine.faults == []
    return found_in(reports)


@settings(max_examples=100)
@given(
    text=texts,
    given_=happening,
    background=st.lists(triples, max_size=2, unique=True),
    cut=st.none() | st.integers(0, 7),
)
def test_a_pattern_of_a_stream_matches_what_happens_in_it(
    text: str, given_: Happening, background: list[Triple], cut: int | None
) -> None:
    said = events(given_)
    found = run(text, said, background, cut)
    assert Counter(found) == Counter(defined(parse_query(text), said, background))


def test_two_streams_that_say_the_same_at_once_are_two_for_stream_and_one_for_all() -> None:
    same = (NAMES[0], PROPERTIES[0], NAMES[1])
    said = [StreamEvent(1, (same,), S), StreamEvent(1, (same,), T)]
    sides = [f"{{ STREAM {name} {{ ?x :p ?y }} }}" for name in (":s", ":t")]
    both = f"{PREFIX}SELECT ?x {{ {' EQUALS '.join(sides)} }}"
    assert run(both, said, []) == [(frozenset({("x", NAMES[0])}), 1, 1)]
    every = f"{PREFIX}SELECT ?x {{ ?x :p ?y BIND(getENDTIME() AS ?when) }}"
    assert len(run(every, said, [])) == 1


def test_what_a_query_makes_happens_in_the_stream_of_its_name() -> None:
    machine = processor([])
    reports: list[Report] = []
    made = "REGISTER QUERY :t AS CONSTRUCT { ?x :q ?y } { STREAM :s { ?x :p ?y } }"
    read = "SELECT ?x ?y { { STREAM :s { ?x :p ?y } } SEQ { STREAM :t { ?x :q ?y } } }"
    start(machine, [], "make", PREFIX + made)
    start(machine, reports, "read", PREFIX + read)
    happens = (NAMES[0], PROPERTIES[0], NAMES[1])
    # The same triple in another stream is not read, what is made of it in the first is.
    machine.push(StreamEvent(1, (happens,), S))
    machine.push(StreamEvent(2, ((NAMES[0], PROPERTIES[1], NAMES[1]),), S))
    machine.push(StreamEvent(3, (happens,), S))
    machine.finish()
    assert [each[1:] for each in found_in(reports)] == [(1, 3)]


def test_background_knowledge_is_in_no_stream() -> None:
    known = (NAMES[1], PROPERTIES[1], NAMES[0])
    said = [StreamEvent(1, ((NAMES[0], PROPERTIES[0], NAMES[1]),), S)]
    inside = f"{PREFIX}SELECT ?z {{ STREAM :s {{ ?x :p ?y . ?y :q ?z }} }}"
    outside = f"{PREFIX}SELECT ?z {{ STREAM :s {{ ?x :p ?y }} ?y :q ?z }}"
    assert run(inside, said, [known]) == []
    assert run(outside, said, [known]) == [(frozenset({("z", NAMES[0])}), 1, 1)]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("{ STREAM ?s { ?x :p ?y } }", "name the stream"),
        ("{ STREAM :s { ?x :p+ ?y } }", "outside the braces of STREAM"),
        (
            "FROM NAMED WINDOW :w ON :s [RANGE 9m] { { WINDOW :w { ?x :p ?y } } SEQ { ?x :q ?z } }",
            "STREAM <http://example.org/s> { … }, and "
            'FILTER(getDURATION() < "PT540S"^^xsd:duration)',
        ),
        (
            "{ { STREAM :s [TRIPLES 9] { ?x :p ?y } } SEQ { ?x :q ?z } }",
            "STREAM <http://example.org/s> { … }, and FILTER(getDURATION() < …)",
        ),
        (
            "FROM NAMED WINDOW :w [RANGE 9s] { { WINDOW :w { ?x :p ?y } } SEQ { ?x :q ?z } }",
            "all streams), and FILTER",
        ),
    ],
)
def test_what_is_no_stream_of_a_pattern_is_refused_with_what_to_write(
    where: str, told: str
) -> None:
    text = f"{PREFIX}SELECT ?x {where}"
    with pytest.raises(QueryError) as caught:
        processor([]).check("q", parse_query(text))
    assert told in caught.value.message
    assert caught.value.position is not None
    assert caught.value.position.line == 2


def test_what_is_told_to_write_instead_of_a_window_is_taken() -> None:
    text = (
        f"{PREFIX}SELECT ?x {{ {{ STREAM :s {{ ?x :p ?y }} }} SEQ {{ ?x :q ?z }} "
        'FILTER(getDURATION() < "PT10S"^^xsd:duration) }'
    )
    first = StreamEvent(1, ((NAMES[0], PROPERTIES[0], NAMES[1]),), S)
    second = (NAMES[0], PROPERTIES[1], NAMES[1])
    assert len(run(text, [first, StreamEvent(10, (second,), T)], [])) == 1
    assert run(text, [first, StreamEvent(11, (second,), T)], []) == []


@pytest.mark.parametrize("where", ["STREAM :s { ?x :p ?y }", "{ ?x :p ?y } SEQ { ?x :q ?y }"])
def test_a_selector_of_a_rule_over_time_sees_a_moment_and_no_pattern_in_time(where: str) -> None:
    text = f"{PREFIX}define {{ :a :b :c }} from P(SELECT ?x WHERE {{ {where} }})"
    program = read_program(text, name="r", start=Position("r.dotr", 1, 1))
    with pytest.raises(UnsupportedQuery, match="CONSTRUCT what is to be matched") as caught:
        processor([]).check("r", program)
    place = text.splitlines()[1].index("SEQ" if "SEQ" in where else "STREAM") + 1
    assert caught.value.position == Position("r.dotr", 2, place)
