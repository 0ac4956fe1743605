from __future__ import annotations

from sensorstream.model import owl
from sensorstream.reasoning.dl.bounds.bound_rules import lower
from tests.reasoning.dl.bounds.test_bound_rules import N1, N2, N3, A, P, Q, a, between
from tests.reasoning.dl.test_random_ontologies import counted, ontology

ALL_DIFFERENT = "[] a owl:AllDifferent ; owl:distinctMembers ( {} ) ."
FOUR_OF_THEM = ALL_DIFFERENT.format(":n1 :n2 :n3 :n4")


def test_no_two_of_many_are_the_same() -> None:
    assert between(FOUR_OF_THEM, (N1, owl.SAME_AS, N3))[2]
    assert not between(FOUR_OF_THEM, (N1, P, N3))[2]


def test_a_limit_of_neighbours_counts_those_that_differ() -> None:
    limit = counted(":p", "maxCardinality", 1, "")
    text = f":A rdfs:subClassOf {limit} . {FOUR_OF_THEM}"
    assert between(text, a(N1, A), (N1, P, N2), (N1, P, N3))[2]
    assert not between(text, a(N1, A), (N1, P, N2), (N1, Q, N3))[2]


def test_so_many_neighbours_that_differ_show_the_class() -> None:
    for members in (":n2 :n3", ":n1 :n2 :n3 :n4"):
        text = f"{counted(':p', 'minCardinality', 2, '')} rdfs:subClassOf :A . "
        text += ALL_DIFFERENT.format(members)
        least, most, _ = between(text, (N1, P, N2), (N1, P, N3))
        assert least == most == {(N1, "type", A)}


def test_many_that_differ_have_no_rule_for_each_pair() -> None:
    members = " ".join(f":m{number}" for number in range(100))
    assert len(lower(ontology(ALL_DIFFERENT.format(members)).triples).rules) < 150
