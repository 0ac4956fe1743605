from __future__ import annotations

import pytest

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.bounds.bound_rules import is_made, lower
from tests.reasoning.dl.bounds.test_bound_rules import (
    D1,
    E1,
    FIVE,
    FOUR,
    N1,
    N2,
    A,
    B,
    C,
    a,
    between,
)
from tests.reasoning.dl.test_random_ontologies import counted, ontology, restriction

TEXT = Literal("4")
AT_LEAST_4 = (
    "[ a rdfs:Datatype ; owl:onDatatype xsd:integer ;"
    " owl:withRestrictions ( [ xsd:minInclusive 4 ] ) ]"
)
BELOW_4 = AT_LEAST_4.replace("minInclusive", "maxExclusive")
UP_TO_4 = AT_LEAST_4.replace("minInclusive", "maxInclusive")


def some(data: str, filler: str) -> str:
    return restriction(data, f"owl:someValuesFrom {filler}")


def every(data: str, filler: str) -> str:
    return restriction(data, f"owl:allValuesFrom {filler}")


def test_a_value_in_a_range_shows_the_class() -> None:
    text = f"{some(':d', AT_LEAST_4)} rdfs:subClassOf :A ."
    three = Literal("3", xsd.INTEGER)
    least, most, _ = between(text, (N1, D1, Literal("05", f"{XSD}int")), (N2, D1, three))
    assert least == most == {(N1, "type", A)}


def test_a_value_outside_the_range_is_a_contradiction() -> None:
    text = f":A rdfs:subClassOf {every(':d', AT_LEAST_4)} ."
    assert between(text, a(N1, A), (N1, D1, TEXT))[2]
    assert not between(text, a(N1, A), (N1, D1, FOUR))[2]
    assert not between(text, (N1, D1, TEXT))[2]


def test_a_value_outside_one_range_decides_between_two() -> None:
    text = f":A rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :B {every(':d', AT_LEAST_4)} ) ] ."
    least, most, _ = between(text, a(N1, A), (N1, D1, TEXT))
    assert least == most == {(N1, "type", B)}


def test_a_value_that_exists_is_in_no_range_by_chance() -> None:
    text = f":A rdfs:subClassOf {some(':d', 'xsd:integer')} ."
    text += f" {some(':d', AT_LEAST_4)} rdfs:subClassOf :B ."
    text += f" {some(':d', 'xsd:decimal')} rdfs:subClassOf :C ."
    least, most, contradiction = between(text, a(N1, A))
    assert (least, most) == (set(), {(N1, "type", C)})
    assert not contradiction


def test_a_value_that_exists_is_in_one_of_the_ranges_that_are_all() -> None:
    text = f":A rdfs:subClassOf {some(':d', 'xsd:integer')} ."
    text += f" {some(':d', AT_LEAST_4)} rdfs:subClassOf :B ."
    text += f" {some(':d', BELOW_4)} rdfs:subClassOf :C ."
    _, most, _ = between(text, a(N1, A))
    assert {(N1, "type", B), (N1, "type", C)} <= most


def test_a_value_in_an_empty_range_is_a_contradiction() -> None:
    nothing = f"[ a rdfs:Datatype ; owl:intersectionOf ( {AT_LEAST_4} {BELOW_4} ) ]"
    text = f":A rdfs:subClassOf {some(':d', nothing)} ."
    assert between(text, a(N1, A))[2]


def test_the_one_value_that_two_ranges_share_is_taken_into_account() -> None:
    text = f":A rdfs:subClassOf {some(':d', AT_LEAST_4)} . :d rdfs:range {UP_TO_4} ."
    _, most, _ = between(text, a(N1, A))
    assert (N1, str(D1), "4") in most


def test_a_property_with_one_value_has_the_literal_for_the_value_that_exists() -> None:
    text = f":A rdfs:subClassOf {some(':d', 'xsd:integer')} . :d a owl:FunctionalProperty ."
    assert not between(text, a(N1, A), (N1, D1, FOUR))[2]
    assert between(text, a(N1, A), (N1, D1, TEXT))[2]
    assert between(text, (N1, D1, FOUR), (N1, D1, FIVE))[2]
    assert not between(text, (N1, D1, FOUR), (N1, D1, Literal("4.0", f"{XSD}decimal")))[2]


def test_one_value_in_disjoint_ranges_is_a_contradiction() -> None:
    text = f":A rdfs:subClassOf {some(':d', AT_LEAST_4)} , {some(':d', BELOW_4)} ."
    text += " :d a owl:FunctionalProperty ."
    assert between(text, a(N1, A))[2]


def test_values_of_few_may_be_equal_and_those_of_many_differ() -> None:
    for kind, may in (("boolean", True), ("string", False)):
        text = f":A rdfs:subClassOf {some(':d', f'xsd:{kind}')} , {some(':e', f'xsd:{kind}')} ."
        text += " :d owl:propertyDisjointWith :e ."
        assert between(text, a(N1, A))[2] == may


def test_a_value_of_the_axioms_is_a_literal_again() -> None:
    text = ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :d ; owl:hasValue 4 ] ."
    text += " :d rdfs:subPropertyOf :e ."
    least, most, _ = between(text, a(N1, A))
    assert least == most == {(N1, str(D1), "4"), (N1, str(E1), "4")}


def test_two_values_of_so_many_are_one() -> None:
    text = f":A rdfs:subClassOf {counted(':d', 'maxCardinality', 1, '')} ."
    assert between(text, a(N1, A), (N1, D1, FOUR), (N1, D1, FIVE))[2]
    assert not between(text, a(N1, A), (N1, D1, FOUR))[2]


def test_a_literal_is_given_with_the_name_and_the_ranges_of_its_value() -> None:
    text = (
        f"{some(':d', AT_LEAST_4)} rdfs:subClassOf :A . {some(':d', BELOW_4)} rdfs:subClassOf :B ."
    )
    bound = lower(ontology(text).triples)
    facts = bound.facts_of(FOUR)
    assert len(facts) == 2
    assert all(is_made(s) for s, _, _ in facts)
    assert {s for s, _, _ in facts} == {s for s, _, _ in bound.facts_of(Literal("04", f"{XSD}int"))}
    assert bound.facts_of(N1) == ()
    with pytest.raises(TermError):
        bound.facts_of(Literal("four", xsd.INTEGER))


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0Z", "dateTime"),
        ("PT60S", "PT1M0.0S", "duration"),
        ("1.50", "01.5", "decimal"),
        ("10", "1e1", "double"),
        ("00:00:01", "00:00:01.00", "time"),
    ],
)
def test_one_value_has_one_name(one: str, other: str, kind: str) -> None:
    bound = lower(ontology(":d a owl:FunctionalProperty .").triples)
    names = {
        s for text in (one, other) for s, _, _ in bound.facts_of(Literal(text, f"{XSD}{kind}"))
    }
    assert len(names) == 1


def test_literals_are_given_with_nothing_if_no_axiom_concerns_values() -> None:
    assert lower(ontology(":A rdfs:subClassOf :B .").triples).facts_of(FOUR) == ()
