"""What a schema makes of rules."""

from __future__ import annotations

from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.rulesets.library import bundled_rules
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.renaming import renamed
from sensorstream.reasoning.rulesets.specialise import specialise, standard_name
from tests.reasoning.rulesets.graphs import PREFIXES, graph, indexed, rules


def specialised(rule: str, schema: str) -> list[DerivationRule]:
    return specialise(rules(rule).rules, indexed(graph(schema)))


def meanings(text: str) -> set[object]:
    return {renamed(rule) for rule in read(f"{PREFIXES}\n{text}", "expected").rules}


def test_a_rule_becomes_one_for_each_solution_of_its_schema() -> None:
    found = specialised(
        "# dom\nINSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y }",
        ":p rdfs:domain :C . :q rdfs:domain :D .",
    )
    assert {renamed(rule) for rule in found} == meanings(
        "INSERT { ?x a :C } WHERE { ?x :p ?y } ; INSERT { ?x a :D } WHERE { ?x :q ?y }"
    )
    assert [rule.name for rule in found] == ["dom #1", "dom #2"]
    assert {standard_name(rule) for rule in found} == {"dom"}


def test_of_rdfs_only_rules_about_what_streams_are_left() -> None:
    found = specialise(bundled_rules("rdfs").rules, indexed(graph(":p rdfs:range :C .")))
    assert [rule.name for rule in found] == ["rdfD2", "rdfs3", "rdfs4a", "rdfs4b"]
