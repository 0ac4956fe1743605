"""A rule and its clauses: heads that can be written, and triples that are made."""

from __future__ import annotations

import pytest

from tests.network.recursion.world import World, fact, refused, rule, toggle


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ ?x :p _:new } WHERE { ?x :q ?y }", "blank node"),
        ("{ ?x :p ?z } WHERE { ?x :q ?y }", "does not bind ?z"),
    ],
)
def test_heads_that_cannot_be_written_are_refused(text: str, said: str) -> None:
    assert said in refused(rule("r", text))


def test_ill_formed_triples_are_left_out() -> None:
    world = World([rule("turned", "{ ?y :q ?x } WHERE { ?x :a ?y }")])
    assert toggle(world, "x a true", "x a y").added == (fact("y q x"),)


def test_an_unbound_variable_of_one_alternative_leaves_out_its_triples() -> None:
    either = rule("either", "{ ?x :q ?x . ?y :q ?y } WHERE { { ?x :a ?v } UNION { ?y :b ?v } }")
    world = World([either])
    assert toggle(world, "x a v").added == (fact("x q x"),)


def test_a_copied_value_is_no_new_one() -> None:
    copied = rule("copied", "{ ?x :n ?m } WHERE { ?y :n ?n . ?x :p ?y BIND(?n AS ?m) }")
    world = World([copied])
    assert toggle(world, "y n v", "x p y").added == (fact("x n v"),)
