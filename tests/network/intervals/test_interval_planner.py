"""Patterns in time that have no meaning, and the text that refuses them."""

from __future__ import annotations

import pytest

from sensorstream.errors import UnsupportedQuery
from sensorstream.sparql.query_parser import parse_query
from tests.network.intervals.random_patterns import PREFIX, processor


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("{ ?x :p ?y } SEQ { ?x :q ?y } FILTER(getDURATION() < 10)", "durations"),
        ("{ ?x :p ?y } SEQ { GRAPH :g { ?x :q ?y } }", "GRAPH"),
        ('{ ?x :p ?y } SEQ { ?x :q ?y } FILTER(getDURATION() < "P1M"^^xsd:duration)', "months"),
    ],
)
def test_what_has_no_meaning_over_occurrences_is_refused_with_what_to_write(
    where: str, told: str
) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} }}"
    with pytest.raises(UnsupportedQuery, match=told):
        processor([]).register("q", text, parse_query(text), lambda report: None)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("?x :p ?y OPTIONAL { ?x :q ?z FILTER EXISTS { ?y :r ?z } }", "braces of its own"),
        (
            "?x :p ?y FILTER EXISTS { { ?x :q ?z FILTER(?z < ?y) } UNION { ?x :r ?z } }",
            "deep within",
        ),
        ("?x :p ?y FILTER EXISTS { ?z :q ?w FILTER(?w < ?y || getENDTIME() > 2) }", "a filter for"),
        ("{ ?x :p ?y } SEQ { ?x :q+ ?y }", "what happens"),
        ("{ ?x :p ?y } EQUALSOPTIONAL { VALUES ?x { :a } }", "what happens"),
        ("{ SELECT * { ?x :p ?y } ORDER BY ?y LIMIT 1 }", "end first"),
        ("GRAPH :g { ?x :q ?y }", "leave GRAPH out"),
    ],
)
def test_questions_without_a_meaning_are_refused_with_what_to_write(where: str, told: str) -> None:
    text = f"{PREFIX}SELECT * WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
    with pytest.raises(UnsupportedQuery, match=told):
        processor([]).register("q", text, parse_query(text), lambda report: None)
