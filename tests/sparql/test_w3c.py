from __future__ import annotations

import pytest

from tests.w3c.checks import fault
from tests.w3c.deviations import DEVIATIONS
from tests.w3c.manifests import (
    MISSING,
    QueryCase,
    SyntaxCase,
    UpdateCase,
    cases,
    parameters,
    query_cases,
    syntax_cases,
    update_cases,
)


@pytest.mark.parametrize("case", parameters(syntax_cases()))
def test_a_text_is_read_or_refused_as_the_suite_says(case: SyntaxCase) -> None:
    assert fault(case) is None


@pytest.mark.parametrize("case", parameters(query_cases()))
def test_a_query_read_and_printed_has_the_result_of_the_suite(case: QueryCase) -> None:
    assert fault(case) is None


@pytest.mark.parametrize("case", parameters(update_cases()))
def test_an_update_read_and_printed_leaves_the_data_of_the_suite(case: UpdateCase) -> None:
    assert fault(case) is None


@pytest.mark.skipif(not cases(), reason=MISSING)
def test_every_deviation_names_a_test() -> None:
    assert {case.label for case in query_cases()} >= set(DEVIATIONS)


@pytest.mark.skipif(not cases(), reason=MISSING)
def test_the_suites_are_whole() -> None:
    # A manifest that is read wrongly would lose tests without a word.
    assert (len(syntax_cases()), len(query_cases()), len(update_cases())) == (368, 518, 94)
