"""The W3C's tests of RDF's semantics: what follows, what does not, and what contradicts itself."""

from __future__ import annotations

import pytest

from tests.w3c.manifests import SemanticsCase
from tests.w3c.rdf_mt import MISSING, fault_of_semantics, semantics_cases

_CASES = [pytest.param(case, id=case.name) for case in semantics_cases()] or [
    pytest.param(None, marks=pytest.mark.skip(reason=MISSING))
]


@pytest.mark.parametrize("case", _CASES)
def test_the_rules_give_the_stated_verdict(case: SemanticsCase) -> None:
    assert fault_of_semantics(case) is None
