"""Patterns in time: how long their parts keep rows, and what is refused with what to write."""

from __future__ import annotations

import pytest

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.timeline import Timeline
from sensorstream.network.intervals.interval_expressions import IntervalTime
from sensorstream.network.intervals.interval_planner import plan_in_time
from sensorstream.network.plan import nodes
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


def lasting(seconds: int) -> str:
    return f'FILTER(getDURATION() < "PT{seconds}S"^^xsd:duration)'


@pytest.mark.parametrize(
    ("where", "lengths"),
    [
        ("{ ?x :p ?y } SEQ { ?x :q ?z }", [None]),
        (f"{{ ?x :p ?y }} SEQ {{ ?x :q ?z }} {lasting(9)}", [9]),
        # Parts are no longer than the whole, and may be bound to be shorter.
        (
            f"{{ {{ ?x :p ?y }} SEQ {{ ?x :q ?z }} {lasting(4)} }} SEQ {{ ?x :p ?v }} {lasting(9)}",
            [9, 4],
        ),
        (f"{{ {{ ?x :p ?y }} SEQ {{ ?x :q ?z }} }} SEQ {{ ?x :p ?v }} {lasting(9)}", [9, 9]),
        # What is chosen, comes first or is counted does not depend on bounds from above.
        (f"{{ {{ ?x :p ?y }} SEQ {{ ?x :q ?z }} }} SEQ RECENT {{ ?x :p ?v }} {lasting(9)}", [9, 9]),
        (
            f"{{ {{ ?x :p ?y }} SEQ RECENT {{ ?x :q ?z }} }} SEQ {{ ?x :p ?v }} {lasting(9)}",
            [9, None],
        ),
        (
            f"{{ SELECT ?x {{ {{ ?x :p ?y }} SEQ {{ ?x :q ?z }} }} LIMIT 1 }} "
            f"SEQ {{ ?x :p ?v }} {lasting(9)}",
            [9, None],
        ),
        # That there is an old optional row must be known.
        (f"{{ ?x :p ?y }} OPTIONAL {{ ?x :q ?z }} {lasting(9)}", [9]),
        (f"{{ ?x :p ?y }} OPTIONAL {{ ?x :q ?z FILTER(?z > ?y) }} {lasting(9)}", [None]),
    ],
)
def test_rows_are_kept_as_long_as_a_wanted_solution_may_be(
    where: str, lengths: list[int | None]
) -> None:
    pattern = parse_query(f"{PREFIX}SELECT ?x {{ {where} }}").form.pattern
    plan = plan_in_time(pattern, IntervalTime(Timeline.INTEGER, 1))
    kinds = nodes.SeqPlan | nodes.LeftJoinPlan
    assert [each.longest for each in nodes.parts(plan) if isinstance(each, kinds)] == lengths


def test_a_filter_stands_at_the_smallest_part_that_binds_its_variables() -> None:
    where = (
        "{ { ?x :p ?y } SEQ { ?x :q ?z } } SEQ { ?x :r ?v } "
        "FILTER(?y > 1 && ?z > 1 && ?y < ?z && ?v > ?y)"
    )
    pattern = parse_query(f"{PREFIX}SELECT ?x ?y ?z {{ {where} }}").form.pattern
    plan = plan_in_time(pattern, IntervalTime(Timeline.INTEGER, 1))
    everything = list(nodes.parts(plan))
    outer, inner = (each for each in everything if isinstance(each, nodes.SeqPlan))
    assert (outer.left, len(outer.tests), len(inner.tests)) == (inner, 1, 1)
    filters = [each for each in everything if isinstance(each, nodes.FilterPlan)]
    assert filters == [inner.left, inner.right]
    assert all(isinstance(each.source, nodes.Occurrence) for each in filters)
