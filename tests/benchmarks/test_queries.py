from __future__ import annotations

import pytest

from benchmarks.queries import CORRELATED, KINDS, measure


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_query_runs_and_reports(kind: str) -> None:
    texts = [KINDS[kind](n, 20) for n in range(20)]
    assert len(set(texts)) == (1 if kind == "nothing" else 20)
    assert measure(texts, 100, 200).solutions > 0


def test_where_a_filter_stands_within_not_exists_makes_no_difference() -> None:
    inside, outside = (measure([text], 100, 100).solutions for text in CORRELATED.values())
    assert inside == outside > 0
