from __future__ import annotations

from sensorstream.reasoning.dl.bounds.foreseen_conclusions import OWN, apart
from tests.reasoning.dl.bounds.test_bound_rules import N1, N2, A, a, between

ANN, BOB = "urn:x#ann", "urn:x#bob"


def test_several_neighbours_of_one_alternative_are_apart_for_the_same_individual() -> None:
    are_apart = apart("")
    assert are_apart(f"{OWN}3-u0:{ANN}", f"{OWN}3-u1:{ANN}")
    assert not are_apart(f"{OWN}3-u0:{ANN}", f"{OWN}3-u1:{BOB}")
    assert not are_apart(f"{OWN}3-u0", f"{OWN}3-u1")
    assert not are_apart(f"{OWN}3-u0:{ANN}", f"{OWN}3-u0:{ANN}")


def test_members_of_disjoint_classes_are_apart_whoever_they_are_linked_to() -> None:
    are_apart = apart("1-u0|2-u0 2-u0|1-u0")
    assert are_apart(f"{OWN}1-u0:{ANN}", f"{OWN}2-u0:{BOB}")
    assert are_apart(f"{OWN}2-u0", f"{OWN}1-u0:{BOB}")
    assert not are_apart(f"{OWN}1-u0:{ANN}", f"{OWN}4-u0:{ANN}")
    assert not are_apart(ANN, BOB)


CHOICE = """:A rdfs:subClassOf [ a owl:Class ; owl:unionOf (
    [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ]
    [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C ] ) ] .
    [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom [ a owl:Class ;
    owl:intersectionOf ( :B :C ) ] ] rdfs:subClassOf :D . :p a owl:FunctionalProperty ."""


def test_unnamed_neighbours_of_disjoint_classes_are_not_made_the_same() -> None:
    _, without, _ = between(CHOICE, a(N1, A), a(N2, A))
    assert {kind for _, _, kind in without} == {"http://x.example/#D"}
    _, most, contradiction = between(CHOICE + " :B owl:disjointWith :C .", a(N1, A))
    assert most == set()
    assert contradiction
