from pathlib import Path

import pytest

from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.neighbours import Apart, Definition, Sight, Step, set_apart
from sensorstream.reasoning.dl.terminology import PropertyEnds, Terminology
from sensorstream.reasoning.ontology import load_ontology

ONTOLOGY = """
@prefix : <http://x.example/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:A a owl:Class . :B a owl:Class . :D a owl:Class .
:p a owl:ObjectProperty ; rdfs:domain :A . :q a owl:ObjectProperty .
:r a owl:ObjectProperty ; owl:inverseOf :p ; rdfs:domain :B .
:d a owl:DatatypeProperty .
:C a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :A
    [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ]
    [ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom owl:Thing ] ) ] .
"""


def x(name: str) -> IRI:
    return IRI(f"http://x.example/#{name}")


def apart(folder: Path, text: str = "") -> Apart | None:
    file = folder / "o.ttl"
    file.write_text(ONTOLOGY + text)
    return set_apart(Terminology.of(load_ontology([file])))


def test_a_definition_about_neighbours_is_set_aside(tmp_path: Path) -> None:
    found = apart(tmp_path)
    assert found is not None
    along_p = Sight((Step(x("p"), True), Step(x("r"), False)), x("B"))
    along_q = Sight((Step(x("q"), True),), None)
    assert found.definitions == (Definition(x("C"), frozenset({x("A")}), (along_p, along_q)),)


def test_what_is_told_of_a_property_is_told_of_its_inverse(tmp_path: Path) -> None:
    found = apart(tmp_path)
    assert found is not None
    assert not found.terminology.linking
    a, b = frozenset({x("A")}), frozenset({x("B")})
    assert found.terminology.local[x("p")] == PropertyEnds(a, b)
    assert found.terminology.local[x("r")] == PropertyEnds(b, a)


@pytest.mark.parametrize(
    "axiom",
    [
        # The definition says something about other classes.
        ":D rdfs:subClassOf :C .",
        ":C rdfs:subClassOf :D .",
        ":C owl:disjointWith :D .",
        ":D owl:disjointWith :C .",
        ":p rdfs:range :C .",
        ":D owl:equivalentClass [ owl:complementOf :C ] .",
        """:D owl:equivalentClass
            [ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom :C ] .""",
        # A property says more than its ends.
        "[] rdfs:subClassOf :D ; a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B .",
        ":D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :B ] .",
        """:D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty [ owl:inverseOf :p ] ;
            owl:someValuesFrom :B ] .""",
        ":p rdfs:subPropertyOf :q .",
        ":q a owl:TransitiveProperty .",
        ":q a owl:SymmetricProperty .",
        ":q owl:inverseOf :r .",
        ":q owl:inverseOf :q .",
        ":q owl:propertyDisjointWith :p .",
        # Individuals may be equal, or named.
        ":q a owl:FunctionalProperty .",
        """:D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :q ;
            owl:maxCardinality "1"^^xsd:nonNegativeInteger ] .""",
        ":D owl:equivalentClass [ owl:oneOf ( :anna ) ] .",
        # A class expression of an individual that looks along a property.
        ":anna a [ a owl:Restriction ; owl:onProperty :p ; owl:allValuesFrom :B ] .",
    ],
)
def test_what_would_make_that_unsound_keeps_the_links(tmp_path: Path, axiom: str) -> None:
    assert apart(tmp_path, axiom) is None


def test_axioms_about_other_classes_do_no_harm(tmp_path: Path) -> None:
    more = """:A rdfs:subClassOf :D . :B owl:disjointWith :A .
        :D owl:equivalentClass [ owl:unionOf ( :A :B ) ] ."""
    assert apart(tmp_path, more) is not None
