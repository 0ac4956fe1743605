"""A derivation leads from what is asserted to the triple, by rules that say so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.reasoning.rulesets.derivation import (
    Applications,
    FirstDerivations,
    derivation,
    minimal,
)
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, text_of
from sensorstream.reasoning.rulesets.schema_lists import unrolled
from tests.reasoning.rulesets.graphs import graph, rules
from tests.reasoning.rulesets.oracle import as_stored, closed
from tests.reasoning.rulesets.strategies import schemas, windows

RDF_FIRST, RDF_REST = rdf.FIRST, rdf.REST


class World:
    """What a rule set concludes from a static graph and a window."""

    def __init__(self, rule_set: RuleSet, static: set[Triple], window: set[Triple]) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, sorted(static))
        reasoner = RuleReasoner(rule_set)
        reasoner.start(self.kb)
        delta = Delta(0, tuple(sorted(window)))
        self.kb.apply(Origin.WINDOW, delta)
        reasoner.react(self.kb, delta)
        self.facts = frozenset(rule_set.facts)
        self.rules = Applications(unrolled(rule_set.rules, self.kb.index), self.kb)

    def why(self, triple: Triple, most: int = 20_000) -> FirstDerivations:
        return derivation(triple, self.rules, self.kb, self.facts, most=most)

    def derived(self) -> list[Triple]:
        found = {*self.kb.triples(Origin.INFERRED), *self.kb.triples(Origin.STATIC_INFERRED)}
        return sorted(found - self.facts)


def leaves(found: FirstDerivations, triple: Triple, above: tuple[Triple, ...] = ()) -> set[Triple]:
    """What a derivation ends at; it never comes back to where it was."""
    assert triple not in above
    step = found.steps.get(triple)
    if step is None:
        return {triple}
    below = (leaves(found, each, (*above, triple)) for each in step.premises)
    return set().union(*below)


@pytest.mark.parametrize("name", ["rdfs", "rhodf", "owl2rl"])
@settings(max_examples=3)
@given(static=schemas, changes=windows)
def test_the_rules_conclude_each_triple_from_the_leaves_of_its_derivation(
    name: str, static: set[Triple], changes: list[list[Triple]]
) -> None:
    world = World(bundled_rules(name), static, {each for change in changes for each in change})
    lists = {each for each in static if each[1] in (RDF_FIRST, RDF_REST)}
    derived = world.derived()
    for triple in derived[:: 1 + len(derived) // 10]:
        found = world.why(triple)
        # What is asserted may be derived only with the help of itself.
        assert triple in found.steps or world.kb.origins(triple) & Origin.WINDOW
        ends = leaves(found, triple)
        marks = [world.kb.origins(each) for each in ends]
        assert all(each & (Origin.STATIC | Origin.WINDOW) for each in marks)
        assert as_stored([triple]) <= closed(text_of(name), ends | lists)


def only(texts: str) -> Triple:
    [found] = graph(texts)
    return found


def test_each_step_has_its_rule_its_values_and_its_premises() -> None:
    static = graph(":Guest rdfs:subClassOf :Person . :Person rdfs:subClassOf :Agent")
    world = World(bundled_rules("rdfs"), static, graph(":ann a :Guest"))
    found = world.why(only(":ann a :Agent"))
    step = found.steps[only(":ann a :Agent")]
    assert step.rule == "rdfs9"
    assert [(name, str(value)) for name, value in step.bindings] == [
        ("c", "http://example.org/Guest"),
        ("d", "http://example.org/Agent"),
        ("s", "http://example.org/ann"),
    ]
    assert set(step.premises) == graph(":Guest rdfs:subClassOf :Agent . :ann a :Guest")
    assert found.steps[only(":Guest rdfs:subClassOf :Agent")].rule == "rdfs11"


def test_a_circle_of_rules_is_no_reason() -> None:
    static = graph(":p a owl:SymmetricProperty . :p owl:inverseOf :q . :r rdfs:subPropertyOf :q")
    world = World(bundled_rules("owl2rl"), static, graph(":a :r :b"))
    found = world.why(only(":b :q :a"))
    assert leaves(found, only(":b :q :a")) >= graph(":a :r :b")
    asserted = world.why(only(":a :r :b"))
    assert asserted.steps == {}
    assert asserted.limits == "no rule derives it from what else is asserted"


def test_what_is_asserted_and_derived_has_a_reason_besides() -> None:
    static = graph(":Guest rdfs:subClassOf :Person")
    world = World(bundled_rules("rdfs"), static, graph(":ann a :Guest, :Person"))
    assert world.why(only(":ann a :Person")).steps[only(":ann a :Person")].rule == "rdfs9"


ANY_BODY = """
# unheard
INSERT { ?x a :Unheard } WHERE { ?x a :Sensor FILTER NOT EXISTS { ?x :says ?anything } } ;
# count
INSERT { ?r :has ?n } WHERE { { SELECT ?r (COUNT(?x) AS ?n) { ?x :in ?r } GROUP BY ?r } } ;
# label
INSERT { ?x :label ?l } WHERE { ?x a :Sensor BIND(CONCAT("sensor ", STR(?x)) AS ?l) } ;
# beyond
INSERT { ?x :beyond ?y } WHERE { ?x :in+ ?y . ?y a :City } ;
# either
INSERT { ?x a :Known } WHERE { { ?x a :Unheard } UNION { ?x :says ?y } } ;
# streamed
INSERT { ?x a :Streamed } WHERE { GRAPH <urn:sensorstream:window> { ?x :in ?y } } ;
"""


def test_a_body_may_have_what_the_body_of_a_rule_may_have() -> None:
    said = graph(":s a :Sensor ; :in :hall . :hall :in :rome . :rome a :City . :t :in :hall")
    world = World(rules(ANY_BODY), set(), said)
    known = world.why(only(":s a :Known"))
    assert [known.steps[only(each)].rule for each in (":s a :Known", ":s a :Unheard")] == [
        "either",
        "unheard",
    ]
    assert world.why(only(":hall :has 2")).steps[only(":hall :has 2")].rule == "count"
    label = only(':s :label "sensor http://example.org/s"')
    assert world.why(label).steps[label].premises == (only(":s a :Sensor"),)
    streamed = only(":t a :Streamed")
    assert world.why(streamed).steps[streamed].premises == (only(":t :in :hall"),)
    beyond = only(":s :beyond :rome")
    step = world.why(beyond).steps[beyond]
    assert step.premises == (only(":rome a :City"),)
    assert step.paths == (
        "<http://example.org/s> <http://example.org/in>+ <http://example.org/rome>",
    )


def test_a_search_ends_at_its_limit_and_says_so() -> None:
    static = graph(":p a owl:TransitiveProperty")
    chain = graph(" . ".join(f":n{n} :p :n{n + 1}" for n in range(30)))
    world = World(bundled_rules("owl2rl"), static, chain)
    end = only(":n0 :p :n30")
    assert leaves(world.why(end), end) >= chain
    cut = world.why(end, most=100)
    assert cut.steps == {}
    assert cut.limits == (
        "no derivation is among the first 100 applications of rules that were looked at"
    )


@pytest.mark.parametrize("name", ["rdfs", "owl2rl"])
@settings(max_examples=4)
@given(static=schemas, changes=windows)
def test_without_any_leaf_of_a_minimal_derivation_the_others_do_not_conclude_it(
    name: str, static: set[Triple], changes: list[list[Triple]]
) -> None:
    world = World(bundled_rules(name), static, {each for change in changes for each in change})
    lists = {each for each in static if each[1] in (RDF_FIRST, RDF_REST)}
    derived = world.derived()
    for triple in derived[:: 1 + len(derived) // 6]:
        found = minimal(triple, world.rules, world.kb, world.facts)
        ends = leaves(found, triple) - world.facts
        # Lists count as given: what they conclude alone needs nobody, however it was found.
        if triple not in found.steps or as_stored([triple]) <= closed(text_of(name), lists):
            continue
        assert as_stored([triple]) <= closed(text_of(name), ends | lists)
        for each in ends - lists:
            assert not as_stored([triple]) <= closed(text_of(name), (ends | lists) - {each})
