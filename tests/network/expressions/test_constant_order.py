"""Constants in order give what comparing with each of them gives."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import Term
from sensorstream.network.expressions.constant_order import Constants, is_comparable
from sensorstream.network.expressions.expression_functions import test_of as holds_of
from sensorstream.sparql.algebra import Comparison, Variable
from tests.network.expressions.constants import TERMS

OPERATORS: tuple[Any, ...] = ("=", "<", ">", "<=", ">=")


@pytest.mark.parametrize("operator", OPERATORS)
@given(
    constants=st.sets(st.sampled_from(TERMS)),
    gone=st.sets(st.sampled_from(TERMS)),
    value=st.one_of(st.none(), st.sampled_from(TERMS)),
)
def test_those_passed_are_those_for_which_the_comparison_is_true(
    operator: Any, constants: set[Any], gone: set[Any], value: Term | None
) -> None:
    held = Constants(operator)
    known = {each for each in constants if is_comparable(operator, each)}
    for each in known:
        held.add(each)
    for each in gone & known:
        held.discard(each)
    left = known - gone

    def is_true(constant: Any) -> bool:
        return holds_of(Comparison(operator, Variable("x"), constant), {"x": 0})((value,))

    assert len(held) == len(left)
    assert Counter(held.passed(value)) == Counter(filter(is_true, left))
    assert held.any_passed(value) == any(map(is_true, left))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("constant", TERMS)
def test_what_is_not_comparable_is_never_passed(operator: Any, constant: Any) -> None:
    if not is_comparable(operator, constant):
        holds = holds_of(Comparison(operator, Variable("x"), constant), {"x": 0})
        assert not any(holds((value,)) for value in TERMS)
