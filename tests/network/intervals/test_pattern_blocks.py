"""Blocks of triple patterns: what happens in them, and alternatives of paths as unions."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings

from sensorstream.errors import UnsupportedQuery
from sensorstream.network.intervals.pattern_blocks import Where, block
from sensorstream.network.plan import nodes
from sensorstream.sparql.algebra import BGP
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.walk import nodes as algebra_nodes
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


@pytest.mark.parametrize(
    ("body", "ways", "occurrences", "pairs"),
    [
        ("?x :p ?y . ?y :q ?z", 1, 2, 0),
        ("?x :p ?y . ?x :p ?y", 1, 1, 0),
        ("?x :p ?y . ?x :p ?z . ?x ?r ?v", 1, 3, 3),
        ("?x :p/^:q ?y", 1, 2, 0),
        ("?x (:p|:q)/:r ?y", 2, 4, 0),
        ("?x !(:p|^:q) ?y", 2, 2, 0),
        ("?x :p ?y . ?y :q* ?z", 1, 1, 0),
    ],
)
def test_a_block_is_what_happens_and_equal_triples_are_one(
    body: str, ways: int, occurrences: int, pairs: int
) -> None:
    pattern = parse_query(f"{PREFIX}SELECT * {{ {body} }}").form.pattern
    (patterns,) = (each.patterns for each in algebra_nodes(pattern) if isinstance(each, BGP))
    plan = block(patterns, count(), Where())
    found = list(nodes.parts(plan))
    assert sum(isinstance(each, nodes.Occurrence) for each in found) == occurrences
    assert (len(plan.parts) if isinstance(plan, nodes.UnionPlan) else 1) == ways
    assert sum(len(each.pairs) for each in found if isinstance(each, nodes.Once)) == pairs
    assert not any(name.startswith(".") for name in plan.variables[2:])
