"""Graphs as values, their unions, and what background knowledge holds always."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Triple
from sensorstream.network.query_sources import DEFAULT, Knowledge, TripleSource, merged
from tests.network.naive_match import NODES, STEPS, triples

ONE, OTHER = TripleSource("one", "graph one"), TripleSource("other", "graph two")


def test_a_union_has_its_graphs_and_one_graph_is_itself() -> None:
    assert merged(ONE) is ONE
    assert ONE.graphs == (ONE,)
    assert merged(ONE, OTHER).graphs == (ONE, OTHER)
    assert merged(ONE, OTHER) == merged(ONE, OTHER) != merged(OTHER, ONE)
    assert merged(ONE, OTHER).text == "graph one and graph two"


def test_graphs_are_told_apart_by_their_keys_and_not_by_their_texts() -> None:
    assert TripleSource("one", "another text") == ONE
    assert len({ONE, OTHER, DEFAULT, TripleSource("one", ""), TripleSource(1, "graph one")}) == 4


@given(st.sets(triples), st.sets(triples))
def test_knowledge_is_what_holds_of_the_background(content: set[Triple], gone: set[Triple]) -> None:
    index = TripleIndex()
    for triple in content:
        index.add(triple)
    knowledge = Knowledge(index, lambda triple: triple not in gone, lambda triple: ())
    assert set(knowledge.match(None, None, None)) == content - gone
    fitting = {(s, p, o) for s, p, o in content - gone if (p, o) == (STEPS[0], NODES[1])}
    assert set(knowledge.match(None, STEPS[0], NODES[1])) == fitting
