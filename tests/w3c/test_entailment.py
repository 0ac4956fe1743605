"""The W3C's tests of entailment regimes: what follows is there when a query is answered."""

from __future__ import annotations

import pytest

from tests.w3c.entailment import OPEN, fault_of_entailment
from tests.w3c.manifests import EntailmentCase, entailment_cases, parameters


@pytest.mark.parametrize("case", parameters(entailment_cases()))
def test_a_query_has_the_stated_result_under_each_regime_or_is_open(case: EntailmentCase) -> None:
    assert fault_of_entailment(case) is None


def test_each_open_test_is_one_of_the_suite() -> None:
    cases = entailment_cases()
    if cases:
        assert OPEN.keys() <= {case.name for case in cases}
