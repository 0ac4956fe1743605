"""What a schema makes of rules."""

from __future__ import annotations

import pytest

from sensorstream.model.terms import BlankNode
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.reasoning.rulesets.rule_set import renamed
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, read
from sensorstream.reasoning.rulesets.specialise import standard_name
from tests.reasoning.rulesets.graphs import PREFIXES, graph, indexed, rules
from tests.reasoning.rulesets.oracle import as_stored, closed
from tests.reasoning.rulesets.world import World, specialise


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


def test_patterns_of_the_schema_that_do_not_match_leave_nothing() -> None:
    assert not specialised(
        "INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y }", ":p :q :r ."
    )
    assert not specialised(
        "INSERT { ?c rdfs:seeAlso ?d } WHERE { ?c rdfs:subClassOf ?d }", ":p :q 1"
    )


def test_of_rdfs_rules_about_the_schema_alone_stay_only_if_they_are_fed() -> None:
    found = specialise(bundled_rules("rdfs").rules, indexed(graph(":p rdfs:range :C .")))
    # rdfD2 may feed rdfs6, and that rdfs5.
    assert [rule.name for rule in found] == [
        *("rdfD2", "rdfs3", "rdfs4a", "rdfs4b", "rdfs5", "rdfs6")
    ]


def test_equal_rules_are_one() -> None:
    found = specialised(
        "INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?q rdfs:subPropertyOf ?p . ?x ?p ?y }",
        ":p rdfs:domain :C . :q rdfs:subPropertyOf :p . :r rdfs:subPropertyOf :p .",
    )
    assert len(found) == 1


def test_a_conclusion_that_is_a_premise_is_left_out() -> None:
    rule = "INSERT { ?x a ?c . ?x :is ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?d }"
    (found,) = specialised(rule, ":C rdfs:subClassOf :C .")
    assert renamed(found) in meanings("INSERT { ?x :is :C } WHERE { ?x a :C }")


def test_filters_about_the_schema_are_decided() -> None:
    rule = (
        "INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y "
        "FILTER(isIRI(?c) && ?y > 3 && !sameTerm(?c, :D)) }"
    )
    found = specialised(rule, ":p rdfs:domain :C . :q rdfs:domain [] . :r rdfs:domain :D .")
    assert {renamed(each) for each in found} == meanings(
        "INSERT { ?x a :C } WHERE { ?x :p ?y FILTER(?y > 3) }"
    )


def test_a_blank_node_of_the_schema_is_a_constant() -> None:
    schema = graph("[] owl:onProperty :p ; owl:hasValue 1 .")
    world = World(rules("INSERT { ?x a ?c } WHERE { ?c owl:onProperty ?p . ?x ?p ?y }"), schema)
    world.change(graph(":a :p :b ."))
    (made,) = world.graph - schema - world.window
    assert isinstance(made[2], BlankNode)
    assert made[2] in {s for s, _, _ in schema}


@pytest.mark.parametrize(
    "body",
    [
        "?c owl:onProperty ?p . ?x :p ?y BIND(STR(?c) AS ?t)",
        "?c owl:onProperty ?p . ?x :p ?y BIND(isBlank(?c) AS ?t)",
        "?c owl:onProperty ?p . ?x ?p ?y . { SELECT ?c { ?c owl:onProperty ?q } } BIND(1 AS ?t)",
        "?c owl:onProperty ?p . ?x ?p ?y VALUES ?p { :p :q } BIND(?p AS ?t)",
        "?c owl:onProperty ?p . ?x ?p ?t FILTER(isBlank(?c) || ?t > 5)",
        "?c owl:onProperty ?p . ?x ?p ?t { FILTER(?t > ?p) }",
        "?c owl:onProperty ?p . ?x ?p ?t OPTIONAL { ?c owl:hasValue ?v } FILTER(!BOUND(?v))",
        "?c owl:onProperty ?p . ?x ?p ?t FILTER NOT EXISTS { ?c owl:hasValue ?t }",
        "?c owl:onProperty ?p . ?x ?p ?t MINUS { ?c owl:hasValue ?t }",
        "{ ?c owl:onProperty ?p } UNION { ?c owl:hasValue ?p } ?x ?p ?t",
        "?c owl:onProperty/^rdfs:domain ?p . ?x ?p ?t",
        "?c (owl:onProperty|owl:hasValue)+ ?p . ?x ?p ?t",
        "?c rdfs:label ?l . ?x :p ?t FILTER(!REGEX(STR(?t), ?l))",
        "?c rdfs:label ?l . ?x :p ?y BIND(REPLACE(STR(?y), ?l, '') AS ?t)",
    ],
)
def test_what_cannot_be_substituted_means_the_same(body: str) -> None:
    text = f"INSERT {{ ?x :says ?t }} WHERE {{ {body} }}"
    schema = graph(
        "[] owl:onProperty :p ; owl:hasValue 1 . :R owl:onProperty :q ; owl:hasValue :p . "
        ":p rdfs:domain :q . :r rdfs:domain :p . :p rdfs:label '(' . :q rdfs:label '^9' ."
    )
    world = World(rules(text), schema)
    for change in (":a :p 1, 9 ; :q 2 .", ":a :r 3 . :b :p :b ."):
        world.change(graph(change))
        assert as_stored(world.graph) == closed(f"{PREFIXES}\n{text}", schema | world.window)


@pytest.mark.parametrize("name", ["rdfs", "rhodf", "pdstar"])
def test_a_property_that_nobody_declared_does_not_make_rules_outdated(name: str) -> None:
    world = World(bundled_rules(name), graph(":p rdfs:domain :C . :p rdfs:subPropertyOf :q ."))
    world.change(graph(":a :p :b . :a :new :b . :b a :NewClass ."))
    assert graph(":a :q :b . :new rdfs:subPropertyOf :new .") <= world.graph
    assert world.starts == 1
    world.change(graph(":new rdfs:subPropertyOf :q ."))
    assert graph(":a :q :b .") <= world.graph
    assert world.starts > 1


def test_what_the_window_also_asserts_stays_when_it_is_asserted_no_longer() -> None:
    rule = "INSERT { ?c rdfs:seeAlso ?d } WHERE { ?c rdfs:subClassOf ?d }"
    world = World(rules(rule), set())
    world.change(graph(":C rdfs:seeAlso :D ."))
    world.change(graph(":C rdfs:subClassOf :D ."))
    world.change((), graph(":C rdfs:seeAlso :D ."))
    assert graph(":C rdfs:seeAlso :D .") <= world.graph
