"""The benchmark of fences, at a tiny size."""

from __future__ import annotations

from benchmarks.fences import measure, table


def test_it_measures_positions_with_and_without_the_rule() -> None:
    row = measure(2000, 40)
    assert row.fences == 2000
    assert 0 < row.alerts < 140
    assert min(row.with_rule, row.without, row.shapely) > 0
    assert table([row]).splitlines()[2].startswith("| 2,000 | ")
