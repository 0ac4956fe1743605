from __future__ import annotations

import pytest

from sensorstream.model import rdf, xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.bounds.bound_rules import is_made, lower, upper
from tests.reasoning.dl.bounds.saturation import saturate
from tests.reasoning.dl.bounds.test_against_hermit import contradicts, facts_about, said
from tests.reasoning.dl.test_random_ontologies import BASE, CLASSES, DATA, NODES, ROLES, ontology

A, B, C, D, E = CLASSES
P, Q, *_ = ROLES
N1, N2, N3, *_ = NODES
D1, E1 = DATA
FOUR, FIVE, ALSO_FOUR = (
    Literal("4", xsd.INTEGER),
    Literal("5", xsd.INTEGER),
    Literal("04.0", f"{XSD}decimal"),
)
UNION = "[ a owl:Class ; owl:unionOf ( {} {} ) ]"
SOME = "[ a owl:Restriction ; owl:onProperty {} ; owl:someValuesFrom {} ]"
ALL = "[ a owl:Restriction ; owl:onProperty {} ; owl:allValuesFrom {} ]"


Said = set[tuple[str, str, str]]


def a(one: IRI, of_class: IRI) -> Triple:
    return (one, rdf.TYPE, of_class)


def between(text: str, *window: Triple) -> tuple[Said, Said, bool]:
    """What only the assertions do not say, by each bound, and whether the upper contradicts."""
    axioms = ontology(text).triples
    everything = [*axioms, *window]
    given = facts_about(lower(axioms), everything)
    least = saturate(lower(axioms).rules, given)
    assert upper(axioms).untreated == ()
    most = saturate(upper(axioms).rules, given, least)
    told = said(saturate((), everything), everything)
    return (said(least, everything) - told, said(most, everything) - told, contradicts(most))


def test_of_a_choice_the_lower_bound_takes_nothing_and_the_upper_everything() -> None:
    least, most, _ = between(f":A rdfs:subClassOf {UNION.format(':B', ':C')} .", a(N1, A))
    assert least == set()
    assert most == {(N1, "type", B), (N1, "type", C)}


def test_a_choice_that_the_lower_bound_has_made_is_left_alone() -> None:
    text = f":A rdfs:subClassOf {UNION.format(':B', ':C')} . :D rdfs:subClassOf :B ."
    least, most, _ = between(text, a(N1, A), a(N1, D))
    assert least == most == {(N1, "type", B)}


def test_who_certainly_exists_is_another_one_for_each() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :p a owl:InverseFunctionalProperty ."
    least, most, _ = between(text, a(N1, A), a(N2, A))
    assert least == most == set()


def test_who_exists_in_some_models_is_another_one_for_each() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :p a owl:InverseFunctionalProperty ."
    text += f":D rdfs:subClassOf {UNION.format(':A', ':E')} ."
    _, most, _ = between(text, a(N1, D), a(N2, D))
    assert most == {(each, "type", kind) for each in (N1, N2) for kind in (A, E)}


LISTED = """:B owl:equivalentClass [ a owl:Class ; owl:oneOf ( :o1 :o2 ) ] .
    [] a owl:AllDifferent ; owl:distinctMembers ( :o1 :o2 :n8 :n9 ) ."""


def test_individuals_that_a_neighbour_may_be_are_not_made_the_same() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :p a owl:FunctionalProperty . {LISTED}"
    least, most, _ = between(text, a(N1, A))
    assert most - least == {(N1, P, IRI(f"{BASE}o{number}")) for number in (1, 2)}


def test_the_only_individual_that_a_neighbour_may_be_is_the_neighbour() -> None:
    one = "[ a owl:Class ; owl:oneOf ( :o1 ) ]"
    text = f":A rdfs:subClassOf {SOME.format(':p', one)} ."
    least, most, _ = between(text, a(N1, A))
    assert least == most == {(N1, P, IRI(f"{BASE}o1"))}


def test_individuals_that_differ_are_not_made_the_same_by_a_function() -> None:
    text = f":A rdfs:subClassOf {UNION.format(':B', ':C')} . :p a owl:FunctionalProperty ."
    text += " :B rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :o1 ] ."
    text += " :C rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:hasValue :o2 ] ."
    text += " :o1 owl:differentFrom :o2 ."
    _, most, contradiction = between(text, a(N1, A))
    assert {each for each in most if each[1] == "same"} == set()
    assert contradiction


def test_who_is_known_to_exist_is_not_made() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :p a owl:InverseFunctionalProperty ."
    window = (a(N1, A), (N1, P, N3), a(N3, B), a(N2, A))
    least, most, _ = between(text, *window)
    assert least == most == set()


def test_types_go_back_and_forth_over_links() -> None:
    text = f":A rdfs:subClassOf {ALL.format(':p', ':B')} . {SOME.format(':q', ':B')}"
    text += " rdfs:subClassOf :C ."
    least, most, _ = between(text, a(N1, A), (N1, P, N2), (N3, Q, N2))
    assert least == most == {(N2, "type", B), (N3, "type", C)}


def test_a_number_of_neighbours_makes_some_of_them_equal() -> None:
    text = """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ;
        owl:maxCardinality "1"^^xsd:nonNegativeInteger ] ."""
    least, most, _ = between(text, a(N1, A), (N1, P, N2), (N1, P, N3))
    assert least == most == {(N2, "same", N3), (N3, "same", N2)}


def test_two_neighbours_are_within_a_limit_of_two() -> None:
    text = """:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ;
        owl:maxCardinality "2"^^xsd:nonNegativeInteger ] ."""
    _, most, _ = between(text, a(N1, A), (N1, P, N2), (N1, P, N3))
    assert most == set()


def test_so_many_values_are_different_ones_in_both_bounds() -> None:
    text = """:A owl:equivalentClass [ a owl:Restriction ; owl:onProperty :d ;
        owl:minCardinality "2"^^xsd:nonNegativeInteger ] ."""
    window = ((N1, D1, FOUR), (N1, D1, FIVE), (N2, D1, FOUR), (N2, D1, ALSO_FOUR))
    least, most, _ = between(text, *window)
    assert least == most == {(N1, "type", A)}


def test_the_upper_bound_shows_a_contradiction_that_needs_a_case_distinction() -> None:
    text = f":A rdfs:subClassOf {UNION.format(':B', ':C')} ."
    text += " :A owl:disjointWith :B . :A owl:disjointWith :C ."
    _, _, contradiction = between(text, a(N1, A))
    assert contradiction


def test_a_definition_in_the_style_of_owl_1_is_one() -> None:
    least, most, _ = between(":A owl:intersectionOf ( :B :C ) .", a(N1, B), a(N1, C), a(N2, A))
    assert least == most == {(N1, "type", A), (N2, "type", B), (N2, "type", C)}


def test_individuals_that_only_axioms_name_are_individuals() -> None:
    text = """[ a owl:Restriction ; owl:onProperty :p ;
        owl:minQualifiedCardinality "0"^^xsd:nonNegativeInteger ;
        owl:onClass [ a owl:Class ; owl:oneOf ( :o1 ) ] ] rdfs:subClassOf :A ."""
    least, most, _ = between(text)
    assert least == most == {(f"{BASE}o1", "type", A)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (":d rdfs:range owl:real .", "the data range"),
        (
            ":d rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:string ; owl:withRestrictions"
            ' ( [ xsd:pattern "\\\\i*" ] ) ] .',
            "the facet",
        ),
        (
            ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:minCardinality 9 ] .",
            "at least 9",
        ),
        (f":A rdfs:subClassOf {SOME.format('owl:topObjectProperty', ':B')} .", "the property"),
        (":A rdfs:subClassOf [ owl:unionOf ( :B :C ) ; owl:oneOf ( :o1 ) ] .", "unknown class"),
        (":A rdfs:subClassOf _:x . _:x a owl:Class ; owl:complementOf _:x .", "nested too deeply"),
    ],
)
def test_an_axiom_without_rules_is_named_with_its_reason(text: str, why: str) -> None:
    axioms = ontology(text).triples
    for bound in (lower(axioms), upper(axioms)):
        (told,) = bound.untreated
        assert why in told


def test_names_of_the_bounds_can_be_told_from_those_of_answers() -> None:
    axioms = ontology(f":A rdfs:subClassOf {SOME.format(':p', ':B')} .").triples
    derived = saturate(upper(axioms).rules, [a(N1, A)])
    assert [o for _, _, o in derived.match(N1, P, None) if is_made(o)]
    assert not is_made(N1)
