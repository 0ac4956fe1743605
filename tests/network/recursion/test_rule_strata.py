"""Strata of rules: what is refused, and what waits for a finished one."""

from __future__ import annotations

import pytest

from sensorstream.kb.graph_index import Origin
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from tests.network.recursion.world import TRANSITIVE, World, fact, iri, refused, rule, toggle


def test_a_cycle_through_negation_is_named() -> None:
    message = refused(
        rule("idle", "{ ?x a :Idle } WHERE { ?x a :Machine FILTER NOT EXISTS { ?x a :Busy } }"),
        rule("waiting", "{ ?x a :Waiting } WHERE { ?x a :Idle }"),
        rule("busy", "{ ?x a :Busy } WHERE { ?x a :Waiting }"),
    )
    assert "rule idle reads" in message
    assert "through EXISTS" in message
    assert "idle → waiting → busy → idle" in message


@pytest.mark.parametrize(
    ("body", "through"),
    [
        ("?x :q ?y MINUS { ?y :p ?x }", "MINUS"),
        ("?x :p ?y MINUS { ?y :p ?x }", "MINUS"),
        ("?x :q ?y OPTIONAL { ?y :p ?x }", "OPTIONAL"),
        ("?x :p+ ?y", "a property path"),
        ("?x !:q ?y", "a property path"),
        ("?x :q ?y { SELECT DISTINCT ?x { ?x :p ?z } }", "DISTINCT"),
        ("?x :q ?y { SELECT (COUNT(*) AS ?n) { ?a :p ?b } }", "a sub-select"),
    ],
)
def test_only_plain_patterns_may_be_recursive(body: str, through: str) -> None:
    message = refused(rule("r", f"{{ ?x :p ?y }} WHERE {{ {body} }}"))
    assert f"through {through}" in message
    assert "r → r;" in message


def test_classes_are_told_apart() -> None:
    world = World([rule("r", "{ ?x a :Idle } WHERE { ?x :p ?y FILTER NOT EXISTS { ?x a :Busy } }")])
    assert len(toggle(world, "x p y").added) == 1
    assert not world.program.faults


def test_rules_that_might_never_end_are_refused() -> None:
    message = refused(rule("next", "{ ?x :n ?m } WHERE { ?x :n ?n BIND(?n + 1 AS ?m) }"))
    assert "computes ?m and feeds itself: next → next" in message


def test_negation_looks_at_a_finished_stratum() -> None:
    apart = rule(
        "apart", "{ ?x :apart ?y } WHERE { ?x a :Node . ?y a :Node FILTER NOT EXISTS { ?x :p ?y } }"
    )
    world = World([apart, TRANSITIVE])
    world.kb.add(
        Origin.STATIC,
        [
            (iri(n), IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), iri("Node"))
            for n in "xy"
        ],
    )
    toggle(world, "x p m", "m p y")
    assert fact("x apart y") not in world.derived()
    assert toggle(world, "m p y").added == (fact("x apart y"),)


def test_a_value_may_be_computed_outside_of_recursion() -> None:
    count = rule(
        "count", "{ ?x :n ?n } WHERE { { SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x } }"
    )
    world = World([count, TRANSITIVE])
    toggle(world, "x p y", "y p z")
    assert (iri("x"), iri("n"), Literal("2", xsd.INTEGER)) in world.derived()


def test_two_rules_of_one_name_are_refused() -> None:
    assert "two rules are named transitive" in refused(TRANSITIVE, TRANSITIVE)
