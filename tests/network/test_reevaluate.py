"""What is evaluated anew is right, and gives the very terms of what is kept in step."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from sensorstream.errors import NotIncremental
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import XSD
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.plan.planner import anew, plan_in_step
from sensorstream.network.query_sources import DEFAULT, Sources
from sensorstream.sparql.algebra import Pattern, Select
from sensorstream.sparql.query_parser import parse_query
from tests.network.in_step import Change, World, changes, follow, selected
from tests.network.oracle import patterns


@settings(max_examples=40)
# Of two equal alternatives of a path, Oxigraph walks one.
@given(pattern=patterns(complex_paths=False), stream=changes)
def test_what_is_evaluated_anew_is_right_too(pattern: Pattern, stream: list[list[Change]]) -> None:
    for summed, whole, expected in follow(World(), selected(pattern), stream, fallback=True):
        assert summed == expected
        assert whole == expected


E = "http://example.org/"
WRITTEN = (
    ("01", "integer"),
    ("1", "integer"),
    ("1", "byte"),
    ("300", "byte"),
    ("9223372036854775807", "integer"),
    ("123456789012345678901234567890", "integer"),
    ("1234567890.1234567890123", "decimal"),
    ("1.10", "decimal"),
    ("NaN", "double"),
    ("-0.0", "double"),
    ("INF", "float"),
    ("1e0", "double"),
    ("2014-08-12T24:00:00", "dateTime"),
    ("2014-08-13T00:00:00", "dateTime"),
    ("2014-08-13T00:00:00.000Z", "dateTime"),
    ("24:00:00", "time"),
    ("P1DT24H", "dayTimeDuration"),
    ("1", "boolean"),
    ("true", "boolean"),
    ("one", "integer"),
    ("01", "string"),
)


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT ?x ?v { ?x :p ?v }",
        "SELECT ?x ?y { ?x :p ?v . ?y :q ?v }",
        "SELECT ?x (?v * ?v AS ?w) { ?x :p ?v }",
        "SELECT ?x (?v * ?v * ?v * ?v AS ?w) { ?x :p ?v }",
        "SELECT ?x (?v + 0.5 AS ?w) { ?x :p ?v }",
        "SELECT ?x (?v / 3 AS ?w) { ?x :p ?v }",
        "SELECT ?x (-?v AS ?w) { ?x :p ?v }",
        "SELECT ?x (CONCAT(STR(?v), ' ', STR(DATATYPE(?v))) AS ?w) { ?x :p ?v }",
        "SELECT ?x (xsd:integer(?v) AS ?w) (xsd:string(?v) AS ?s) { ?x :p ?v }",
        "SELECT ?x (HOURS(?v) AS ?w) (DAY(?v) AS ?d) { ?x :p ?v }",
        "SELECT ?x ?y { ?x :p ?v . ?y :q ?w FILTER(?v = ?w) }",
        "SELECT ?x ?y { ?x :p ?v . ?y :q ?w FILTER(?v < ?w) }",
        "SELECT ?x ?y { ?x :p ?v . ?y :q ?w FILTER(sameTerm(?v, ?w)) }",
        "SELECT ?x { ?x :p ?v FILTER(?v * ?v * ?v * ?v > 1) }",
        "SELECT ?x { ?x :p ?v FILTER(?v) }",
        "SELECT ?x { ?x :p 1 }",
        "SELECT ?x { ?x :p ?v FILTER(?v IN (1, 1.1)) }",
        "SELECT ?x { ?x :p ?v FILTER EXISTS { ?y :q ?w FILTER(?w * ?w = ?v * ?v) } }",
        "SELECT ?x ?y { ?x :p ?v OPTIONAL { ?y :q ?w FILTER(?v + 1 = ?w + 1) } }",
        "SELECT ?v (COUNT(*) AS ?n) { ?x :p ?v } GROUP BY ?v",
        "SELECT ?t (SUM(?v) AS ?n) (COUNT(DISTINCT ?v) AS ?c) (MAX(STR(?v)) AS ?m) "
        "{ ?x :p ?v } GROUP BY (DATATYPE(?v) AS ?t)",
        "SELECT (SUM(?v) AS ?n) { ?x :p ?v FILTER(?v > 0 && ?v < 1e60) }",
        "SELECT ?w { { SELECT DISTINCT (?v + 0 AS ?w) { ?x :p ?v } } }",
        "SELECT ?x ?v { VALUES ?v { 01 1.10 '1'^^xsd:byte } ?x :p ?v }",
        "SELECT ?x { ?x :p ?v MINUS { ?x :q 01 } }",
    ],
)
def test_anew_and_in_step_are_one_meaning(asked: str) -> None:
    text = f"PREFIX : <{E}> PREFIX xsd: <{XSD}> {asked}"
    form = parse_query(text).form
    assert isinstance(form, Select)
    sources = Sources()
    network, index = Network(), TripleIndex()
    plans: list[Plan] = [
        plan_in_step(form.pattern, sources),
        anew(form.pattern, sources, None, NotIncremental("a test")),
    ]
    nodes = [build(each, network, {DEFAULT: index}) for each in plans]
    assert nodes[0].variables == nodes[1].variables
    for number, (lexical, datatype) in enumerate(WRITTEN):
        value = Literal(lexical, XSD + datatype)
        index.add((IRI(f"{E}{number}"), IRI(f"{E}p"), value))
        if number % 2:
            index.add((IRI(f"{E}{number}"), IRI(f"{E}q"), value))
    network.settle()
    kept, found = (Counter(list(each.rows())) for each in nodes)
    assert kept == found
    for number, (lexical, datatype) in enumerate(WRITTEN[::3]):
        index.discard((IRI(f"{E}{3 * number}"), IRI(f"{E}p"), Literal(lexical, XSD + datatype)))
    network.settle()
    kept, found = (Counter(list(each.rows())) for each in nodes)
    assert kept == found
