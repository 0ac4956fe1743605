"""EXISTS whose outer variables stand in parts that may be missing, as Oxigraph answers it."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.plan.nodes import Anew
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamProcessor

EX = "http://example.org/"
triples = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("pq"), st.sampled_from("ab")),
    max_size=6,
    unique=True,
)


@pytest.mark.parametrize(
    ("inner", "kept"),
    [
        ("?y :p ?z OPTIONAL { ?x :q ?z }", False),
        ("?y :p ?z MINUS { ?z :q ?x }", False),
        ("{ ?y :p ?z OPTIONAL { ?x :q ?z } } ?x :p ?z", False),
        ("?y :p ?x OPTIONAL { ?x :q ?z }", True),
        ("?y :p ?z MINUS { ?z :q ?u }", True),
    ],
)
@settings(max_examples=25)
@given(graph=triples)
def test_a_part_that_may_be_missing_sees_the_outer_variable(
    inner: str, kept: bool, graph: list[tuple[str, str, str]]
) -> None:
    index, store = TripleIndex(), ox.Store()
    for triple in graph:
        subject, predicate, object_ = (IRI(EX + each) for each in triple)
        index.add((subject, predicate, object_))
        store.add(ox.Quad(*[ox.NamedNode(EX + each) for each in triple]))
    text = f"PREFIX : <{EX}> SELECT ?x ?y {{ ?x :p ?y FILTER NOT EXISTS {{ {inner} }} }}"
    machine = StreamProcessor(index, instant=lambda literal: int(literal.lexical), second=1)
    running = machine.register("q", text, parse_query(text), lambda report: None)
    assert isinstance(running.plan, Anew) is not kept
    expected = store.query(text)
    assert isinstance(expected, ox.QuerySolutions)
    assert sorted(map(tuple, running.result())) == sorted(
        (str(row["x"])[1:-1], str(row["y"])[1:-1]) for row in expected
    )
