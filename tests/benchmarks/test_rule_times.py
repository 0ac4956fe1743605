"""The benchmark of rules with time measures rules that work."""

from __future__ import annotations

import pytest

from benchmarks.rule_times import KINDS, measure


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_rule_takes_its_messages(kind: str) -> None:
    assert measure(KINDS[kind], size=3, messages=8) > 0
