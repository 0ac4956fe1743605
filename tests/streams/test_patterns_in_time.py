"""The queries of the EP-SPARQL paper, run; and what queries of patterns in time do otherwise.

Source: Anicic et al., "EP-SPARQL", 2011, section 4.1. The definition is tested in
tests/network/intervals.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.analysis import QueryContext, query_notes
from sensorstream.errors import Overrun, Position, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.network.budget import Limits
from sensorstream.sparql.query_parser import parse_query, read_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from tests.sparql.building.test_pattern_builder import EP_SPARQL

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
DAY = 86_400
# The chain of sums must begin somewhere: the paper does not print this query.
SEED = """CONSTRUCT { _:first :hasCount 1 ; :hasSum ?price } WHERE {
    { :ACME :hasStockPrice ?price } EQUALS { :ACME :hasStockPrice ?price } }"""


def term(text: object) -> Any:
    if isinstance(text, int):
        return Literal(str(text), xsd.INTEGER)
    return IRI(f"http://example.org/{text}")


def said(*triples: tuple[object, object, object]) -> tuple[Triple, ...]:
    return tuple((term(s), term(p), term(o)) for s, p, o in triples)


def run(
    queries: Iterable[str],
    events: Iterable[tuple[float, tuple[Triple, ...]]],
    background: Iterable[Triple] = (),
) -> list[tuple[Any, ...]]:
    """The rows of the last query, each with its interval in days; times are days."""
    graph = TripleIndex()
    for triple in background:
        graph.add(triple)
    machine = StreamProcessor(graph, instant=lambda literal: int(literal.lexical), second=1)
    found: list[Report] = []
    for number, text in enumerate(queries):
        found.clear()
        text = PREFIX + text
        machine.register(f"q{number}", text, parse_query(text), lambda each: found.append(each))
    last = f"q{number}"
    for day, triples in events:
        machine.push(StreamEvent(int(day * DAY), triples))
    machine.finish()
    assert machine.faults == []
    return [
        (*(_short(each) for each in row), start / DAY, end / DAY)
        for report in found
        if report.query == last
        for row, (start, end) in zip(report.rows, report.intervals or (), strict=True)
    ]


def _short(each: Any) -> Any:
    return getattr(each, "lexical", each and each.removeprefix("http://example.org/"))


def prices(*given: tuple[float, int], company: str = "acme") -> list[Any]:
    return [(day, said((company, "hasStockPrice", price))) for day, price in given]


def test_query_1_finds_a_fall_and_a_rise_within_thirty_days() -> None:
    told = prices((0, 100), (5, 69), (8, 71), (29, 106), (30, 200))
    assert run([EP_SPARQL[1]], told) == [("acme", 0, 29)]


def test_query_2_names_an_agency_only_if_it_rated_before_the_first_price() -> None:
    told = sorted(
        [
            *prices((1, 100), (2, 40)),
            *prices((1, 100), (2, 40), company="other"),
            (0, said(("acme", "downratedby", "moody"))),
            (1.5, said(("acme", "downratedby", "fitch"))),
        ],
        key=lambda each: each[0],
    )
    assert sorted(run([EP_SPARQL[2]], told), key=repr) == [
        ("acme", "moody", 0, 2),
        ("other", None, 1, 2),
    ]


def test_query_3_means_that_no_company_was_acquired_before() -> None:
    told = [
        (0, said(("acme", "hasStockprice", 100), ("late", "hasStockprice", 100))),
        (1, said(("acme", "hasAcquired", "small"))),
        (2, said(("acme", "hasStockPrice", 120), ("late", "hasStockPrice", 120))),
        # Too long ago for the filter, but acquired is acquired.
        (40, said(("acme", "hasStockprice", 100))),
        (41, said(("acme", "hasStockPrice", 120))),
    ]
    assert run([EP_SPARQL[3]], told) == [("late", 0, 2)]


def test_query_4_feeds_query_2() -> None:
    def rating(name: str, score: int) -> tuple[Triple, ...]:
        return said((name, "rater", "moody"), (name, "rated", "acme"), (name, "score", score))

    told = [(0, rating("r1", 7)), (1, rating("r2", 5)), *prices((2, 100), (3, 40))]
    assert run([EP_SPARQL[4], EP_SPARQL[2]], told) == [("acme", "moody", 0, 3)]


def test_queries_5_and_6_give_the_average_of_ten_days_and_more() -> None:
    told = prices((0, 10), (2, 20), (5, 30), (11, 70), company="ACME")
    assert run([SEED, EP_SPARQL[5], PLAIN_6], told) == [("40", 0, 11)]


# As it is printed it selects ?sum / ?count, which the pattern does not bind: ?prevsum, ?prevcount.
PLAIN_6 = EP_SPARQL[6].replace("?sum / ?count", "?prevsum / ?prevcount")


def test_background_knowledge_holds_always() -> None:
    told = [*prices((0, 100), (1, 50)), *prices((2, 100), (3, 50), company="other")]
    text = """SELECT ?c WHERE { ?c :inSector :tech . { ?c :hasStockPrice ?p } SEQ
        { ?c :hasStockPrice ?q } FILTER(?q < ?p) }"""
    assert run([text], told, said(("acme", "inSector", "tech"))) == [("acme", 0, 1)]


def test_equal_triples_of_a_block_are_one_occurrence() -> None:
    told = [(day, said(("a", "likes", "a"))) for day in (0, 1)]
    assert run(["SELECT ?x ?y { ?x :likes ?y . ?y :likes ?x BIND(getENDTIME() AS ?t) }"], told) == [
        ("a", "a", 0, 0),
        ("a", "a", 1, 1),
    ]


def test_months_are_those_of_the_calendar() -> None:
    machine = StreamProcessor(
        TripleIndex(),
        instant=lambda literal: int(literal.lexical),
        second=1_000_000,
        line=Timeline.DATETIME,
    )
    text = PREFIX + (
        "SELECT ?x ?start ?long WHERE { { ?x :p ?y } SEQ { ?x :q ?z } BIND(getSTARTTIME() AS "
        '?start) BIND(getDURATION() AS ?long) FILTER(getDURATION() <= "P1M"^^xsd:duration) }'
    )
    found: list[Report] = []
    machine.register("q", text, parse_query(text), found.append)
    for day, predicate in (
        ("2025-02-01T00:00:00Z", "p"),
        ("2025-02-28T12:00:00.5Z", "p"),
        ("2025-03-01T12:00:00Z", "q"),
    ):
        time = Timeline.DATETIME.instant(day)
        machine.push(StreamEvent(time, said(("a", predicate, 1))))
    machine.finish()
    ((row,),) = (each.rows for each in found)
    assert [each and getattr(each, "lexical", each) for each in row] == [
        "http://example.org/a",
        "2025-02-28T12:00:00.500000Z",
        "PT23H59M59.5S",
    ]


def test_what_is_too_old_goes_though_nothing_more_of_its_kind_comes() -> None:
    text = PREFIX + (
        "SELECT * { { ?x :p ?y } SEQ { ?x :q ?z } OPTIONAL { ?x :r ?w } "
        'FILTER(getDURATION() < "PT10S"^^xsd:duration) }'
    )
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    machine.register("q", text, parse_query(text), lambda report: None)
    for time in range(100):
        machine.push(StreamEvent(time, said((f"a{time}", "p", 1))))
    assert sum(node.size() for node in machine.network.nodes()) > 5
    for time in range(100, 400):
        machine.push(StreamEvent(time, said(("b", "other", 1))))
    assert sum(node.size() for node in machine.network.nodes()) == 0


def test_a_pattern_without_a_bound_is_stopped_when_it_keeps_too_much() -> None:
    text = PREFIX + "SELECT * { { ?x :p ?y } SEQ { ?x :q ?z } }"
    limits = Limits(kept=500)
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1, limits=limits)
    machine.register("q", text, parse_query(text), lambda report: None)
    for time in range(600):
        machine.push(StreamEvent(time, said(("a", "p", time))))
    machine.finish()
    ((name, error),) = machine.faults
    assert name == "q"
    assert isinstance(error, Overrun)
    assert len(machine.network) == 0


@pytest.mark.parametrize("number", EP_SPARQL)
def test_nothing_is_remarkable_in_the_queries_of_the_paper_but_what_it_misspells(
    number: int,
) -> None:
    parsed = read_query(PREFIX + EP_SPARQL[number], start=Position("query", 1, 1))
    notes = query_notes(parsed, QueryContext(Schema.of(()), continuous=True))
    told = [note.text for note in notes if note.code != "unbounded-state"]
    # Query (6) selects what its pattern does not bind.
    assert bool(told) is (number == 6), told


def test_a_period_gathers_what_has_been_found() -> None:
    text = PREFIX + "SELECT ?z REPORT EVERY 10 { { ?x :p ?y } SEQ { ?x :q ?z } }"
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    found: list[Report] = []
    machine.register("q", text, parse_query(text), found.append)
    for time, predicate in ((1, "p"), (2, "q"), (3, "q"), (25, "q")):
        machine.push(StreamEvent(time, said(("a", predicate, time))))
    machine.finish()
    told = [(each.time, [int(_short(row[0])) for row in each.rows]) for each in found]
    assert told == [(10, [2, 3]), (30, [25])]


def test_windows_end_as_they_would_without_a_pattern_in_time() -> None:
    pattern = PREFIX + "SELECT ?z { { ?x :p ?y } SEQ { ?x :q ?z } }"
    window = PREFIX + (
        "REGISTER RSTREAM :w AS SELECT ?x FROM NAMED WINDOW :w [RANGE 5 STEP 5] "
        "{ WINDOW :w { ?x ?p ?y } }"
    )
    found: list[list[Report]] = [[], []]
    for beside, reports in enumerate(found):
        machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
        machine.register("w", window, parse_query(window), reports.append)
        if beside:
            machine.register("p", pattern, parse_query(pattern), lambda report: None)
        for time, predicate in ((1, "p"), (2, "q"), (3, "q"), (25, "q")):
            machine.push(StreamEvent(time, said(("a", predicate, time))))
        machine.finish()
    assert found[0] == found[1]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_query_does_not_see_what_came_before_it_in_the_same_instant(restarted: bool) -> None:
    text = f"{PREFIX}SELECT ?x {{ ?x :p ?y FILTER(getENDTIME() = 5) }}"
    found: list[tuple[str, str]] = []

    def begin(machine: StreamProcessor, name: str) -> None:
        def tell(report: Report) -> None:
            found.extend((name, str(row[0])) for row in report.rows)

        machine.register(name, text, parse_query(text), tell)

    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    for place, name in enumerate("abc"):
        begin(machine, name)
        machine.push(StreamEvent(5, said((f"x{place}", "p", 1))))
    if restarted:
        state = machine.state()
        machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
        machine.restore(state, lambda name, _: begin(machine, name))
    machine.finish()
    seen = {"a": "012", "b": "12", "c": "2"}
    assert found == [(q, f"http://example.org/x{n}") for q, told in seen.items() for n in told]


def test_a_trace_shows_each_step_of_a_pattern_in_time() -> None:
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    text = f"{PREFIX}SELECT ?x {{ {{ ?x :p ?y . ?x :p ?w }} SEQ {{ ?x :q ?z }} }}"
    machine.register("q", text, parse_query(text), lambda report: None)
    trace = machine.trace("q", str)
    machine.push(StreamEvent(1, said(("a", "p", 1))))
    machine.push(StreamEvent(2, said(("a", "q", 2))))
    machine.finish()
    assert machine.faults == []
    told = json.dumps(trace.last(9))
    assert "Occurrences of ?x <http://example.org/p> ?y" in told
    assert "SEQ on ?x" in told


def test_what_a_query_kept_goes_with_it() -> None:
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    text = PREFIX + "CONSTRUCT { ?x :r ?z } { { ?x :p ?y } SEQ { ?x :q ?z } }"
    machine.register("q", text, parse_query(text), lambda report: None)
    machine.push(StreamEvent(1, said(("a", "p", 1))))
    machine.unregister("q")
    assert len(machine.network) == 0
    assert machine.patterns.source.idle
    assert machine.next_due is None
    machine.push(StreamEvent(2, said(("a", "q", 1))))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ASK { { ?x :p ?y } SEQ { ?x :q ?z } }", "write SELECT"),
        ("REGISTER RSTREAM :x AS SELECT * { { ?x :p ?y } SEQ { ?x :q ?z } }", "ISTREAM"),
        (
            "SELECT * FROM NAMED WINDOW :w [RANGE 10] { { ?x :p ?y } SEQ { ?x :q ?z } }",
            "getDURATION",
        ),
        ("SELECT * REPORT EVERY 5 TRIPLES { { ?x :p ?y } SEQ { ?x :q ?z } }", "length of time"),
    ],
)
def test_forms_that_are_about_windows_are_refused(text: str, told: str) -> None:
    machine = StreamProcessor(TripleIndex(), instant=lambda literal: 0, second=1)
    with pytest.raises(UnsupportedQuery, match=told):
        machine.register("q", PREFIX + text, parse_query(PREFIX + text), lambda report: None)


_VALUES = [
    *(Literal(each, xsd.INTEGER) for each in ("1", "9007199254740993", "-7")),
    *(Literal(each, xsd.DECIMAL) for each in ("0.1", "-0.0", "12345678901234567890.12345")),
    *(Literal(each, xsd.DOUBLE) for each in ("1.5E0", "-0.0E0", "1.0E300", "NaN", "INF")),
    Literal("2.5", xsd.FLOAT),
    Literal("no number"),
]
_BESIDE = (
    "SELECT ?x (AVG(?y) AS ?mean) (SUM(?y) AS ?all) (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x "
    'HAVING (getDURATION() < "PT4S"^^xsd:duration)',
    "SELECT ?y { { ?x :p ?y } SEQ { ?x :p ?z } FILTER(?y < ?z) }",
    "SELECT ?x (AVG(?y) AS ?mean) { ?x :p ?y } GROUP BY ?x",
    "CONSTRUCT { ?x :q ?z } { { ?x :p ?y } EQUALS { ?z :p ?y } }",
    "SELECT ?x { :a :knows ?x }",
)
_moments = st.tuples(
    st.integers(-1, 3),
    st.sampled_from([0, 0, 0, 2]),
    st.lists(
        st.tuples(st.sampled_from([term("a"), term("b")]), st.sampled_from(_VALUES)), max_size=2
    ),
)


def _beside(
    texts: Iterable[str], moments: Iterable[Any], at_once: int, leaves: int
) -> list[tuple[object, ...]]:
    """What queries report that run beside each other, in order; the first ends at an event."""
    graph, found = TripleIndex(), list[tuple[object, ...]]()
    machine = StreamProcessor(graph, instant=lambda literal: 0, second=1)
    for name, text in zip("abcde", texts, strict=False):
        machine.register(
            name,
            PREFIX + text,
            parse_query(PREFIX + text),
            lambda r: found.append((r.query, r.time, r.rows, r.triples, r.intervals)),
        )
    time = 0
    for number, (gap, length, pairs) in enumerate(moments, 1):
        time += gap
        triples = tuple((x, IRI("http://example.org/p"), y) for x, y in dict.fromkeys(pairs))
        machine.more = number % at_once != 0 and number != leaves
        machine.push(StreamEvent(time, triples, end=time + length))
        if number == leaves:
            machine.unregister("a")
            graph.add((term("a"), IRI("http://example.org/knows"), term("b")))
            machine.settle(max(time, machine.now or 0))
    machine.finish()
    assert machine.faults == []
    return found


@given(
    st.lists(st.sampled_from(_BESIDE), min_size=1, max_size=4),
    st.lists(_moments, min_size=1, max_size=12),
    st.integers(2, 12),
    st.integers(1, 14),
)
def test_events_at_once_are_reported_as_one_by_one(
    texts: list[str], moments: list[Any], at_once: int, leaves: int
) -> None:
    assert _beside(texts, moments, at_once, leaves) == _beside(texts, moments, 1, leaves)
