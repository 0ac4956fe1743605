"""Classes that a query describes by blank nodes."""

from __future__ import annotations

import pytest

from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import BGP, Graph, Query, TriplePattern, Variable
from sensorstream.sparql.described import NAMES, described, descriptions
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.walk import nodes

_PREFIXES = """
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX : <urn:x:>
"""
_SOME = "[ owl:onProperty :p ; owl:someValuesFrom :C ]"


def query(pattern: str) -> Query:
    return parse_query(f"{_PREFIXES} SELECT * {{ {pattern} }}")


def test_a_described_class_gets_a_name_that_the_query_asks_for_in_a_graph_of_its_own() -> None:
    renamed, [found] = described(query(f"?x a {_SOME} ; :q ?y"))
    assert found.name.startswith(NAMES)
    assert (found.node, rdf.TYPE, owl.RESTRICTION) in found.description
    [graph] = [part for part in nodes(renamed) if isinstance(part, Graph)]
    x = Variable("x")
    assert graph == Graph(found.name, BGP((TriplePattern(x, rdf.TYPE, found.name),)))
    assert TriplePattern(x, IRI("urn:x:q"), Variable("y")) in set(nodes(renamed))
    assert not list(descriptions(renamed))


@pytest.mark.parametrize(
    "other",
    [
        "?x a [ owl:someValuesFrom :C ; owl:onProperty :p ]",
        "?x a [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C ]",
        "?c rdfs:subClassOf _:c . FILTER(?c != :D) _:c owl:onProperty :p ; owl:someValuesFrom :C",
        "OPTIONAL { ?x a [ owl:onProperty :p ; owl:someValuesFrom :C ] }",
    ],
)
def test_equal_descriptions_have_one_name_however_they_are_written(other: str) -> None:
    [one] = described(query(f"?x a {_SOME}"))[1]
    assert [each.name for each in described(query(other))[1]] == [one.name]


def test_different_descriptions_have_different_names() -> None:
    several = (_SOME, "[ owl:onProperty :p ; owl:allValuesFrom :C ]", "[ owl:unionOf (:C :D) ]")
    found = described(query(" . ".join(f"?x a {each}" for each in several)))[1]
    assert len({each.name for each in found}) == 3


def test_an_expression_within_another_is_a_part_of_it_and_has_a_kind() -> None:
    [found] = described(query("?x a [ owl:intersectionOf ( :A [ owl:complementOf :B ] ) ]"))[1]
    assert sum(o == owl.CLASS for _, p, o in found.description if p == rdf.TYPE) == 2


def test_an_individual_without_a_name_joins_what_is_asked_of_it() -> None:
    renamed, [found] = described(query(f"?x :q _:y . _:y a {_SOME}"))
    asked = [part for part in nodes(renamed) if isinstance(part, TriplePattern)]
    assert [each.object for each in asked[:1]] == [each.subject for each in asked[1:]]
    assert isinstance(asked[0].object, Variable)
    assert asked[1].object == found.name


@pytest.mark.parametrize(
    "pattern",
    [
        "?x a [ owl:onProperty ?p ; owl:someValuesFrom :C ]",
        "?x a [ owl:onProperty :p ; owl:someValuesFrom _:any ]",
        "?x a _:c . _:c owl:complementOf _:c",
        "?x a _:c . _:c owl:complementOf :A . ?y :q _:c",
        "?c owl:onProperty :p",
    ],
)
def test_what_is_no_complete_description_stays_as_it_is_written(pattern: str) -> None:
    asked = query(pattern)
    assert described(asked) == (asked, ())
    assert list(descriptions(asked))
