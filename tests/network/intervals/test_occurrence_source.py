"""Streams with what CONSTRUCT adds to them, and what holds always, against their definition."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import Limits
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from tests.network.intervals.definition import closed, solutions, timed
from tests.network.intervals.random_patterns import (
    NAMES,
    NUMBERS,
    PREFIX,
    PROPERTIES,
    Gaps,
    blocks,
    events,
    found_and_defined,
    found_in,
    processor,
    stream_of,
    streams,
    triples,
)

RULES = [
    # Recursion over time, and at one moment.
    [
        [
            "CONSTRUCT { ?x :r ?z } WHERE { { ?x :p ?y } SEQ { ?y :p ?z } }",
            "CONSTRUCT { ?x :r ?z } WHERE { { ?x :r ?y } SEQ { ?y :r ?z } }",
        ]
    ],
    [
        [
            "CONSTRUCT { ?x :q ?y } WHERE { ?x :p ?y FILTER(getENDTIME() >= 0) }",
            "CONSTRUCT { ?x :q ?z } WHERE { ?x :q ?y . ?y :q ?z "
            'FILTER(getDURATION() < "PT4S"^^xsd:duration) }',
        ]
    ],
    # Each stratum knows what the one below it has added at the same moment.
    [
        ["CONSTRUCT { ?x :both ?y } WHERE { { ?x :p ?y } EQUALS { ?x :q ?w } }"],
        [
            "CONSTRUCT { ?x :alone ?y } WHERE { { ?x :p ?y } EQUALSOPTIONAL { ?x :both ?z } "
            "FILTER(!BOUND(?z)) }"
        ],
    ],
    # An absence in what came before, and a number, are of all that was added at that moment.
    [
        ["CONSTRUCT { ?x :q ?y } WHERE { ?x :p ?y FILTER(getENDTIME() >= 0) }"],
        [
            "CONSTRUCT { ?x :r ?z } WHERE "
            "{ { ?x :p ?y OPTIONAL { ?y :q ?w } } SEQ { ?x ?p ?z } FILTER(!BOUND(?w)) }",
            "CONSTRUCT { ?x :n ?n } WHERE { { SELECT ?x (COUNT(*) AS ?n) { ?x :q ?z } "
            "GROUP BY ?x } FILTER(getENDTIME() >= 0) }",
        ],
    ],
    # What it adds it may ask for, if SEQ stands between.
    [
        [
            "CONSTRUCT { ?x :q ?y } WHERE { { ?x :q ?old } OPTIONALSEQ { ?x :p ?y } "
            "FILTER(!BOUND(?old)) }"
        ]
    ],
]
LAST = "SELECT ?x ?y WHERE { { ?x ?p ?y } EQUALS { ?x ?p ?y } }"


@settings(max_examples=120)
@given(rules=st.sampled_from(RULES), gaps=streams, backward=st.booleans())
def test_what_construct_queries_make_is_part_of_the_stream(
    rules: list[list[str]], gaps: list[tuple[int, int, list[Triple]]], backward: bool
) -> None:
    said = events(gaps)
    machine = processor([])
    reports: list[Report] = []
    named = [(f"q{n}", each) for n, each in enumerate(t for stratum in rules for t in stratum)]
    named.append(("last", LAST))
    for name, text in reversed(named) if backward else named:
        sink = reports.append if name == "last" else lambda report: None
        machine.register(name, PREFIX + text, parse_query(PREFIX + text), sink)
    for event in said:
        machine.push(event)
    machine.finish()
    assert machine.faults == []
    parsed = [[parse_query(PREFIX + text) for text in stratum] for stratum in rules]
    expected = solutions(
        parse_query(PREFIX + LAST).form.pattern, closed(stream_of(said, []), parsed)
    )
    found = found_in(reports)
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_rules_without_end_are_stopped_and_named() -> None:
    machine = processor([])
    text = (
        PREFIX + "CONSTRUCT { ?x :n ?more } WHERE { ?x :n ?y BIND(?y + 1 AS ?more) "
        "FILTER(getENDTIME() >= 0) }"
    )
    machine.register("more", text, parse_query(text), lambda report: None)
    machine.push(StreamEvent(1, ((NAMES[0], IRI("http://example.org/n"), NUMBERS[0]),)))
    machine.finish()
    ((name, error),) = machine.faults
    assert name == "more"
    assert "without end" in str(error)


backgrounds = st.lists(triples, max_size=5, unique=True)


paths = st.recursive(
    st.sampled_from([":p", ":q", "!:p", "!^:q", "!(:p|^:p)"]),
    lambda part: st.one_of(
        part.map(lambda one: f"({one})+"),
        part.map(lambda one: f"({one})*"),
        part.map(lambda one: f"({one})?"),
        part.map(lambda one: f"^({one})"),
        st.tuples(part, part).map(lambda two: f"({two[0]}/{two[1]})"),
        st.tuples(part, part).map(lambda two: f"({two[0]}|{two[1]})"),
    ),
    max_leaves=3,
).map(lambda path: f"({path})*")
ends = st.sampled_from(["?x", "?y", ":a", ":b"])


@settings(max_examples=50)
@given(start=ends, path=paths, end=ends, gaps=streams, background=backgrounds)
def test_a_path_of_any_length_is_followed_in_what_holds_always(
    start: str, path: str, end: str, gaps: Gaps, background: list[Triple]
) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ ?x ?r ?y . {start} {path} {end} FILTER(getENDTIME() >= 0) }}"
    found, defined = found_and_defined(text, gaps, background)
    assert found == defined


@settings(max_examples=25)
@given(body=blocks, gaps=streams, background=backgrounds)
def test_what_a_named_graph_says_holds_always(
    body: str, gaps: Gaps, background: list[Triple]
) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ ?x ?r ?y GRAPH :g {{ {body} }} FILTER(getENDTIME() >= 0) }}"
    said = events(gaps)
    index = TripleIndex()
    for triple in background:
        index.add(triple)
    reports: list[Report] = []
    machine = processor(background)
    graphs = {IRI("http://example.org/g"): index}
    machine.register("q", text, parse_query(text), reports.append, graphs)
    for event in said:
        machine.push(event)
    machine.finish()
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    assert set(found_in(reports)) == {each for each in expected if timed(each)}


def test_the_graph_of_a_variable_is_each_of_those_that_are_there() -> None:
    text = f"{PREFIX}SELECT * {{ ?x :p ?y GRAPH ?g {{ ?y :q ?z }} FILTER(getENDTIME() >= 0) }}"
    graphs = {}
    for number, name in enumerate("gh"):
        graphs[IRI(f"http://example.org/{name}")] = index = TripleIndex()
        index.add((NAMES[1], PROPERTIES[1], NUMBERS[number]))
    reports: list[Report] = []
    machine = processor([])
    machine.register("q", text, parse_query(text), reports.append, graphs)
    machine.push(StreamEvent(1, ((NAMES[0], PROPERTIES[0], NAMES[1]),)))
    machine.finish()
    told = {dict(bindings)["g"] for bindings, _, _ in found_in(reports)}
    assert told == set(graphs)


def test_a_query_whose_background_grows_too_large_is_stopped_and_others_go_on() -> None:
    graph = TripleIndex()
    machine = StreamProcessor(
        graph, instant=lambda literal: int(literal.lexical), second=1, limits=Limits(rows=500)
    )
    large = f"{PREFIX}SELECT * {{ ?x :p ?v . ?y :p+ ?z FILTER(getENDTIME() >= 0) }}"
    small = f"{PREFIX}SELECT * {{ ?x :p ?v FILTER(getENDTIME() >= 0) }}"
    told: list[Report] = []
    machine.register("large", large, parse_query(large), lambda report: None)
    machine.register("small", small, parse_query(small), told.append)
    nodes = [IRI(f"http://example.org/n{number}") for number in range(60)]
    for one, other in pairwise(nodes):
        graph.add((one, PROPERTIES[0], other))
    machine.renew()
    machine.push(StreamEvent(1, ((NAMES[0], PROPERTIES[0], NUMBERS[0]),)))
    machine.finish()
    assert [name for name, _ in machine.faults] == ["large"]
    assert len(told) == 1
