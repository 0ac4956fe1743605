"""An operator is above its inputs, and gives out a change without what comes and goes at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.node import Node, operators
from sensorstream.network.operators.row_operators import UnionOperator
from sensorstream.network.plan.nodes import ConstantPlan
from sensorstream.network.rows import TIMES
from tests.network.operators.given_rows import Given

PLAN = ConstantPlan(("x",), ())
TERMS: list[Any] = [IRI(f"ex:{name}") for name in "ab"]
rows = st.lists(st.sampled_from(TERMS).map(lambda term: (term,)), max_size=4)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=3), max_size=6))
def test_operators_are_all_below_one_each_once_and_above_their_inputs(
    links: list[list[int]],
) -> None:
    made: list[Node] = [Given("x")]
    for places in links:
        made.append(UnionOperator(PLAN, [made[each % len(made)] for each in places]))
    below = {made[-1]}
    while more := {source for node in below for source in node.inputs} - below:
        below |= more
    found = list(operators(made[-1]))
    assert found[0] is made[-1]
    assert len(found) == len(below)
    assert set(found) == below
    assert all(node.depth > source.depth for node in found for source in node.inputs)


@given(rows, rows)
def test_a_change_is_what_remains_of_what_comes_and_goes(added: Any, removed: Any) -> None:
    node = Given("x")
    node.added, node.removed = added, removed
    came, went = map(Counter, node.change())
    assert not came & went
    assert came - Counter(added) == went - Counter(removed) == Counter()
    both = Counter(added)
    both.subtract(removed)
    came.subtract(went)
    assert came == both
    assert not node.apart or node.change() == (added, removed)


def test_rows_happen_if_they_have_an_interval() -> None:
    assert Given((*TIMES, "x")).timed
    assert not Given(("x", *TIMES)).timed
