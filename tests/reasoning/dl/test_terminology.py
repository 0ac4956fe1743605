from pathlib import Path

import pytest

from sensorstream.model.terms import IRI, BlankNode
from sensorstream.reasoning.dl.terminology import PropertyEnds, Terminology
from sensorstream.reasoning.ontology import load_ontology

PREFIXES = """
@prefix : <http://x.example/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:A a owl:Class . :B a owl:Class .
:p a owl:ObjectProperty . :q a owl:ObjectProperty . :d a owl:DatatypeProperty .
"""


def x(name: str) -> IRI:
    return IRI(f"http://x.example/#{name}")


def terminology(folder: Path, text: str) -> Terminology:
    file = folder / "o.ttl"
    file.write_text(PREFIXES + text)
    return Terminology.of(load_ontology([file]))


def test_individuals_are_no_axioms(tmp_path: Path) -> None:
    found = terminology(
        tmp_path,
        """<http://x.example/> a owl:Ontology ; rdfs:label "X" .
        :anna a :A , owl:NamedIndividual ; :p :bob ; :d 5 ; rdfs:label "Anna" .
        :carol owl:sameAs :anna .""",
    )
    assert set(found.individuals) == {x("anna"), x("bob"), x("carol")}
    assert {s for s, _, _ in found.axioms} == {x(name) for name in "ABpqd"}


def test_a_property_without_axioms_says_nothing(tmp_path: Path) -> None:
    found = terminology(tmp_path, ':p rdfs:label "p" ; rdfs:comment "nothing" .')
    assert found.linking == found.local.keys() == found.data == set()


def test_a_property_with_named_ends_only_is_local(tmp_path: Path) -> None:
    found = terminology(tmp_path, ":p rdfs:domain :A ; rdfs:range :B , owl:Thing .")
    assert found.local == {x("p"): PropertyEnds(frozenset({x("A")}), frozenset({x("B")}))}
    assert found.linking == set()


@pytest.mark.parametrize(
    "axiom",
    [
        ":p rdfs:subPropertyOf owl:topObjectProperty .",
        ":d rdfs:subPropertyOf owl:topDataProperty .",
        "owl:bottomObjectProperty rdfs:subPropertyOf :p .",
        "owl:topObjectProperty a owl:ObjectProperty . owl:topDataProperty a owl:DatatypeProperty .",
    ],
)
def test_what_holds_anyway_is_no_axiom(tmp_path: Path, axiom: str) -> None:
    assert terminology(tmp_path, axiom).axioms == terminology(tmp_path, "").axioms


@pytest.mark.parametrize(
    "axiom",
    [
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ] .",
        ":p rdfs:subPropertyOf :q .",
        ":q rdfs:subPropertyOf :p .",
        ":q owl:inverseOf :p .",
        ":p a owl:TransitiveProperty .",
        ":p rdfs:range [ owl:unionOf ( :A :B ) ] .",
        ":q owl:propertyChainAxiom ( :p :p ) .",
    ],
)
def test_a_property_with_any_other_axiom_is_linking(tmp_path: Path, axiom: str) -> None:
    found = terminology(tmp_path, f":p rdfs:domain :A . {axiom}")
    assert x("p") in found.linking
    assert x("p") not in found.local


def test_a_datatype_property_counts_as_soon_as_it_has_a_range(tmp_path: Path) -> None:
    assert terminology(tmp_path, ":d rdfs:range xsd:integer .").data == {x("d")}


def test_a_class_expression_of_an_individual_gets_a_name(tmp_path: Path) -> None:
    found = terminology(tmp_path, ":anna a [ owl:complementOf :A ] .")
    [(expression, name)] = found.helpers.items()
    assert isinstance(expression, BlankNode)
    assert (name, IRI("http://www.w3.org/2002/07/owl#equivalentClass"), expression) in found.axioms


RULE = """
[] a swrl:Imp ; swrl:body ( %s ) ; swrl:head ( [ a swrl:ClassAtom ; swrl:classPredicate :A ;
    swrl:argument1 :x ] ) .
:x a swrl:Variable . :y a swrl:Variable . :v a swrl:Variable .
"""
LINK = """[ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :p ;
    swrl:argument1 %s ; swrl:argument2 %s ]"""
VALUE = """[ a swrl:DatavaluedPropertyAtom ; swrl:propertyPredicate :d ;
    swrl:argument1 %s ; swrl:argument2 :v ]"""


@pytest.mark.parametrize(
    ("axiom", "reason"),
    [
        (":A owl:hasKey ( :d ) .", "owl:hasKey"),
        (
            """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty owl:topObjectProperty ;
               owl:someValuesFrom :B ] .""",
            "owl:topObjectProperty",
        ),
        ("owl:topObjectProperty rdfs:subPropertyOf :p .", "owl:topObjectProperty"),
        # Two individuals with one value; one that the body does not speak of; a named one.
        (RULE % (VALUE % ":x" + VALUE % ":y"), "SWRL"),
        (RULE % (VALUE % ":y"), "SWRL"),
        (RULE % (LINK % (":x", ":anna")), "SWRL"),
    ],
)
def test_what_joins_unconnected_individuals_asks_for_the_whole_window(
    tmp_path: Path, axiom: str, reason: str
) -> None:
    assert reason in terminology(tmp_path, axiom).whole


@pytest.mark.parametrize(
    "axiom",
    [
        # A key that asks for a common neighbour; rules whose individuals the body connects.
        ":A owl:hasKey ( :d :p ) .",
        RULE % (LINK % (":x", ":y") + VALUE % ":y"),
        RULE % (VALUE % ":x"),
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:maxCardinality 1 ] .",
        "owl:bottomObjectProperty rdfs:label 'none' .",
        ":p a owl:TransitiveProperty , owl:ReflexiveProperty .",
        ":p a owl:FunctionalProperty , owl:InverseFunctionalProperty , owl:AsymmetricProperty .",
        ":p owl:propertyDisjointWith :q .",
        # Values, and what is said of individuals.
        ":d rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 2 3 ) ] .",
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ; owl:hasValue 5 ] .",
        ":anna owl:differentFrom :bob .",
    ],
)
def test_what_keeps_to_connected_individuals_leaves_islands_sound(
    tmp_path: Path, axiom: str
) -> None:
    assert terminology(tmp_path, axiom).whole == ""


@pytest.mark.parametrize(
    "axiom",
    [
        ":A owl:equivalentClass [ owl:oneOf ( :anna :bob ) ] .",
        """[] a owl:AllDifferent ; owl:distinctMembers ( :anna :bob ) .""",
        "[] a owl:AllDifferent ; owl:members ( :anna :bob ) .",
        """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :anna ;
           owl:assertionProperty :p ; owl:targetIndividual :bob .""",
        """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :anna ] ,
             [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :bob ] .""",
    ],
)
def test_axioms_name_their_individuals(tmp_path: Path, axiom: str) -> None:
    found = terminology(tmp_path, axiom)
    assert found.named == {x("anna"), x("bob")}
    assert found.whole == ""
