"""The rules of equality are recognized by what they say, however they are written."""

from __future__ import annotations

import pytest

from sensorstream.network.recursion.equality_rules import EQUALITY, equality_among
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules
from tests.network.recursion.regimes import SAME, TOLD
from tests.network.recursion.world import rule


def test_equality_is_told_by_what_rules_say() -> None:
    found = equality_among(bundled_rules("owl2rl").rules)
    assert found is not None
    assert {rule.name for rule in found.rules} == {rule.name for rule in EQUALITY}
    assert found.properties
    written = [
        rule("1", f"{{ ?b {SAME} ?a }} WHERE {{ ?a {SAME} ?b FILTER(?b != ?a) }}"),
        rule("2", f"{{ ?x {SAME} ?y }} WHERE {{ ?z {SAME} ?y . ?x {SAME} ?z }}"),
        rule("3", f"{{ ?t ?p ?o }} WHERE {{ ?s ?p ?o . ?s {SAME} ?t }}"),
        rule("4", f"{{ ?s ?p ?t }} WHERE {{ ?s ?p ?o . ?o {SAME} ?t }}"),
    ]
    own = equality_among([TOLD, *written])
    assert own is not None
    assert (own.rules, own.name, own.properties) == (tuple(written), "2", False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("eq-sym", f"{{ ?x {SAME} ?x }} WHERE {{ ?x {SAME} ?y }}"),
        ("eq-sym", "{ ?y :same ?x } WHERE { ?x :same ?y }"),
        (
            "eq-trans",
            f"{{ ?x {SAME} ?z }} WHERE {{ ?x {SAME} ?y . ?y {SAME} ?z FILTER(?x != ?z) }}",
        ),
        ("eq-rep-s", f"{{ ?t ?p ?o }} WHERE {{ ?s {SAME} ?t . ?s ?p ?o FILTER(isIRI(?o)) }}"),
        ("eq-rep-s", f"{{ ?t ?p ?o }} WHERE {{ ?s {SAME} ?t . ?s ?p ?o . ?o ?p ?s }}"),
        ("eq-rep-s", f"{{ ?t ?t ?o }} WHERE {{ ?s {SAME} ?t . ?s ?t ?o }}"),
        ("eq-rep-o", f"{{ ?s ?p ?t }} WHERE {{ ?t {SAME} ?o . ?s ?p ?o }}"),
    ],
)
def test_rules_that_say_something_else_are_no_equality(name: str, text: str) -> None:
    rules = [rule(name, text) if each.name == name else each for each in EQUALITY]
    assert equality_among(rules) is None
