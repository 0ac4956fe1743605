"""A rule and its clauses: heads that can be written, and triples that are made."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from sensorstream.kb.graph_index import Origin
from sensorstream.model.terms import Triple
from sensorstream.network.network import Network
from sensorstream.network.recursion.derivation_rule import DerivationRule, clauses
from sensorstream.network.rows import instantiated
from tests.network.recursion.strategies import Change, programs, streams
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


def test_a_copied_value_is_no_new_one() -> None:
    copied = rule("copied", "{ ?x :n ?m } WHERE { ?y :n ?n . ?x :p ?y BIND(?n AS ?m) }")
    world = World([copied])
    assert toggle(world, "y n v", "x p y").added == (fact("x n v"),)


@pytest.mark.parametrize(
    ("body", "variables"),
    [
        ("?x :p/:q ?y", [3]),
        ("?x :p|^:q ?y", [2, 2]),
        ("?x (:p|:q)/^(:p/:q) ?y", [4, 4]),
        ("?x :p+ ?y", [2]),
        ("?x :p _:n . _:n :q ?y", [3]),
        ("{ ?x :p ?y } UNION { ?x :q ?y . ?y :q ?z }", [2, 3]),
        ("{ ?x :p ?y } UNION { ?y :q ?z }", [2]),
        ("?x :p ?y MINUS { { ?x :q ?z } UNION { ?x :p ?z } }", [2]),
    ],
)
def test_each_alternative_is_a_clause_with_all_its_variables(
    body: str, variables: list[int]
) -> None:
    found = clauses(rule("r", f"{{ ?x :made ?y }} WHERE {{ {body} }}"))
    assert [len(each.body.variables) for each in found] == variables


@settings(max_examples=60)
@given(layers=programs(), stream=streams)
def test_clauses_derive_what_their_rules_do_each_solution_once(
    layers: tuple[tuple[DerivationRule, ...], ...], stream: list[list[Change]]
) -> None:
    world = World(())
    world.change(change for changes in stream for change in changes)
    expected = world.expected([layers[0]])
    found = [clause for each in layers[0] for clause in clauses(each)]
    derived: set[Triple] = set()
    while True:
        made: set[Triple] = set()
        for clause in found:
            node = world.build(Network(), clause.body)
            rows = list(node.rows())
            assert len(rows) == len(set(rows))
            made.update(instantiated(clause.head, node.variables)(rows))
        if made <= derived:
            break
        world.kb.add(Origin.INFERRED, sorted(made - derived))
        derived |= made
    assert derived == expected
