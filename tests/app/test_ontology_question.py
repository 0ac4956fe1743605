"""SPARQL over an ontology: what its files say, and what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.app.questions.ontology_questions import answers
from sensorstream.errors import OntologyError, QueryError, UnsupportedQuery
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.settings.settings import ReasoningSettings
from sensorstream.sparql.query_parser import parse_query

_PREFIXES = """PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX : <urn:x:>
"""
_TURTLE = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <urn:x:> .
:Room a owl:Class ; owl:disjointWith :Sensor .
:Sensor a owl:Class ; owl:equivalentClass [ a owl:Restriction ; owl:onProperty :measures ;
  owl:someValuesFrom owl:Thing ] .
:Quiet a owl:Class ; rdfs:subClassOf :Room , :Sensor .
:measures a owl:ObjectProperty ; owl:inverseOf :measuredBy .
:measuredBy a owl:ObjectProperty .
:sees a owl:ObjectProperty ; rdfs:subPropertyOf :measures .
:value a owl:DatatypeProperty ; rdfs:domain [ owl:unionOf ( :Sensor :Quiet ) ] .
:s :sees :heat .
:unnamed a [ a owl:Restriction ; owl:onProperty :sees ; owl:someValuesFrom :Room ] .
"""

ASKED = {
    "SELECT ?x { ?x a :Sensor }": {(":s",), (":unnamed",)},
    "SELECT ?x { ?x a [ owl:onProperty :sees ; owl:someValuesFrom :Room ] }": {(":unnamed",)},
    "SELECT ?c { :s a ?c }": {(":Sensor",), ("owl:Thing",)},
    "SELECT ?c { ?c rdfs:subClassOf :Room }": {(":Room",), (":Quiet",), ("owl:Nothing",)},
    "SELECT ?c { ?c rdfs:subClassOf [ owl:onProperty :measures ; owl:minCardinality 1 ] }": {
        (":Sensor",),
        (":Quiet",),
        ("owl:Nothing",),
    },
    "SELECT ?c { ?c owl:equivalentClass owl:Nothing }": {(":Quiet",), ("owl:Nothing",)},
    "SELECT ?c { :Room owl:disjointWith ?c }": {(":Sensor",), (":Quiet",), ("owl:Nothing",)},
    "SELECT ?c { :sees rdfs:domain ?c }": {(":Sensor",), ("owl:Thing",)},
    "SELECT ?c { :measuredBy rdfs:range ?c }": {(":Sensor",), ("owl:Thing",)},
    "SELECT ?c { :value rdfs:domain ?c }": {(":Sensor",), ("owl:Thing",)},
    "SELECT ?p { :sees rdfs:subPropertyOf ?p }": {(":sees",), (":measures",)},
    "SELECT ?p { ?p owl:inverseOf :measures }": {(":measuredBy",)},
    "SELECT ?x { ?x owl:sameAs :s }": {(":s",)},
}


@pytest.fixture
def ontology(tmp_path: Path) -> Ontology:
    file = tmp_path / "o.ttl"
    file.write_text(_TURTLE)
    return load_ontology([file])


def found(query: str, ontology: Ontology, profile: str) -> set[tuple[str, ...]]:
    [answer] = _answered([query], ontology, profile)
    return answer


def _answered(queries: list[str], ontology: Ontology, profile: str) -> list[set[tuple[str, ...]]]:
    parsed = [parse_query(_PREFIXES + each) for each in queries]
    sets = []
    for answer in answers(parsed, ontology, ReasoningSettings(profile, timeout=60.0), Path()):
        assert isinstance(answer, Solutions)
        sets.append({tuple(map(_short, row)) for row in answer.rows})
    return sets


def _short(term: object) -> str:
    return str(term).replace("urn:x:", ":").replace("http://www.w3.org/2002/07/owl#", "owl:")


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_a_reasoner_answers_by_what_names_and_descriptions_mean(
    ontology: Ontology, profile: str
) -> None:
    told = _answered(list(ASKED), ontology, profile)
    assert dict(zip(ASKED, told, strict=True)) == ASKED


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("none", set()), ("plain", set()), ("rdfs", set()), ("owl2rl", {(":s",)})],
)
def test_other_profiles_answer_by_the_triples_that_they_derive(
    ontology: Ontology, profile: str, expected: set[tuple[str, ...]]
) -> None:
    assert found("SELECT ?x { ?x a :Sensor . ?x :sees ?y }", ontology, profile) == expected


def test_how_a_class_is_written_is_told_by_the_profile_none_and_refused_by_a_reasoner(
    ontology: Ontology,
) -> None:
    text = "SELECT ?p { ?c owl:onProperty ?p }"
    assert found(text, ontology, "none") == {(":measures",), (":sees",)}
    with pytest.raises(QueryError, match=r"describes a class.*the profile none") as caught:
        found(text, ontology, "hermit")
    assert caught.value.position is not None
    assert caught.value.position.line == 4


@pytest.mark.parametrize(
    ("query", "error", "told"),
    [
        ("SELECT * { GRAPH ?g { ?s ?p ?o } }", UnsupportedQuery, "an ontology is one graph"),
        ("SELECT * FROM <urn:g> { ?s ?p ?o }", UnsupportedQuery, "an ontology is one graph"),
        (
            "SELECT * { ?x a [ owl:onProperty :seez ; owl:someValuesFrom :Room ] }",
            QueryError,
            "<urn:x:seez>, which the ontology does not declare",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(
    ontology: Ontology, query: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        found(query, ontology, "hermit")


def test_a_contradiction_of_the_ontology_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "o.ttl"
    file.write_text(f"{_TURTLE} :s a :Room .")
    with pytest.raises(OntologyError, match="contradicts itself"):
        found("SELECT ?x { ?x a :Sensor }", load_ontology([file]), "hermit")
