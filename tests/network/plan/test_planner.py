"""Aggregates under the names they are selected as, and EXISTS with outer variables."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.plan.planner import named_aggregates
from sensorstream.sparql.algebra import Extend, Group
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.walk import nodes
from sensorstream.streams.processor import StreamProcessor

CASES = {
    "(COUNT(?v) AS ?n) (AVG(?v) AS ?a)": ({"n", "a"}, 0),
    "?x (SUM(?v) AS ?s) (SUM(?v) AS ?t)": ({"s"}, 1),
    "(SUM(?v) + 1 AS ?s)": ({".agg0"}, 1),
    "(SUM(?v) AS ?s) (?s / 2 AS ?half)": ({"s"}, 1),
    "(SUM(?v) AS ?s) (SUM(?v) + MAX(?v) AS ?t)": ({"s", ".agg1"}, 1),
}


@pytest.mark.parametrize("selected", CASES)
def test_an_aggregate_is_computed_under_the_name_it_is_selected_as(selected: str) -> None:
    names, extends = CASES[selected]
    query = parse_query(f"SELECT {selected} {{ ?x <x:v> ?v }} GROUP BY ?x HAVING (SUM(?v) > 2)")
    found = list(nodes(named_aggregates(query.form.pattern)))
    (group,) = (each for each in found if isinstance(each, Group))
    assert {variable.name for variable, _ in group.aggregates} >= names
    assert sum(isinstance(each, Extend) for each in found) == extends


def test_a_name_that_something_below_mentions_is_not_taken() -> None:
    query = parse_query(
        "SELECT (SUM(?v) AS ?s) { ?x <x:v> ?v } GROUP BY ?x HAVING (SUM(?v) > ?s || SUM(?v) > 2)"
    )
    assert named_aggregates(query.form.pattern) == query.form.pattern


def test_groups_within_groups_are_named_too() -> None:
    query = parse_query(
        "SELECT (MAX(?s) AS ?m) { SELECT ?x (SUM(?v) AS ?s) { ?x <x:v> ?v } GROUP BY ?x }"
    )
    found = list(nodes(named_aggregates(query.form.pattern)))
    assert not any(isinstance(each, Extend) for each in found)
    assert [each.aggregates[0][0].name for each in found if isinstance(each, Group)] == ["m", "s"]


EX = "http://example.org/"
triples = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("pq"), st.sampled_from("ab")),
    max_size=6,
    unique=True,
)


@pytest.mark.parametrize(
    ("inner", "kept"),
    [
        ("?y :p ?z OPTIONAL { ?x :q ?z }", False),
        ("?y :p ?z MINUS { ?z :q ?x }", False),
        ("{ ?y :p ?z OPTIONAL { ?x :q ?z } } ?x :p ?z", False),
        ("?y :p ?x OPTIONAL { ?x :q ?z }", True),
        ("?y :p ?z MINUS { ?z :q ?u }", True),
    ],
)
@settings(max_examples=25)
@given(graph=triples)
def test_a_part_that_may_be_missing_sees_the_outer_variable(
    inner: str, kept: bool, graph: list[tuple[str, str, str]]
) -> None:
    index, store = TripleIndex(), ox.Store()
    for triple in graph:
        subject, predicate, object_ = (IRI(EX + each) for each in triple)
        index.add((subject, predicate, object_))
        store.add(ox.Quad(*[ox.NamedNode(EX + each) for each in triple]))
    text = f"PREFIX : <{EX}> SELECT ?x ?y {{ ?x :p ?y FILTER NOT EXISTS {{ {inner} }} }}"
    machine = StreamProcessor(index, instant=lambda literal: int(literal.lexical), second=1)
    running = machine.register("q", text, parse_query(text), lambda report: None)
    assert isinstance(running.plan, Anew) is not kept
    expected = store.query(text)
    assert isinstance(expected, ox.QuerySolutions)
    assert sorted(map(tuple, running.result())) == sorted(
        (str(row["x"])[1:-1], str(row["y"])[1:-1]) for row in expected
    )
