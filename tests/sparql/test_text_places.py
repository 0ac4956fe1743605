from __future__ import annotations

from dataclasses import replace

import pytest

from sensorstream.errors import Position, QueryError, UnsupportedQuery
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.algebra import BGP, Arithmetic, Comparison, Filter, Graph, Variable
from sensorstream.sparql.query_parser import read_query
from sensorstream.sparql.text_places import give_place
from sensorstream.sparql.walk import nodes

START = Position("q", 1, 1)


def test_places_in_a_file_are_told_of_a_text_that_stands_inside_it() -> None:
    text = "SELECT ?x\n{ ?x e:p ?y FILTER(?y > 1) GRAPH <urn:g> { ?y ?p 1 } }"
    parsed = read_query(
        text, start=Position("a.rules", 7, 11), prefixes={"e": "http://example.org/"}
    )

    def place(part: object) -> str:
        return str(parsed.position(part))

    (condition,) = (each.condition for each in nodes(parsed.meaning) if isinstance(each, Filter))
    (graph,) = (each for each in nodes(parsed.meaning) if isinstance(each, Graph))
    assert place(Variable("x")) == "a.rules:7:18"
    assert place(Variable("y")) == "a.rules:8:10"
    assert place(IRI("http://example.org/p")) == "a.rules:8:6"
    assert place(condition) == "a.rules:8:13"
    assert place(graph) == "a.rules:8:28"
    assert place(Variable("never")) == "a.rules:7:11"
    with pytest.raises(QueryError) as caught:
        read_query("SELECT ?x { ?x f:p 1 }", start=Position("a.rules", 7, 11))
    assert str(caught.value.position) == "a.rules:7:26"


def test_a_part_that_was_made_has_the_place_of_its_first_written_part() -> None:
    parsed = read_query("ASK {\n?x\n<urn:p>\n?y\nFILTER(\n1 + ?x > 2) }", start=START)
    places = parsed.places
    (block,) = nodes(parsed.meaning, BGP)
    made = Filter(Comparison("=", Variable("new"), Literal("3")), block)
    assert places.of(made).line == places.of(block).line == 2
    (sum_,) = nodes(parsed.meaning, Arithmetic)
    assert places.of(Comparison("<", Variable("y"), sum_)) == Position("q", 6, 3)
    assert places.of(Literal("3")) == START


def test_an_error_gets_the_place_of_the_part_that_it_names_once() -> None:
    places = read_query("ASK { ?x <urn:p> ?y }", start=START).places
    error = UnsupportedQuery("no", part=Variable("y"))
    assert give_place(give_place(error, None), places).position == Position("q", 1, 18)
    assert give_place(error, replace(places, first={})).position == Position("q", 1, 18)
    assert give_place(UnsupportedQuery("no"), places).position is None
