"""A join keeps step with the product of the rows that agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.operators.join import JoinOperator
from sensorstream.network.rows import Row
from tests.network.operators.given_rows import Given

TERMS: list[Any] = [IRI("ex:a"), IRI("ex:b"), IRI("ex:c")]
VARIABLES = {"left": ("x", "y"), "right": ("y", "z"), "far": ("z", "w")}
rows: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)), max_size=5
)
instants = st.lists(st.tuples(rows, rows, rows, rows), min_size=1, max_size=8)


def _product(left: Given, right: Given, output: tuple[str, ...]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for one in left.held.elements():
        for other in right.held.elements():
            row = dict(zip(left.variables, one, strict=True))
            if all(row.setdefault(n, v) == v for n, v in zip(right.variables, other, strict=True)):
                found[tuple(row[name] for name in output)] += 1
    return found


@given(
    instants,
    st.sampled_from(["right", "far"]),
    st.sampled_from([None, ("x", "z"), ("z", "y", "x"), ("x",), ()]),
)
def test_a_join_keeps_step_and_never_claims_to_be_apart_when_it_is_not(
    changes: list[tuple[list[Row], ...]], second: str, output: tuple[str, ...] | None
) -> None:
    left, right = Given(VARIABLES["left"]), Given(VARIABLES[second])
    join = JoinOperator(left, right, output)
    held: Counter[Row] = Counter()
    for left_added, left_removed, right_added, right_removed in changes:
        left.become(left_added, left_removed)
        right.become(right_added, right_removed)
        join.flush()
        if join.apart:
            assert not set(join.added) & set(join.removed)
        held.update(join.added)
        held.subtract(join.removed)
        assert +held == held == _product(left, right, join.variables)
        assert Counter(join.rows()) == +held
        join.added, join.removed = [], []


def test_rows_that_differ_in_nothing_else_are_apart() -> None:
    left, right = Given(("x",)), Given(("y",))
    a, b = [(each,) for each in TERMS[:2]]
    join = JoinOperator(left, right)
    for source in (left, right):
        source.become([a], [])
    join.flush()
    join.added = []
    for source in (left, right):
        source.become([b], [a])
    join.flush()
    assert join.added
    assert join.removed
    assert join.apart
