"""The most that Oxigraph may take for a query, from its text and the graph's size."""

from __future__ import annotations

import math

import pytest

from sensorstream.sparql.oxigraph_query import steps_of
from sensorstream.sparql.query_parser import parse_query


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("?x <p:> ?y", 10),
        ("?x <p:> ?y . ?y <p:> ?z", 100),
        ("?x <p:> ?y OPTIONAL { ?z <p:> ?u } FILTER EXISTS { ?u <q:> ?v }", 1000),
        ("{ SELECT ?x { ?x <p:> ?y . ?z ?u ?v } }", 100),
        ("?x <p:>/<q:> ?y", 50**2),
        ("?x <p:>* ?y", 50**3),
        ("VALUES ?x { 1 2 3 } ?x <p:> ?y", 30),
        ("?x <p:> ?y BIND(CONCAT(?y, ?y) AS ?a) BIND(CONCAT(?a, ?a) AS ?b)", 40),
        ("?x <p:> ?y BIND(REPLACE(?y, '.', ?y) AS ?a)", math.inf),
    ],
)
def test_patterns_multiply_as_if_they_had_nothing_in_common(pattern: str, steps: float) -> None:
    query = parse_query(f"SELECT * WHERE {{ {pattern} }}")
    assert steps_of(query.form, lambda each: 10, 50) == steps
