"""Alternatives of paths in a block: they happen as unions do, and are not too many."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from sensorstream.errors import UnsupportedQuery
from sensorstream.sparql.query_parser import parse_query
from tests.network.intervals.random_patterns import PREFIX, Gaps, events, processor, run, streams


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("{ ?x :p|:q ?y }", "{ ?x :p ?y } UNION { ?x :q ?y }"),
        ("{ ?x (:p|^:q)/:p ?y }", "{ ?x :p/:p ?y } UNION { ?x ^:q/:p ?y }"),
        ("{ ?x !:p ?y }", "{ ?x ?r ?y FILTER(?r != :p) }"),
        (
            "{ ?x !(:p|^:p) ?y }",
            "{ ?x ?r ?y FILTER(?r != :p) } UNION { ?y ?s ?x FILTER(?s != :p) }",
        ),
    ],
)
@settings(max_examples=10)
@given(gaps=streams)
def test_alternatives_of_a_fixed_length_happen_as_unions_do(
    path: str, written: str, gaps: Gaps
) -> None:
    said = events(gaps)
    found = [
        run(f"{PREFIX}SELECT ?x ?y {{ {where} FILTER(getENDTIME() >= 0) }}", said, [])
        for where in (path, written)
    ]
    assert set(found[0]) == set(found[1])


def test_alternatives_that_come_to_too_many_blocks_are_refused() -> None:
    text = f"{PREFIX}SELECT * {{ ?x {'/'.join(['(:p|:q)'] * 7)} ?y FILTER(getENDTIME() >= 0) }}"
    with pytest.raises(UnsupportedQuery, match="group of their own"):
        processor([]).register("q", text, parse_query(text), lambda report: None)
