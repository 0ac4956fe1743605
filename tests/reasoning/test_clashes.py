"""What is called a contradiction is one, by HermiT; what is stated outright is found."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.reasoning.dl.datatypes import with_values_denied_by_class
from sensorstream.reasoning.dl.reasoner_process import JavaProcess
from sensorstream.reasoning.dl.reasoner_worker import Served
from sensorstream.reasoning.ontology import Ontology, parse_ontology, to_ntriples
from sensorstream.reasoning.ontology_survey import clashes

HEAD = """@prefix : <http://x.example/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:A a owl:Class . :B a owl:Class . :C a owl:Class .
:p a owl:ObjectProperty . :q a owl:ObjectProperty . :d a owl:DatatypeProperty .
:a a owl:NamedIndividual . :b a owl:NamedIndividual . :c a owl:NamedIndividual .
"""
FALSE = {
    ":A owl:disjointWith :B . :a a :A , :B .": "in :A and in :B, which have no common member",
    ":A owl:complementOf :B . :a a :A , :B .": "in :A and in :B, which have no common member",
    ":A rdfs:subClassOf [ owl:complementOf :B ] . :a a :A , :B .": "in :A and in :B",
    ":C owl:disjointUnionOf ( :A :B ) . :a a :A , :B .": "in :A and in :B",
    "[] a owl:AllDisjointClasses ; owl:members ( :A :C :B ) . :a a :A , :B .": "in :A and in :B",
    ":A rdfs:subClassOf owl:Nothing . :C rdfs:subClassOf :A . :a a :C .": "can have no",
    ":a a owl:Nothing .": "which can have no member",
    ":A owl:disjointWith :B . :p rdfs:domain :A ; rdfs:range :B . :a :p :b . :b :p :c .": "is in",
    ":a owl:sameAs :b . :b owl:sameAs :c . :a owl:differentFrom :c .": "the same and different",
    "[] a owl:AllDifferent ; owl:distinctMembers ( :a :b :c ) . :b owl:sameAs :c .": "the same and",
    """:p rdfs:subPropertyOf :q . :a :p :b . [] a owl:NegativePropertyAssertion ;
    owl:sourceIndividual :a ; owl:assertionProperty :q ; owl:targetIndividual :b .""": "and denied",
    """:a :d 5 . [] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :d ; owl:targetValue 5 .""": "and denied",
    """:a :d 5.0 . [] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :d ; owl:targetValue 5 .""": "is stated and denied as",
}


def loaded(text: str) -> Ontology:
    return parse_ontology((HEAD + text).encode(), "text/turtle")


def consistent(java: JavaProcess, ontology: Ontology) -> bool:
    # HermiT compares denied values by their text if it is not told by classes.
    told = to_ntriples(with_values_denied_by_class(ontology.triples)).decode()
    explain = partial(Served.explain, axioms="", triples=told, seconds=60)
    return java.exchange(explain, 120).consistent


@pytest.mark.parametrize("text", FALSE)
def test_what_is_stated_outright_is_found_and_hermit_agrees(java: JavaProcess, text: str) -> None:
    ontology = loaded(text)
    found = [
        each.replace("<http://x.example/#", ":").replace(">", "") for each in clashes(ontology)
    ]
    assert any(FALSE[text] in each for each in found), found
    assert not consistent(java, ontology)


STATEMENTS = [
    ":A rdfs:subClassOf :B .",
    ":B rdfs:subClassOf :C .",
    ":A owl:disjointWith :C .",
    ":A rdfs:subClassOf [ a owl:Class ; owl:complementOf :B ] .",
    ":C owl:disjointUnionOf ( :A :B ) .",
    "[] a owl:AllDisjointClasses ; owl:members ( :A :B :C ) .",
    ":B rdfs:subClassOf owl:Nothing .",
    ":p rdfs:domain :A .",
    ":p rdfs:range :B .",
    ":p rdfs:subPropertyOf :q .",
    "[] a owl:AllDifferent ; owl:members ( :a :b ) .",
    ":a owl:sameAs :b .",
    ":b owl:sameAs :c .",
    ":a owl:differentFrom :c .",
    ":a a :A .",
    ":b a :B .",
    ":a a :C .",
    ":a :p :b .",
    """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :q ; owl:targetIndividual :b .""",
    ":a :d 4 , 4.0 , '4' .",
    ":a :d 4e0 , 04 .",
    """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :d ; owl:targetValue 4 .""",
    """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ;
    owl:assertionProperty :d ; owl:targetValue 4e0 .""",
]


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(chosen=st.sets(st.sampled_from(STATEMENTS), min_size=3, max_size=9))
def test_nothing_is_called_a_contradiction_that_has_a_model(
    java: JavaProcess, chosen: set[str]
) -> None:
    ontology = loaded("\n".join(sorted(chosen)))
    if list(clashes(ontology)):
        assert not consistent(java, ontology)


def test_many_disjoint_classes_cost_no_pairs() -> None:
    names = [f":K{n}" for n in range(3000)]
    listed = " ".join(names)
    text = (
        f"[] a owl:AllDisjointClasses ; owl:members ( {listed} ) . :a a {names[0]} , {names[-1]} ."
    )
    assert len(list(clashes(loaded(text)))) == 1
