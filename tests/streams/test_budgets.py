"""A query that takes too much in an instant is stopped; the others report what they always do."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun
from sensorstream.kb.index import TripleIndex
from sensorstream.model.datatypes import XSD_INTEGER
from sensorstream.model.regex import LONGEST_TEXT
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.budget import Limits
from sensorstream.sparql.parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.report import Report

WINDOW = "REPORT ON CHANGE FROM NAMED WINDOW <w:> [RANGE PT5S]"
QUERIES = {
    "plain": "SELECT ?x ?y WHERE { ?x <p:> ?y }",
    "filtered": "SELECT ?x ?y WHERE { ?x <p:> ?y FILTER(?x != ?y) }",
    "product": "SELECT ?x ?u WHERE { ?x <p:> ?y . ?u <q:> ?v }",
    "star": "SELECT ?x ?u WHERE { ?x <p:> ?y . ?u <p:> ?y }",
    "path": "SELECT ?x ?y WHERE { ?x <p:>+ ?y }",
    "optional": "SELECT ?x ?u WHERE { ?x <p:> ?y OPTIONAL { ?u <q:> ?v } }",
    "minus": "SELECT ?x WHERE { ?x <p:> ?y MINUS { ?x <q:> ?v } }",
    "count": "SELECT ?y (COUNT(*) AS ?n) WHERE { ?x <p:> ?y . ?u <q:> ?v } GROUP BY ?y",
    "windowed": f"SELECT ?x ?u {WINDOW} WHERE {{ WINDOW <w:> {{ ?x <p:> ?y . ?u <p:> ?v }} }}",
    "union": "SELECT ?x WHERE { { ?x <p:> ?y } UNION { ?x <q:> ?y } }",
}
NODES = [IRI(f"n:{n}") for n in range(6)]
_TRIPLES = st.tuples(
    st.sampled_from(NODES), st.sampled_from([IRI("p:"), IRI("q:")]), st.sampled_from(NODES)
)
_CHANGES = st.lists(st.lists(_TRIPLES, min_size=1, max_size=8), min_size=1, max_size=10)


def machine(limits: Limits) -> StreamProcessor:
    return StreamProcessor(
        TripleIndex(), instant=lambda text: int(text.lexical), second=1, limits=limits
    )


def told(
    limits: Limits, changes: list[list[Triple]]
) -> tuple[StreamProcessor, dict[str, Counter[object]]]:
    """What each query reports while triples come and go, in the graph and on a stream."""
    running, found = machine(limits), list[Report]()
    for name, text in QUERIES.items():
        running.register(name, text, parse_query(text), found.append)
    index = running._default
    for time, triples in enumerate(changes, 1):
        for triple in dict.fromkeys(triples):
            (index.discard if triple in index else index.add)(triple)
        running.push(StreamEvent(time, tuple(dict.fromkeys(triples))))
    reports = {name: Counter[object]() for name in QUERIES}
    for each in found:
        rows = tuple(sorted(map(str, each.rows)))
        reports[each.query][each.time, each.operation, rows] += 1
    return running, reports


@settings(max_examples=40)
@given(_CHANGES, st.integers(1, 120), st.none() | st.integers(1, 20))
def test_those_that_are_not_stopped_report_what_they_report_without_limits(
    changes: list[list[Triple]], rows: int, kept: int | None
) -> None:
    limited, reports = told(Limits(rows=rows, kept=kept), changes)
    _, expected = told(Limits(), changes)
    stopped = {name for name, _ in limited.faults}
    assert stopped | set(limited.queries) == set(QUERIES)
    assert all(isinstance(error, Overrun) for _, error in limited.faults)
    for name in limited.queries:
        assert reports[name] == expected[name], name
    for name in list(limited.queries):
        limited.unregister(name)
    assert not list(limited.network.nodes())
    assert not limited._windows


def test_a_product_of_three_is_stopped_by_its_rows() -> None:
    running = machine(Limits(rows=10_000))
    text = "SELECT ?a ?b ?c WHERE { ?a <p:> ?x . ?b <q:> ?y . ?c <r:> ?z }"
    running.register("product", text, parse_query(text), lambda _: None)
    running.register("plain", QUERIES["plain"], parse_query(QUERIES["plain"]), lambda _: None)
    for property in ("p:", "q:", "r:"):
        for n in range(100):
            running._default.add((IRI(f"n:{n}"), IRI(property), NODES[0]))
    running.settle(1)
    ((name, error),) = running.faults
    assert name == "product"
    assert str(error) == (
        "more than 10,000 rows in one instant; the setting limits.query_rows raises the limit"
    )
    assert list(running.queries) == ["plain"]


def test_what_takes_too_many_seconds_is_stopped_too() -> None:
    seconds = count()
    running = machine(Limits(seconds=5.0, counter=lambda: float(next(seconds))))
    text = 'SELECT ?x WHERE { ?x <p:> ?y FILTER REGEX(STR(?x), "[0-9]$") }'
    running.register("slow", text, parse_query(text), lambda _: None)
    for n in range(1000):
        running._default.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
    running.settle(1)
    ((_, error),) = running.faults
    assert "more than 5 s in one instant" in str(error)


def test_a_query_that_is_too_much_to_begin_leaves_nothing() -> None:
    running = machine(Limits(rows=500))
    for n in range(100):
        running._default.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
    text = "SELECT (COUNT(*) AS ?n) WHERE { ?x <p:> ?y . ?u <p:> ?v }"
    # It is refused before it is filled, with all that it would have visited.
    with pytest.raises(Overrun, match=r"^10,000 rows in one instant, more than 500; the setting"):
        running.register("counted", text, parse_query(text), lambda _: None)
    assert not running.queries
    assert not list(running.network.nodes())
    assert not running._default.watchers


def test_a_query_that_keeps_too_much_is_stopped_though_each_instant_brings_little() -> None:
    running = machine(Limits(rows=2_000, kept=1_000))
    for name, text in (
        ("kept", "SELECT DISTINCT ?x ?y WHERE { ?x <p:> ?y }"),
        ("plain", QUERIES["plain"]),
        ("passing", "SELECT DISTINCT ?x ?y WHERE { ?x <q:> ?y }"),
    ):
        running.register(name, text, parse_query(text), lambda _: None)
    previous: Triple = (NODES[0], IRI("q:"), NODES[0])
    running._default.add(previous)
    for n in range(1_200):
        running._default.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
        running._default.discard(previous)
        previous = (IRI(f"n:{n}"), IRI("q:"), NODES[0])
        running._default.add(previous)
        running.settle(n)
    ((name, error),) = running.faults
    assert name == "kept"
    assert str(error) == (
        "more than 1,000 rows kept in memory; the setting limits.query_rows raises the limit"
    )
    assert list(running.queries) == ["plain", "passing"]


def test_lifted_limits_stop_nothing() -> None:
    running = machine(Limits(rows=10))
    running.network.budget.lifted = True
    text = QUERIES["product"]
    running.register("product", text, parse_query(text), lambda _: None)
    for property in ("p:", "q:"):
        for n in range(20):
            running._default.add((IRI(f"n:{n}"), IRI(property), NODES[0]))
    running.settle(1)
    assert list(running.queries) == ["product"]
    running.network.budget.lifted = False
    running._default.add((IRI("n:20"), IRI("p:"), NODES[0]))
    running.settle(2)
    assert [name for name, _ in running.faults] == ["product"]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("CONCAT(?v, ?v)", "p:"),
        ("REPLACE(?v, '.', ?v)", "p:"),
        ("ENCODE_FOR_URI(CONCAT(?v, '%'))", "p:"),
        ("?v * ?v", "q:"),
        ("(?v + 0.5) * (?v + 0.5)", "q:"),
    ],
)
def test_what_grows_with_each_bind_has_no_value_beyond_the_longest(
    function: str, kind: str
) -> None:
    binds = "".join(f"BIND({function.replace('?v', f'?v{n}')} AS ?v{n + 1}) " for n in range(60))
    running = machine(Limits(rows=100_000))
    running._default.add((NODES[0], IRI("p:"), Literal("%" * 50)))
    running._default.add((NODES[0], IRI("q:"), Literal("9" * 50, XSD_INTEGER)))
    text = f"SELECT ?v1 ?v60 WHERE {{ ?x <{kind}> ?v0 {binds} }}"
    running.register("grows", text, parse_query(text), lambda report: None)
    (row,) = running.queries["grows"].result()
    assert row[0] is not None
    assert row[1] is None or len(str(row[1])) <= LONGEST_TEXT


def test_long_texts_count_as_many_rows() -> None:
    running = machine(Limits(rows=5_000))
    for node in NODES:
        running._default.add((node, IRI("p:"), Literal(f"{node}" * 30_000)))
    text = "SELECT ?t WHERE { ?x <p:> ?v BIND(CONCAT(?v, ?v) AS ?t) }"
    running.register("long", text, parse_query(text), lambda report: None)
    with pytest.raises(Overrun, match="rows in one instant"):
        list(running.queries["long"].result())
