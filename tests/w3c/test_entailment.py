"""The W3C's tests of entailment regimes: what follows is there when a query is answered."""

from __future__ import annotations

import pytest

from tests.w3c.entailment import OPEN, fault_of_entailment, fault_under_direct
from tests.w3c.manifests import EntailmentCase, entailment_cases, parameters

_DESCRIBING = [case for case in entailment_cases() if case.regimes == ("OWL-Direct",)]
_BEYOND = ("sparqldl-11", "sparqldl-12")


@pytest.mark.parametrize("case", parameters(entailment_cases()))
def test_a_query_has_the_stated_result_under_each_regime_or_is_open(case: EntailmentCase) -> None:
    assert fault_of_entailment(case, ("hermit",)) is None


@pytest.mark.parametrize("case", parameters(_DESCRIBING))
def test_pellet_answers_what_only_reasoners_can(case: EntailmentCase) -> None:
    assert fault_under_direct(case, ("pellet",)) is None


@pytest.mark.parametrize(
    "case", parameters([case for case in entailment_cases() if case.name in _BEYOND])
)
def test_what_is_open_under_another_regime_passes_under_owl_direct(case: EntailmentCase) -> None:
    assert fault_under_direct(case, ("hermit", "pellet")) is None


def test_each_open_test_is_one_of_the_suite() -> None:
    cases = entailment_cases()
    if cases:
        assert OPEN.keys() <= {case.name for case in cases}
