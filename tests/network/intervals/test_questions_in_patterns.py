"""EXISTS, LIMIT, GRAPH and paths in patterns in time, against their definition."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import Limits
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from tests.network.intervals.definition import closed, solutions, timed
from tests.network.intervals.test_patterns_in_time import (
    NAMES,
    NUMBERS,
    PREFIX,
    PROPERTIES,
    blocks,
    events,
    found_in,
    processor,
    restarted,
    run,
    stream_of,
    streams,
    triples,
)

backgrounds = st.lists(triples, max_size=5, unique=True)
Gaps = list[tuple[int, int, list[Triple]]]

inner = st.sampled_from(
    [
        "?x :q ?z",
        "?x ?p ?x",
        "?y :p ?o",
        "?x :p ?o FILTER(?o != ?y)",
        "?x :q ?o FILTER(?o < ?v)",
        "{ ?x :p ?o } SEQ { ?x :q ?u }",
        "?a :q ?o FILTER(getENDTIME() > 2)",
        "?x :p ?o MINUS { ?o :q ?u }",
        "?x :p ?o FILTER NOT EXISTS { ?o :q ?x }",
    ]
)
questions = st.tuples(st.sampled_from(["", "NOT "]), inner).map(
    lambda each: f"{each[0]}EXISTS {{ {each[1]} }}"
)
asking = st.one_of(
    questions,
    questions.map(lambda one: f"{one} || ?x = :b"),
    st.tuples(questions, questions).map(" && ".join),
    questions.map(lambda one: f'getDURATION() < "PT3S"^^xsd:duration && {one}'),
)
bodies = st.one_of(
    blocks,
    st.tuples(blocks, st.sampled_from(["SEQ", "OPTIONAL", "UNION", "EQUALS"]), blocks).map(
        lambda each: f"{{ {each[0]} }} {each[1]} {{ {each[2]} }}"
    ),
)
existing = st.tuples(bodies, asking).map(
    lambda each: (
        f"{PREFIX}SELECT ?x ?y ?z ?v WHERE {{ {{ {each[0]} FILTER({each[1]}) }} "
        "FILTER(getENDTIME() >= 0) }"
    )
)


def found_and_defined(text: str, gaps: Gaps, background: list[Triple]) -> Any:
    """What is reported, and each solution of the definition once, as counts."""
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = Counter(run(text, said, background))
    return found, Counter({each for each in expected if timed(each)})


@settings(max_examples=50)
@given(text=existing, gaps=streams, background=st.lists(triples, max_size=2, unique=True))
def test_exists_asks_for_what_has_ended_by_then(
    text: str, gaps: Gaps, background: list[Triple]
) -> None:
    found, defined = found_and_defined(text, gaps, background)
    assert found == defined


limited = st.tuples(bodies, st.sampled_from(["LIMIT 1", "LIMIT 2 OFFSET 1", "OFFSET 2", "LIMIT 0"]))
limits = limited.map(
    lambda each: (
        f"{PREFIX}SELECT ?x ?y ?z ?w WHERE {{ {{ SELECT ?x ?y ?z {{ {each[0]} }} {each[1]} }} "
        "SEQ { ?x ?p ?w } }"
    )
)


@settings(max_examples=40)
@given(text=limits, gaps=streams, background=st.lists(triples, max_size=2, unique=True))
def test_limit_takes_the_solutions_that_end_first(
    text: str, gaps: Gaps, background: list[Triple]
) -> None:
    found, defined = found_and_defined(text, gaps, background)
    assert found == defined


@settings(max_examples=25)
@given(text=st.one_of(existing, limits), gaps=streams, cut=st.integers(0, 7))
def test_what_was_asked_survives_a_restart(text: str, gaps: Gaps, cut: int) -> None:
    said = events(gaps)
    assert Counter(restarted(text, said, [], cut)) == Counter(run(text, said, []))


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


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("{ ?x :p|:q ?y }", "{ ?x :p ?y } UNION { ?x :q ?y }"),
        ("{ ?x (:p|^:q)/:p ?y }", "{ ?x :p/:p ?y } UNION { ?x ^:q/:p ?y }"),
        ("{ ?x !:p ?y }", "{ ?x ?r ?y FILTER(?r != :p) }"),
        (
            "{ ?x !(:p|^:p) ?y }",
            "{ ?x ?r ?y FILTER(?r != :p) } UNION { ?y ?s ?x FILTER(?s != :p) }",
        ),
    ],
)
@settings(max_examples=10)
@given(gaps=streams)
def test_alternatives_of_a_fixed_length_happen_as_unions_do(
    path: str, written: str, gaps: Gaps
) -> None:
    said = events(gaps)
    found = [
        run(f"{PREFIX}SELECT ?x ?y {{ {where} FILTER(getENDTIME() >= 0) }}", said, [])
        for where in (path, written)
    ]
    assert set(found[0]) == set(found[1])


def test_alternatives_that_come_to_too_many_blocks_are_refused() -> None:
    text = f"{PREFIX}SELECT * {{ ?x {'/'.join(['(:p|:q)'] * 7)} ?y FILTER(getENDTIME() >= 0) }}"
    with pytest.raises(UnsupportedQuery, match="group of their own"):
        processor([]).register("q", text, parse_query(text), lambda report: None)


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


ABSENT = [
    ["CONSTRUCT { ?x :q ?y } WHERE { ?x :p ?y FILTER(getENDTIME() >= 0) }"],
    [
        "CONSTRUCT { ?x :alone ?y } WHERE { ?x ?p ?y FILTER NOT EXISTS { ?y :q ?z } "
        "FILTER(getENDTIME() >= 0) }"
    ],
]


@settings(max_examples=25)
@given(gaps=streams)
def test_exists_knows_what_construct_has_made_at_the_same_moment(gaps: Gaps) -> None:
    said = events(gaps)
    reports: list[Report] = []
    machine = processor([])
    last = f"{PREFIX}SELECT ?x ?y {{ ?x :alone ?y FILTER(getENDTIME() >= 0) }}"
    named = [("last", last), *((f"q{n}", PREFIX + t) for n, [t] in enumerate(reversed(ABSENT)))]
    for name, text in named:
        sink: Any = reports.append if name == "last" else (lambda report: None)
        machine.register(name, text, parse_query(text), sink)
    for event in said:
        machine.push(event)
    machine.finish()
    rules = [[parse_query(PREFIX + text) for text in stratum] for stratum in ABSENT]
    expected = solutions(parse_query(last).form.pattern, closed(stream_of(said, []), rules))
    assert set(found_in(reports)) == expected


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("?x :p ?y OPTIONAL { ?x :q ?z FILTER EXISTS { ?y :r ?z } }", "braces of its own"),
        (
            "?x :p ?y FILTER EXISTS { { ?x :q ?z FILTER(?z < ?y) } UNION { ?x :r ?z } }",
            "deep within",
        ),
        ("?x :p ?y FILTER EXISTS { ?z :q ?w FILTER(?w < ?y || getENDTIME() > 2) }", "a filter for"),
        ("{ ?x :p ?y } SEQ { ?x :q+ ?y }", "what happens"),
        ("{ ?x :p ?y } EQUALSOPTIONAL { VALUES ?x { :a } }", "what happens"),
        ("{ SELECT * { ?x :p ?y } ORDER BY ?y LIMIT 1 }", "end first"),
        ("GRAPH :g { ?x :q ?y }", "leave GRAPH out"),
    ],
)
def test_questions_without_a_meaning_are_refused_with_what_to_write(where: str, told: str) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
    with pytest.raises(UnsupportedQuery, match=told):
        processor([]).register("q", text, parse_query(text), lambda report: None)


def kept(machine: StreamProcessor) -> int:
    return sum(node.size() for node in machine.network.nodes())


@pytest.mark.parametrize(
    "where",
    [
        "?x :p ?y MINUS { ?x :q ?w }",
        "?x :p ?y FILTER NOT EXISTS { ?x :q ?w }",
        "?x :p ?y FILTER EXISTS { ?x :q ?w }",
        "?x :p ?y . VALUES ?x { :a :b }",
        "?x :p ?y . ?x :r* ?x",
    ],
)
def test_of_what_has_ended_one_row_of_each_kind_is_kept(where: str) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
    machine = processor([(NAMES[0], IRI("http://example.org/r"), NAMES[1])])
    machine.register("q", text, parse_query(text), lambda report: None)
    for time in range(1, 200):
        said = tuple((name, each, NUMBERS[0]) for name in NAMES for each in PROPERTIES)
        machine.push(StreamEvent(time, said))
    assert kept(machine) <= len(NAMES)


def test_a_query_whose_background_grows_too_large_is_stopped_and_others_go_on() -> None:
    graph = TripleIndex()
    machine = StreamProcessor(
        graph,
        instant=lambda literal: int(literal.lexical),
        second=1,
        limits=Limits(rows=500),
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
