"""The benchmark of rules over time, at a tiny size."""

from __future__ import annotations

import pytest

from benchmarks.dotr import Other, Scenario, measure, readings


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(rules=3, clauses=2),
        Scenario(rules=2, operators=2, pick="each"),
        *(Scenario(rules=20, other=each) for each in Other),
    ],
    ids=str,
)
def test_it_measures_rules_that_fire(scenario: Scenario) -> None:
    found = measure(scenario, readings(150))
    assert found.graphs > 0
    assert min(found.cost, found.read, found.start) > 0
