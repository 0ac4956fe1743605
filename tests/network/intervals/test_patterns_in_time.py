"""Patterns in time against their definition, on random streams with intervals and ties."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.query_state import ProcessorState
from tests.network.intervals.definition import (
    ALWAYS,
    Occurrence,
    Solution,
    closed,
    solutions,
    timed,
)

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
NAMES = [IRI(f"http://example.org/{name}") for name in "ab"]
PROPERTIES = [IRI(f"http://example.org/{name}") for name in "pq"]
NUMBERS = [Literal(str(number), xsd.INTEGER) for number in (1, 2)]

triples = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from([*NAMES, *NUMBERS])
)
streams = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0, 0, 0, 1, 3]),
        st.lists(triples, min_size=1, max_size=3, unique=True),
    ),
    min_size=2,
    max_size=8,
)
backgrounds = st.lists(triples, max_size=2, unique=True)

ends = st.sampled_from(["?x", "?y", "?z", "?z", "?v", "?w", ":a", "1"])
blocks = st.lists(
    st.tuples(
        st.sampled_from(["?x", "?x", "?y", ":a"]), st.sampled_from([":p", ":p", ":q", "?p"]), ends
    ).map(" ".join),
    min_size=1,
    max_size=2,
).map(" . ".join)
conditions = st.sampled_from(
    [
        'getDURATION() < "PT3S"^^xsd:duration',
        'getDURATION() <= "PT3S"^^xsd:duration',
        '"PT1S"^^xsd:duration <= getDURATION()',
        "getSTARTTIME() > 2",
        "getENDTIME() < 6",
        "?x != ?y",
        "?v < ?w",
        "?z >= ?v",
        "?v < 2 || getENDTIME() > 4",
        "?z > 1",
        "!BOUND(?z)",
        "BOUND(?y) && ?x != :b",
    ]
)


def groups(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    filters = st.one_of(*[st.just("")] * 3, conditions.map(lambda c: f" FILTER({c})"))
    return st.tuples(patterns, filters).map(lambda parts: f"{{ {''.join(parts)} }}")


def combined(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = groups(patterns)
    operators = st.sampled_from(
        ["SEQ", "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "UNION", "OPTIONAL", "MINUS", ""]
    )
    return st.tuples(group, operators, group).map(" ".join)


texts = combined(st.recursive(blocks, combined, max_leaves=3)).map(
    lambda where: f"{PREFIX}SELECT ?x ?y ?z ?v WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
)


def events(gaps: list[tuple[int, int, list[Triple]]]) -> list[StreamEvent]:
    time, found = 0, []
    for gap, length, said in gaps:
        time += gap
        found.append(StreamEvent(time, tuple(said), end=time + length))
    return found


def stream_of(said: list[StreamEvent], background: list[Triple]) -> frozenset[Occurrence]:
    happened: set[Any] = {(t, e.time, e.end) for e in said for t in e.triples}
    return frozenset({*happened, *((t, *ALWAYS) for t in background)})


def processor(background: list[Triple]) -> StreamProcessor:
    graph = TripleIndex()
    for triple in background:
        graph.add(triple)
    return StreamProcessor(graph, instant=lambda literal: int(literal.lexical), second=1)


def found_in(reports: list[Report]) -> list[Solution]:
    found: list[Solution] = []
    for each in reports:
        assert each.operation is RowOperation.ADDED
        assert each.intervals is not None
        for row, interval in zip(each.rows, each.intervals, strict=True):
            assert interval[1] == each.time, "a solution is told when its interval is over"
            pairs = zip(each.variables, row, strict=True)
            bindings = frozenset((name, term) for name, term in pairs if term is not None)
            found.append((bindings, *interval))
    return found


def run(text: str, said: list[StreamEvent], background: list[Triple]) -> list[Solution]:
    reports: list[Report] = []
    machine = processor(background)
    machine.register("q", text, parse_query(text), reports.append)
    for event in said:
        machine.push(event)
    machine.finish()
    assert machine.faults == []
    return found_in(reports)


@settings(max_examples=250)
@given(text=texts, gaps=streams, background=backgrounds)
def test_every_solution_is_told_once_with_its_interval_when_it_is_over(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple]
) -> None:
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = run(text, said, background)
    assert len(found) == len(set(found)), "each solution once"
    assert set(found) == {each for each in expected if timed(each)}


grouped = st.tuples(
    st.sampled_from(["(COUNT(*) AS ?n)", "(SUM(?w) AS ?n) (COUNT(DISTINCT ?w) AS ?m)"]),
    combined(blocks),
    st.sampled_from(["", "GROUP BY ?x", "GROUP BY ?x ?y"]),
    st.sampled_from(["", "< 'PT3S'", "<= 'PT2S'", "< 'PT0S'"]),
    st.sampled_from(["", " SEQ { ?x ?q ?y }", " UNION { ?x :p ?n }"]),
).map(
    lambda parts: (
        f"{PREFIX}SELECT ?x ?y ?n ?m WHERE {{ {{ {{ SELECT {parts[2].removeprefix('GROUP BY')} "
        f"{parts[0]} WHERE {{ {parts[1]} }} {parts[2]} }}"
        f"{f' FILTER(getDURATION() {parts[3]}^^xsd:duration)' if parts[3] else ''} }}"
        f"{parts[4]} FILTER(getENDTIME() >= 0) }}"
    )
)


@settings(max_examples=150)
@given(text=grouped, gaps=streams, background=backgrounds, cut=st.integers(0, 7))
def test_aggregates_are_told_when_something_ends_and_survive_a_restart(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple], cut: int
) -> None:
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = restarted(text, said, background, cut)
    assert len(found) == len(set(found))
    assert set(found) == {each for each in expected if timed(each)}


choosing = st.tuples(
    st.sampled_from(["?x :p ?v", "?x :q ?v", "?x ?p ?v", "?x :p ?v . ?y :q ?u"]),
    st.sampled_from(["RECENT", "CHRONOLOGICAL"]),
    st.sampled_from(["?x :p ?w", "?y :q ?w", "?x :q ?w . ?y :p ?u"]),
    st.sampled_from(["", "?v < ?w", "?v != ?w", 'getDURATION() < "PT3S"^^xsd:duration']),
    st.sampled_from(["", " SEQ { ?x ?q ?z } FILTER(getDURATION() < 'PT6S'^^xsd:duration)"]),
).map(
    lambda parts: (
        f"{PREFIX}SELECT ?x ?v ?w ?z WHERE {{ {{ {{ {parts[0]} }} SEQ {parts[1]} {{ {parts[2]} }} "
        f"{f'FILTER({parts[3]})' if parts[3] else ''} }}{parts[4]} }}"
    )
)


@settings(max_examples=150)
@given(text=choosing, gaps=streams, order=st.randoms(use_true_random=False), cut=st.integers(0, 7))
def test_a_consuming_seq_chooses_among_what_fits_and_survives_a_restart(
    text: str, gaps: list[tuple[int, int, list[Triple]]], order: Any, cut: int
) -> None:
    said = sorted(events(gaps), key=lambda event: (event.time, order.random()))
    expected = solutions(parse_query(text).form.pattern, stream_of(said, []))
    found = restarted(text, said, [], cut)
    assert len(found) == len(set(found))
    assert set(found) == expected


def restarted(
    text: str, said: list[StreamEvent], background: list[Triple], cut: int
) -> list[Solution]:
    """What is found if the processor is another one from an event on."""
    reports: list[Report] = []
    machine = processor(background)
    machine.register("q", text, parse_query(text), reports.append)
    for event in said[:cut]:
        machine.push(event)
    state = decode(encode(machine.state(), ProcessorState), ProcessorState)
    again = processor(background)
    again.restore(
        state, lambda name, text: again.register(name, text, parse_query(text), reports.append)
    )
    for event in said[cut:]:
        again.push(event)
    again.finish()
    assert again.faults == []
    return found_in(reports)


@settings(max_examples=100)
@given(text=texts, gaps=streams, background=backgrounds, cut=st.integers(0, 7))
def test_a_restart_in_mid_pattern_loses_and_repeats_nothing(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple], cut: int
) -> None:
    said = events(gaps)
    found = restarted(text, said, background, cut)
    assert Counter(found) == Counter(run(text, said, background))


@settings(max_examples=60)
@given(text=texts, gaps=streams, order=st.randoms(use_true_random=False))
def test_the_order_of_what_happens_at_one_time_makes_no_difference(
    text: str, gaps: list[tuple[int, int, list[Triple]]], order: Any
) -> None:
    said = events(gaps)
    shuffled = sorted(said, key=lambda event: (event.time, order.random()))
    assert set(run(text, said, [])) == set(run(text, shuffled, []))


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


def test_absence_that_depends_on_itself_at_one_moment_is_refused() -> None:
    machine = processor([])
    text = (
        PREFIX + "CONSTRUCT { ?x :q ?y } WHERE { { ?x :p ?y } EQUALSOPTIONAL { ?x :q ?z } "
        "FILTER(!BOUND(?z)) }"
    )
    with pytest.raises(UnsupportedQuery, match="OPTIONALSEQ"):
        machine.register("q", text, parse_query(text), lambda report: None)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("{ ?x :p ?y } SEQ { ?x :q ?y } FILTER(getDURATION() < 10)", "durations"),
        ("{ ?x :p ?y } SEQ { GRAPH :g { ?x :q ?y } }", "GRAPH"),
        ('{ ?x :p ?y } SEQ { ?x :q ?y } FILTER(getDURATION() < "P1M"^^xsd:duration)', "months"),
    ],
)
def test_what_has_no_meaning_over_occurrences_is_refused_with_what_to_write(
    where: str, told: str
) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} }}"
    with pytest.raises(UnsupportedQuery, match=told):
        processor([]).register("q", text, parse_query(text), lambda report: None)


values = st.one_of(
    st.integers(-3, 3).map(lambda n: Literal(str(n), xsd.INTEGER)),
    st.decimals(-10, 10, places=2).map(lambda n: Literal(f"{n:f}", xsd.DECIMAL)),
    st.sampled_from(
        ["0.7", "-0", "1E308", "-1E308", "1E-310", "2E-310", "INF", "-INF", "NaN", "0.1"]
    ).map(lambda text: Literal(text, xsd.DOUBLE)),
    st.sampled_from([Literal(f"1{'0' * 400}", xsd.INTEGER), Literal("none"), NAMES[0]]),
)


@settings(max_examples=80)
@given(
    said=st.lists(values, min_size=2, max_size=12),
    one=st.sampled_from(["?v", "?v * 0.7", "1e300 * ?v", "?v / 3", "?v / -1e-310", "?v + 1"]),
    order=st.sampled_from(["<", "<=", ">", ">="]),
    other=st.sampled_from(["?w", "?w * 0.7", "?w / 3", "?w - 1"]),
)
def test_the_order_that_finds_rows_leaves_none_out(
    said: list[Any], one: str, order: str, other: str
) -> None:
    events = [StreamEvent(n, ((NAMES[0], PROPERTIES[0], each),)) for n, each in enumerate(said)]
    found = []
    for condition in (f"{one} {order} {other}", f"{one} {order} {other} || false"):
        where = f"{{ ?x :p ?v }} SEQ {{ ?x :p ?w }} FILTER({condition})"
        found.append(run(f"{PREFIX}SELECT * WHERE {{ {where} }}", events, []))
    assert Counter(found[0]) == Counter(found[1])


def test_what_is_kept_is_bounded_by_the_duration_that_is_asked_for() -> None:
    text = (
        PREFIX + "SELECT * WHERE { { ?x :p ?y } SEQ { ?x :q ?z } SEQ { ?x :r ?w } "
        'FILTER(getDURATION() < "PT10S"^^xsd:duration) }'
    )
    machine = processor([])
    machine.register("q", text, parse_query(text), lambda report: None)
    kept = []
    for time in range(1, 2000):
        said = tuple((NAMES[time % 2], each, NUMBERS[0]) for each in PROPERTIES)
        machine.push(StreamEvent(time, said))
        kept.append(sum(node.size() for node in machine.network.nodes()))
    assert max(kept) < 100
    assert all(abs(one - other) < 20 for one, other in pairwise(kept))
