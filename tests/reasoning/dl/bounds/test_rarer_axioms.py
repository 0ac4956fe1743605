from __future__ import annotations

import pytest

from sensorstream.model import owl
from sensorstream.reasoning.dl.bounds.bound_rules import lower
from tests.reasoning.dl.bounds.test_bound_rules import (
    ALSO_FOUR,
    D1,
    FIVE,
    FOUR,
    N1,
    N2,
    N3,
    A,
    B,
    C,
    P,
    Q,
    Said,
    a,
    between,
)
from tests.reasoning.dl.test_random_ontologies import LINK, OF, VALUE, ontology, rule

SAME: Said = {(N1, "same", N2), (N2, "same", N1)}


def test_a_key_makes_members_with_the_same_value_equal() -> None:
    text = ":A owl:hasKey ( :d ) ."
    both = (a(N1, A), a(N2, A))
    assert between(text, *both, (N1, D1, FOUR), (N2, D1, ALSO_FOUR))[:2] == (SAME, SAME)
    assert between(text, *both, (N1, D1, FOUR), (N2, D1, FIVE))[:2] == (set(), set())
    assert between(text, both[0], (N1, D1, FOUR), (N2, D1, FOUR))[:2] == (set(), set())


def test_a_key_of_links_and_values_needs_both() -> None:
    text = ":A owl:hasKey ( :p :d ) ."
    window = (a(N1, A), a(N2, A), (N1, D1, FOUR), (N2, D1, FOUR), (N1, P, N3))
    assert between(text, *window)[:2] == (set(), set())
    assert between(text, *window, (N2, P, N3))[:2] == (SAME, SAME)


def test_individuals_have_to_be_given_as_named_only_if_keys_or_rules_matter() -> None:
    assert lower(ontology(":A owl:hasKey ( :p ) .").triples).facts_of(N1)
    assert not lower(ontology(":A rdfs:subClassOf :B .").triples).facts_of(N1)


def test_a_denied_link_or_value_contradicts() -> None:
    denied = """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :n1 ;
        owl:assertionProperty {} ; {} ."""
    text = denied.format(":p", "owl:targetIndividual :n2")
    assert between(text, (N1, P, N2))[2]
    assert not between(text, (N2, P, N1))[2]
    text = denied.format(":d", "owl:targetValue 4")
    assert between(text, (N1, D1, ALSO_FOUR))[2]
    assert not between(text, (N1, D1, FIVE))[2]


def test_a_disjoint_union_is_a_choice_of_one() -> None:
    text = ":A owl:disjointUnionOf ( :B :C ) ."
    assert between(text, a(N1, B))[:2] == ({(N1, "type", A)},) * 2
    assert between(text, a(N1, A))[1] == {(N1, "type", B), (N1, "type", C)}
    assert between(text, a(N1, B), a(N1, C))[2]


def test_no_two_of_disjoint_properties_link_the_same() -> None:
    text = "[] a owl:AllDisjointProperties ; owl:members ( :p :q :s ) ."
    assert between(text, (N1, P, N2), (N1, Q, N2))[2]
    assert not between(text, (N1, P, N2), (N2, Q, N1))[2]


def test_a_rule_concludes_each_atom_of_its_head() -> None:
    body = LINK.format(":p") + OF.format(":A", ":x")
    text = rule(body, OF.format(":B", ":y") + LINK.format(":q"))
    least, most, _ = between(text, a(N1, A), (N1, P, N2), (N2, P, N3))
    assert least == most == {(N2, "type", B), (N1, str(Q), N2)}


def test_a_rule_joins_by_values() -> None:
    text = rule(VALUE.format(":d", ":x") + VALUE.format(":d", ":y"), LINK.format(":p"))
    _, most, _ = between(text, (N1, D1, FOUR), (N2, D1, ALSO_FOUR))
    assert most == {(one, str(P), other) for one in (N1, N2) for other in (N1, N2)}


def test_a_rule_about_two_that_differ_needs_them_to() -> None:
    different = "[ a swrl:DifferentIndividualsAtom ; swrl:argument1 :x ; swrl:argument2 :y ]"
    text = rule(LINK.format(":p") + different, OF.format(":B", ":x"))
    text += " [] a owl:AllDifferent ; owl:distinctMembers ( :n1 :n3 ) ."
    least, most, _ = between(text, (N1, P, N3), (N2, P, N3), (N3, P, N3))
    assert least == {(N1, "type", B)}
    assert {(N1, "type", B), (N2, "type", B)} < most
    assert (N2, str(owl.SAME_AS), N3) not in least


@pytest.mark.parametrize(
    ("atom", "why"),
    [
        ("[ a swrl:BuiltinAtom ; swrl:builtin :more ]", "a BuiltinAtom in the body"),
        ("[ a swrl:ClassAtom ; swrl:argument1 :x ]", "without classPredicate"),
    ],
)
def test_a_rule_with_other_atoms_is_left_out_with_the_reason(atom: str, why: str) -> None:
    (told,) = lower(ontology(rule(atom, OF.format(":B", ":x"))).triples).untreated
    assert why in told
