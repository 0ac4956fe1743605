"""Random schemas, and random changes of a window under them."""

from __future__ import annotations

from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from tests.reasoning.rulesets.graphs import graph

NAMES = [
    *("[] a owl:AllDifferent ; owl:members ( :a :b )", ":C owl:disjointWith :D"),
    *(":C rdfs:subClassOf :D", ":D rdfs:subClassOf :E", ":E rdfs:subClassOf :C"),
    *(":p rdfs:domain :C", ":q rdfs:range :D", ":p rdfs:subPropertyOf :q"),
    *(":q owl:inverseOf :r", ":p a owl:SymmetricProperty", ":q a owl:TransitiveProperty"),
    *(":r a owl:FunctionalProperty", ":q a owl:InverseFunctionalProperty"),
    *(":p owl:equivalentProperty :r", ":C owl:equivalentClass :E"),
    *(":r owl:propertyChainAxiom ( :p :q )", ":p owl:propertyChainAxiom ( :r :q :r )"),
    *(":C owl:intersectionOf ( :D :E )", ":E owl:intersectionOf ( :C :D :F )"),
    *(":F owl:unionOf ( :C :D )", ":F owl:oneOf ( :a :b )", ":C owl:hasKey ( :p :q )"),
    ":D rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :F ]",
    "[ owl:onProperty :q ; owl:someValuesFrom :D ] rdfs:subClassOf :C",
    "[ owl:onProperty :q ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :E",
    ":E rdfs:subClassOf [ owl:onProperty :r ; owl:hasValue :b ]",
    ':C rdfs:subClassOf [ owl:onProperty :p ; owl:maxCardinality "1"^^xsd:nonNegativeInteger ]',
    *(":C a owl:Class", ":p a owl:ObjectProperty", ":a owl:differentFrom :b", ":a :q :b"),
    *(":p a owl:AsymmetricProperty", ":p owl:propertyDisjointWith :q", ":E a rdfs:Class"),
]
"""Statements of schemas."""
schemas = st.lists(st.sampled_from(NAMES), min_size=1, max_size=7, unique=True).map(
    lambda texts: graph(" . ".join(texts) + " .")
)

_LINKS = [f":{s} :{p} :{o}" for s in "abc" for p in "pqr" for o in "abc"]
_TYPES = [f":{s} a :{c}" for s in "abc" for c in "CDEF"]
_OTHERS = [":a :p 1", ":a :r 1", ":a :r 2", ":a owl:sameAs :b", ":b owl:sameAs :c"]
_FACTS: list[Triple] = sorted(graph(" . ".join([*_LINKS, *_TYPES, *_OTHERS]) + " ."))
windows = st.lists(
    st.lists(st.sampled_from(_FACTS), min_size=1, max_size=5, unique=True), min_size=1, max_size=4
)
"""Changes one after the other: each triple comes, or goes if it is there."""
