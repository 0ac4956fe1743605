"""OPTIONAL, MINUS and EXISTS are kept in step with their definitions, with unbound variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.operators.join import Sides
from sensorstream.network.operators.matching import Matching, MatchTest, mark, minus, optional
from sensorstream.network.plan.nodes import ConstantPlan, LeftJoinPlan, Mark, MinusPlan
from sensorstream.network.rows import Row
from sensorstream.sparql.values import FALSE, TRUE
from tests.network.operators.given_rows import Change, Given, keeps_step

NAMES: list[Any] = [IRI(f"ex:{name}") for name in "ab"]
LEFT, RIGHT = ("x", "y", "z"), ("y", "z", "w")
WHOLE = (*LEFT, "w")
# Sometimes y is always bound, and z is; w is in neither test of agreement.
bound, either = st.sampled_from(NAMES), st.sampled_from([*NAMES, None])
ONE, OTHER = ConstantPlan(LEFT, ()), ConstantPlan(RIGHT, ())


def changes(*cells: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Change]]]:
    left = st.lists(st.tuples(either, *cells), max_size=4)
    right = st.lists(st.tuples(*cells, either), max_size=4)
    change = st.tuples(st.tuples(left, left), st.tuples(right, right))
    return st.lists(change.map(list), min_size=1, max_size=6)


def together(left: Row, right: Row) -> dict[str, Any] | None:
    """The union of two solutions; None: they are not compatible (section 18.3)."""
    found = dict(zip(LEFT, left, strict=True))
    for name, term in zip(RIGHT, right, strict=True):
        if found.get(name) is None:
            found[name] = term
        elif term is not None and term != found[name]:
            return None
    return found


def holds(row: Row) -> bool:
    return row[0] == row[3]


def optional_rows(row: Row, rights: list[Row], tested: bool) -> Iterator[Row]:
    joined = [both for right in rights if (both := together(row, right)) is not None]
    rows = [tuple(each[name] for name in WHOLE) for each in joined]
    fitting = [each for each in rows if not tested or holds(each)]
    yield from fitting or [(*row, None)]


def minus_rows(row: Row, rights: list[Row], tested: bool) -> Iterator[Row]:
    def shares(right: Row) -> bool:
        pairs = zip(row[1:], right[:2], strict=True)
        return any(one is not None and other is not None for one, other in pairs)

    if not any(together(row, right) is not None and shares(right) for right in rights):
        yield row


def marked_rows(row: Row, rights: list[Row], tested: bool) -> Iterator[Row]:
    joined = [both for right in rights if (both := together(row, right)) is not None]
    rows = [tuple(each[name] for name in WHOLE) for each in joined]
    yield (*row, TRUE if any(not tested or holds(each) for each in rows) else FALSE)


Defined = Callable[[Row, list[Row], bool], Iterator[Row]]
KINDS: dict[str, tuple[Any, Callable[[Sides, bool], MatchTest], Defined]] = {
    "optional": (
        LeftJoinPlan(ONE, OTHER, None),
        lambda sides, tested: optional(sides, (None,), holds if tested else None),
        optional_rows,
    ),
    "minus": (MinusPlan(ONE, OTHER), lambda sides, tested: minus(sides), minus_rows),
    "exists": (
        Mark(ONE, OTHER, (), "found"),
        lambda sides, tested: mark(sides, holds if tested else None),
        marked_rows,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@given(
    known=st.sampled_from(["", "y", "yz"]).flatmap(
        lambda names: st.tuples(
            st.just(names), changes(*[bound if name in names else either for name in "yz"])
        )
    ),
    tested=st.booleans(),
)
def test_left_rows_are_given_out_as_their_matches_say(
    kind: str, known: tuple[str, list[list[Change]]], tested: bool
) -> None:
    plan, question, defined = KINDS[kind]
    left, right = Given(LEFT, known[0]), Given(RIGHT, known[0])
    node = Matching(plan, left, right, question(Sides(left, right), tested))

    def expected() -> Iterator[Row]:
        rights = list(right.held.elements())
        for row in left.held.elements():
            yield from defined(row, rights, tested)

    keeps_step(node, known[1], expected)
    assert node.size() == 0
