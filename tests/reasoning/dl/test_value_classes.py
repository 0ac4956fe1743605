from __future__ import annotations

from collections.abc import Hashable

import pyoxigraph as ox
import pytest

from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.value_classes import ValueClasses

PREFIXES = """
@prefix : <http://x.example/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
FACETS = """
:d rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
    owl:withRestrictions ( [ xsd:minInclusive 10 ] [ xsd:maxExclusive 20.5 ] ) ] .
:e rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:double ;
    owl:withRestrictions ( [ xsd:maxInclusive "2.5"^^xsd:double ] ) ] .
:f rdfs:range [ a rdfs:Datatype ; owl:oneOf ( "yes" "no" ) ] .
"""


def classes(text: str) -> ValueClasses:
    triples = []
    for quad in ox.parse(PREFIXES + text, format=ox.RdfFormat.TURTLE):
        s, p, o = map(from_oxigraph, (quad.subject, quad.predicate, quad.object))
        triples.append((s, p, o))
    return ValueClasses(Axioms(triples), frozenset({IRI("http://x.example/#p")}))  # type: ignore[arg-type]


def distinct(found: ValueClasses, datatype: str, *values: str) -> int:
    seen: set[Hashable] = {found.of(value, datatype, None) for value in values}
    return len(seen)


def test_numbers_between_the_same_bounds_are_alike() -> None:
    found = classes(FACETS)
    assert distinct(found, xsd.INTEGER, "-7", "0", "9", "+009") == 1
    assert distinct(found, xsd.INTEGER, "11", "15", "20") == 1
    assert distinct(found, xsd.INTEGER, "9", "10", "11", "21") == 4
    assert distinct(found, xsd.DECIMAL, "20.4", "20.5", "20.6") == 3


def test_an_integer_and_a_fraction_are_told_apart() -> None:
    assert distinct(classes(FACETS), xsd.DECIMAL, "12.0", "12.5") == 2


def test_doubles_have_bounds_of_their_own() -> None:
    found = classes(FACETS)
    assert distinct(found, xsd.DOUBLE, "1.5", "10", "20.5") == 2
    assert distinct(found, xsd.DOUBLE, "2.4", "2.5", "2.6") == 3
    assert distinct(found, xsd.DOUBLE, "0", "-0", "NaN", "INF", "-INF") == 5


def test_only_the_texts_that_axioms_write_are_told_apart() -> None:
    found = classes(FACETS)
    assert distinct(found, xsd.STRING, "anna", "bob") == 1
    assert distinct(found, xsd.STRING, "yes", "no", "anna") == 3


def test_a_bounded_integer_type_brings_its_bounds() -> None:
    found = classes(":d rdfs:range xsd:byte .")
    assert distinct(found, xsd.INTEGER, "127", "128", "5", "-128", "-129") == 5


def test_datatypes_are_told_apart() -> None:
    found = classes(FACETS)
    assert found.of("12", xsd.INTEGER, None) != found.of("12", xsd.DECIMAL, None)
    assert found.of("12", xsd.INTEGER, None) != found.of("12", xsd.STRING, None)
    assert found.of("a", xsd.STRING, "en") != found.of("b", xsd.STRING, "en")


@pytest.mark.parametrize(
    "axiom",
    [
        ":d a owl:FunctionalProperty .",
        """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ;
            owl:maxCardinality 1 ] .""",
        """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ;
            owl:minQualifiedCardinality 2 ; owl:onDataRange xsd:integer ] .""",
        ":A owl:hasKey ( :d ) .",
        ":d owl:propertyDisjointWith :e .",
        "[] a owl:AllDisjointProperties ; owl:members ( :d :e ) .",
        ":d rdfs:subPropertyOf owl:bottomDataProperty .",
    ],
)
def test_where_values_are_compared_each_is_a_class_of_its_own(axiom: str) -> None:
    assert distinct(classes(axiom), xsd.INTEGER, "1", "2", "3") == 3


def test_counting_neighbours_compares_no_values() -> None:
    axiom = ":p a owl:FunctionalProperty ."
    assert distinct(classes(axiom), xsd.INTEGER, "1", "2", "3") == 1


@pytest.mark.parametrize("facet", ["length 3", 'pattern "a+"', "minLength 1", "maxLength 9"])
def test_where_texts_are_measured_each_is_a_class_of_its_own(facet: str) -> None:
    found = classes(f"""
        :d rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:string ;
            owl:withRestrictions ( [ xsd:{facet} ] ) ] .""")
    assert distinct(found, xsd.STRING, "a", "b") == 2
    assert distinct(found, xsd.INTEGER, "1", "2") == 1 or "length" in facet.lower()


def test_a_value_of_any_other_type_is_a_class_of_its_own() -> None:
    found = classes(FACETS)
    assert distinct(found, f"{XSD}boolean", "true", "false") == 2
    assert distinct(found, f"{XSD}float", "1", "1.5") == 2


def test_times_are_one_class_unless_axioms_mention_one() -> None:
    kind, texts = f"{XSD}dateTime", ["2014-08-01T00:00:00Z", "2014-08-02T00:00:00Z"]
    assert distinct(classes(FACETS), kind, *texts) == 1
    # xsd:dateTimeStamp requires a time zone.
    assert distinct(classes(FACETS), kind, *texts, "2014-08-01T00:00:00") == 2
    bound = """:d rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:dateTime ;
        owl:withRestrictions ( [ xsd:minInclusive "2014-01-01T00:00:00Z"^^xsd:dateTime ] ) ] ."""
    assert distinct(classes(bound), kind, *texts) == 2


def test_opaque_values_are_one_class_per_datatype_and_value_of_the_axioms() -> None:
    valued = """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ;
        owl:hasValue "2014-08-01"^^xsd:date ] . :e rdfs:range xsd:time ."""
    triples = [
        (Literal("2014-08-01", f"{XSD}date"), "own"),
        (Literal("2014-08-02", f"{XSD}date"), "date"),
        (Literal("2014-08-03", f"{XSD}date"), "date"),
        (Literal("08:05:00", f"{XSD}time"), "time"),
        (Literal("PT1S", f"{XSD}duration"), "duration"),
        (Literal("2014", f"{XSD}gYear"), "other"),
        (Literal("--08", f"{XSD}gMonth"), "other"),
    ]
    found = classes(valued)
    numbers = found._datatypes.numbers()
    told = [(numbers.tell(value), kind) for value, kind in triples]
    seen = {(found.of(each.lexical, each.datatype, None), kind) for each, kind in told}
    assert len(seen) == len({kind for _, kind in seen}) == len({c for c, _ in seen}) == 5


def test_numbers_of_any_length_have_a_class() -> None:
    found = classes(FACETS)
    assert distinct(found, xsd.INTEGER, "9" * 5000, "8" * 5000) == 2
    assert distinct(found, xsd.DECIMAL, f"{'9' * 60}.5", f"{'9' * 60}.25") == 1
