"""Rules that compute terms in recursion: refused where one term may give another without end."""

from __future__ import annotations

import pytest

from sensorstream.errors import ProgramError
from sensorstream.network.recursion.derivation_rule import DerivationRule, node_of
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from sensorstream.network.recursion.rule_strata import stratified
from sensorstream.sparql.algebra import Extend, Variable
from tests.network.recursion.world import rule

NAMED = "BIND(IRI(CONCAT(STR(?x), '/part')) AS ?n)"


def made(name: str, text: str, *solution: str) -> DerivationRule:
    """A rule with a blank node ?n for each solution."""
    plain = rule(name, text)
    body = Extend(plain.body, Variable("n"), node_of(name, solution))
    return DerivationRule(name, plain.head, body)


@pytest.mark.parametrize(
    "rules",
    [
        [rule("up", f"{{ ?x :part ?n . ?n a :Whole }} WHERE {{ ?x a :Whole {NAMED} }}")],
        [rule("up", f"{{ ?n a ?c }} WHERE {{ ?x a ?c {NAMED} }}")],
        [
            rule("up", f"{{ ?x :part ?n }} WHERE {{ ?x a :Whole {NAMED} }}"),
            rule("join", "{ ?n a :Whole } WHERE { ?x :part ?n . ?x :mark ?m . ?n :part ?y }"),
            rule("back", "{ ?y :part ?x . ?y :q ?z } WHERE { ?x :part ?y BIND(?x AS ?z) }"),
        ],
        [
            rule("up", f"{{ ?x :part ?n }} WHERE {{ ?x a :Whole {NAMED} }}"),
            rule("copy", "{ ?z a :Whole } WHERE { ?x :part ?y . ?y a ?c BIND(?y AS ?z) }"),
            rule("any", "{ ?y a :Part } WHERE { ?x :part ?y }"),
        ],
        [
            rule("one", f"{{ ?n a :B }} WHERE {{ ?x a :A {NAMED} }}"),
            rule("two", f"{{ ?n a :A }} WHERE {{ ?x a :B {NAMED} }}"),
        ],
        [rule("kind", "{ ?n a :Whole . ?x :part ?n } WHERE { ?x :part ?y BIND(IRI(?y) AS ?n) }")],
        [rule("up", "{ ?x :n ?m } WHERE { ?x :n ?n FILTER(isLiteral(?n)) BIND(?n + 1 AS ?m) }")],
        [rule("up", "{ ?x :n ?m } WHERE { ?x :n ?n BIND(?n + 1 AS ?k) BIND(xsd:date(?k) AS ?m) }")],
        [
            rule("cast", "{ ?x :n ?m } WHERE { ?x :n ?n BIND(xsd:float(?n) AS ?m) }"),
            rule("up", "{ ?x :n ?m } WHERE { ?x :n ?n BIND(?n + 1 AS ?m) }"),
        ],
        [made("up", "{ ?x :part ?n . ?n a :Whole } WHERE { ?x a :Whole }", "x")],
        [made("up", "{ ?n :part ?x } WHERE { ?x :part ?y }", "x")],
    ],
)
def test_terms_that_may_feed_themselves_are_refused(rules: list[DerivationRule]) -> None:
    with pytest.raises(ProgramError, match=r"computes .* and feeds itself: .* might never end"):
        stratified(rules)


@pytest.mark.parametrize(
    "rules",
    [
        # The new name is no :Known, and only those give names.
        [rule("up", f"{{ ?n a :Whole }} WHERE {{ ?x a :Whole . ?x a :Known {NAMED} }}")],
        # It stands where the body reads a part that no name is computed from.
        [rule("up", f"{{ ?x :part ?n }} WHERE {{ ?x :part ?y {NAMED} }}")],
        [made("up", "{ ?n :part ?x } WHERE { ?x :part ?y FILTER(!isBlank(?x)) }", "x")],
        [made("up", "{ ?n a :Whole } WHERE { ?x a :Whole FILTER(isIRI(?x) && true) }", "x")],
        [made("up", "{ ?x :part ?n } WHERE { ?x ?p ?y FILTER(!isBlank(?y)) }", "x", "y")],
        # A datatype is no literal.
        [
            rule(
                "kind",
                "{ ?y a ?d } WHERE { ?x ?p ?y FILTER(isLiteral(?y)) BIND(DATATYPE(?y) AS ?d) }",
            )
        ],
        # Casts that are repeated give few terms.
        [
            rule("float", "{ ?x ?p ?m } WHERE { ?x ?p ?n BIND(xsd:float(xsd:string(?n)) AS ?m) }"),
            rule("whole", "{ ?x ?p ?m } WHERE { ?x ?p ?n BIND(xsd:integer(?n) AS ?m) }"),
        ],
        # Which properties these are is known from the data alone.
        [made("up", "{ ?x ?q ?n } WHERE { ?n0 ?p ?x . ?p :leads ?q }", "n0")],
    ],
)
def test_terms_that_cannot_feed_themselves_may_be_computed_in_recursion(
    rules: list[DerivationRule],
) -> None:
    assert any(layer.recursive for layer in stratified(rules))


def test_what_follows_by_rules_of_one_premise_counts() -> None:
    up = rule("up", f"{{ ?x :part ?n }} WHERE {{ ?x a :Whole . ?x a :Good {NAMED} }}")
    linear, _ = parted([rule("all", "{ ?y a :Whole . ?y a :Good } WHERE { ?x :part ?y }")])
    with pytest.raises(ProgramError, match="up → up"):
        stratified([up], FlatClosure(linear))
    linear, _ = parted([rule("all", "{ ?y a :Whole } WHERE { ?x :part ?y }")])
    assert stratified([up], FlatClosure(linear))
