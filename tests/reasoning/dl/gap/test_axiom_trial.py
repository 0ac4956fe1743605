"""A trial finds the axioms by which the upper bound is far larger than the lower one."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest

from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.reasoning.dl.gap import axiom_trial as module
from sensorstream.reasoning.dl.gap.axiom_trial import AxiomTrial
from sensorstream.reasoning.dl.gap.bounds_pair import BoundsPair
from sensorstream.reasoning.dl.terminology import Terminology
from tests.reasoning.dl.test_random_ontologies import CLASSES, ROLES, ontology

A, B = CLASSES[:2]
P, Q = ROLES[:2]
# Of nobody it is known whether they differ, so any six links could be five.
LIMITED = """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ;
    owl:maxCardinality "5"^^xsd:nonNegativeInteger ] . :B rdfs:subClassOf :C ."""
CHOICE = ":B rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :C :D ) ] ."
CHAIN = ":q a owl:TransitiveProperty ."
ANN = IRI("urn:test:ann")


def linked(number: int, link: IRI = P) -> list[Triple]:
    """One individual that is linked to so many others."""
    return [(ANN, rdf.TYPE, A), *((ANN, link, IRI(f"urn:test:{n}")) for n in range(number))]


def chained(number: int) -> list[Triple]:
    """Individuals in a row."""
    names = [IRI(f"urn:test:{n}") for n in range(number)]
    return [(one, Q, other) for one, other in pairwise(names)]


def tried(text: str, told: list[Triple]) -> tuple[AxiomTrial, BoundsPair]:
    trial = AxiomTrial(Terminology.of(ontology(text)))
    return trial, trial.pair(told, Budget(NO_LIMITS))


def test_an_axiom_by_which_too_much_is_found_has_no_rules_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        trial, pair = tried(LIMITED + CHOICE, linked(24))
    (axiom,) = trial.left_out
    assert str(A) in axiom
    assert axiom in caplog.text
    assert str(B) in " ".join(pair.choices)
    assert pair.may_be_whole


def test_with_little_to_find_all_axioms_have_rules() -> None:
    trial, pair = tried(LIMITED + CHOICE, linked(5))
    assert not trial.left_out
    assert not pair.may_be_whole


def test_what_holds_for_certain_is_no_reason_to_leave_an_axiom_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_ROWS", 100)
    monkeypatch.setattr(module, "_ROWS_TOLD", 0)
    trial, pair = tried(CHAIN + CHOICE, chained(40))
    assert pair.visited_below(chained(40), []) > 100
    assert not trial.left_out


def test_without_a_choice_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 0)
    trial, _ = tried(CHAIN, chained(40))
    assert not trial.left_out


def test_nothing_of_a_trial_stays() -> None:
    told = [*linked(24), (ANN, owl.DIFFERENT_FROM, IRI("urn:test:0"))]
    trial, pair = tried(LIMITED + CHOICE, told)
    anew = BoundsPair(Terminology.of(ontology(LIMITED + CHOICE)), Budget(NO_LIMITS), trial.left_out)
    anew.begin()
    assert set(pair.least) == set(anew.least)
    assert set(pair.most) == set(anew.most)
    assert pair.budget.limits == NO_LIMITS


def test_what_was_decided_holds_for_all_bounds_of_the_ontology(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, _ = tried(LIMITED + CHOICE, linked(24))
    left_out = trial.left_out
    monkeypatch.setattr(module, "_ROWS", 0)
    trial.pair(linked(7), Budget(Limits(rows=10)))
    assert trial.left_out == left_out


def test_a_trial_ends_when_each_axiom_is_too_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", 0)
    monkeypatch.setattr(module, "_ROWS_TOLD", 0)
    monkeypatch.setattr(module, "_TRIES", 1)
    trial, pair = tried(LIMITED + CHOICE, linked(7))
    assert len(trial.left_out) == 2
    assert not pair.choices


MANY = """:B owl:equivalentClass [ a owl:Restriction ; owl:onProperty :p ;
    owl:minQualifiedCardinality "3"^^xsd:nonNegativeInteger ; owl:onClass :A ] ."""
HOSTED = """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ;
    owl:qualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onClass :B ] .
    :q owl:inverseOf :p . :B rdfs:subClassOf
    [ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom :A ] ."""


@pytest.mark.parametrize(("text", "outward"), [(MANY, True), (HOSTED, False)])
def test_an_axiom_that_costs_more_the_more_are_linked_to_one_has_no_rules(
    text: str, outward: bool
) -> None:
    trial, pair = tried(text + CHOICE, [])
    assert len(trial.left_out) == 1
    rows = []
    for number in range(40):
        one = IRI(f"urn:test:{number}")
        link = (ANN, P, one) if outward else (one, P, ANN)
        pair.budget.end()
        pair.update([(one, rdf.TYPE, A), link], [])
        rows.append(pair.most.visited)
    assert rows[-1] <= 3 * rows[9]


def test_an_axiom_about_one_of_a_class_is_tried_with_one_of_that_class() -> None:
    """Nobody who is not known to be a C has to be counted: members of B are among these."""
    text = """:B owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :C [ a owl:Restriction ;
        owl:onProperty :p ; owl:minQualifiedCardinality "3"^^xsd:nonNegativeInteger ;
        owl:onClass :A ] ) ] ."""
    trial, pair = tried(text + CHOICE, [])
    assert len(trial.left_out) == 1
    assert not [each for each in pair.least if each[0] == IRI("urn:sensorstream:trial:hub")]


def test_an_axiom_that_costs_as_much_for_each_who_is_linked_to_one_has_rules() -> None:
    universal = """:B owl:equivalentClass [ a owl:Restriction ; owl:onProperty :p ;
        owl:allValuesFrom :A ] ."""
    trial, _ = tried(universal + CHOICE, [])
    assert not trial.left_out
