"""The rules of the plain profile say why each of its inferences follows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.reasoning.reasoner import SchemaClosure
from sensorstream.reasoning.rulesets.derivation import Applications, derivation
from sensorstream.reasoning.rulesets.rule_set_reader import plain_rules
from sensorstream.reasoning.rulesets.schema_lists import unrolled
from tests.reasoning.rulesets.graphs import graph
from tests.reasoning.rulesets.strategies import windows

RULES = plain_rules().rules
STATED = [
    *(f":{c} rdfs:subClassOf :{d}" for c, d in ("CD", "DE", "EC", "EF")),
    *(":p rdfs:domain :C", ":q rdfs:range :D", ":p rdfs:subPropertyOf :q", ":q rdfs:domain :F"),
    *(":p owl:equivalentProperty :r", ":C owl:equivalentClass :E", ":a a :C", ":a :p :b"),
    ":D owl:equivalentClass [ owl:intersectionOf ( :F [ owl:intersectionOf ( :E ) ] ) ]",
    ":C rdfs:subClassOf [ owl:intersectionOf ( :D :G ) ]",
    ":r rdfs:range [ owl:intersectionOf ( :G :F ) ]",
    ":q rdfs:domain [ owl:intersectionOf ( :G :D ) ]",
]
stated = st.lists(st.sampled_from(STATED), min_size=1, max_size=6, unique=True).map(
    lambda texts: graph(" . ".join(texts))
)


@settings(max_examples=20)
@given(static=stated, changes=windows)
def test_each_inference_of_the_plain_profile_has_a_derivation(
    static: set[Triple], changes: list[list[Triple]]
) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, sorted(static))
    closure = SchemaClosure(Schema.of(sorted(static)))
    closure.start(kb)
    said = Delta(0, tuple(sorted({each for change in changes for each in change})))
    kb.apply(Origin.WINDOW, said)
    closure.react(kb, said)
    rules = Applications(unrolled(RULES, kb.index), kb)
    for origin in (Origin.INFERRED, Origin.STATIC_INFERRED):
        for triple in kb.triples(origin):
            found = derivation(triple, rules, kb)
            assert triple in found.steps or kb.origins(triple) & (Origin.STATIC | Origin.WINDOW)
