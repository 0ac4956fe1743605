from __future__ import annotations

from tests.reasoning.dl.bounds.test_bound_rules import ALL, N1, SOME, A, B, C, D, E, a, between


def test_what_follows_from_a_neighbour_that_exists_is_certain() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . {SOME.format(':p', ':C')}"
    text += " rdfs:subClassOf :D . :B rdfs:subClassOf :C ."
    least, most, _ = between(text, a(N1, A))
    assert least == most == {(N1, "type", D)}


def test_a_neighbour_of_a_neighbour_that_exists_counts_too() -> None:
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :B rdfs:subClassOf"
    text += f" {SOME.format(':q', ':C')} . {SOME.format(':q', ':C')} rdfs:subClassOf :D ."
    text += f" {SOME.format(':p', ':D')} rdfs:subClassOf :E ."
    least, most, _ = between(text, a(N1, A))
    assert least == most == {(N1, "type", E)}


def test_a_neighbour_that_exists_tells_back_what_it_is() -> None:
    back = ALL.format("[ owl:inverseOf :p ]", ":C")
    text = f":A rdfs:subClassOf {SOME.format(':p', ':B')} . :B rdfs:subClassOf {back} ."
    least, most, _ = between(text, a(N1, A))
    assert least == most == {(N1, "type", C)}


def test_a_neighbour_in_one_case_only_is_not_certain() -> None:
    choice = f"[ a owl:Class ; owl:unionOf ( :B {SOME.format(':p', ':C')} ) ]"
    text = f":A rdfs:subClassOf {choice} . {SOME.format(':p', ':C')} rdfs:subClassOf :D ."
    least, most, _ = between(text, a(N1, A))
    assert least == set()
    assert most == {(N1, "type", B), (N1, "type", D)}
