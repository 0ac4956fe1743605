"""The W3C's SHACL suite, in both ways: what passes, and what does not for a reason."""

from __future__ import annotations

import pytest

from tests.w3c.shacl import LIVE, MISSING, WHOLE, ShaclCase, fault_of_live, fault_of_whole
from tests.w3c.shacl import shacl_cases as cases

_CASES = [pytest.param(case, id=case.name) for case in cases()] or [
    pytest.param(None, marks=pytest.mark.skip(reason=MISSING))
]


@pytest.mark.parametrize("case", _CASES)
def test_the_whole_graph_has_the_stated_violations(case: ShaclCase) -> None:
    assert bool(fault_of_whole(case)) is (case.name in WHOLE)


@pytest.mark.parametrize("case", _CASES)
def test_the_violations_kept_in_step_are_the_stated_ones(case: ShaclCase) -> None:
    assert bool(fault_of_live(case)) is (case.name in LIVE)
