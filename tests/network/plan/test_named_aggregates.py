from __future__ import annotations

import pytest

from sensorstream.network.plan.planner import named_aggregates
from sensorstream.sparql.algebra import Extend, Group
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.walk import nodes

CASES = {
    "(COUNT(?v) AS ?n) (AVG(?v) AS ?a)": ({"n", "a"}, 0),
    "?x (SUM(?v) AS ?s) (SUM(?v) AS ?t)": ({"s"}, 1),
    "(SUM(?v) + 1 AS ?s)": ({".agg0"}, 1),
    "(SUM(?v) AS ?s) (?s / 2 AS ?half)": ({"s"}, 1),
    "(SUM(?v) AS ?s) (SUM(?v) + MAX(?v) AS ?t)": ({"s", ".agg1"}, 1),
}


@pytest.mark.parametrize("selected", CASES)
def test_an_aggregate_is_computed_under_the_name_it_is_selected_as(selected: str) -> None:
    names, extends = CASES[selected]
    query = parse_query(f"SELECT {selected} {{ ?x <x:v> ?v }} GROUP BY ?x HAVING (SUM(?v) > 2)")
    found = list(nodes(named_aggregates(query.form.pattern)))
    (group,) = (each for each in found if isinstance(each, Group))
    assert {variable.name for variable, _ in group.aggregates} >= names
    assert sum(isinstance(each, Extend) for each in found) == extends


def test_a_name_that_something_below_mentions_is_not_taken() -> None:
    query = parse_query(
        "SELECT (SUM(?v) AS ?s) { ?x <x:v> ?v } GROUP BY ?x HAVING (SUM(?v) > ?s || SUM(?v) > 2)"
    )
    assert named_aggregates(query.form.pattern) == query.form.pattern


def test_groups_within_groups_are_named_too() -> None:
    query = parse_query(
        "SELECT (MAX(?s) AS ?m) { SELECT ?x (SUM(?v) AS ?s) { ?x <x:v> ?v } GROUP BY ?x }"
    )
    found = list(nodes(named_aggregates(query.form.pattern)))
    assert not any(isinstance(each, Extend) for each in found)
    assert [each.aggregates[0][0].name for each in found if isinstance(each, Group)] == ["m", "s"]
