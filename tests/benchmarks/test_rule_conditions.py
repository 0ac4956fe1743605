"""The benchmark of rule conditions, at a tiny size."""

from __future__ import annotations

import pytest

from benchmarks.rule_conditions import measure, table


@pytest.mark.parametrize("rules", [1, 7])
def test_it_measures_both_ways(rules: int) -> None:
    row = measure(rules, 12, 20)
    assert (row.rules, row.size) == (rules, 12)
    assert row.network > 0
    assert row.anew > 0
    assert table([row]).splitlines()[2].startswith(f"| {rules} | 12 | ")
