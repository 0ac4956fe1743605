from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.reasoning.dl.quickxplain import minimal_conflict

ITEMS = st.integers(0, 11)
CONFLICTS = st.lists(st.frozensets(ITEMS, max_size=5), min_size=1, max_size=4)


@given(conflicts=CONFLICTS, order=st.permutations(range(12)))
def test_what_is_found_conflicts_and_no_part_of_it_does(
    conflicts: list[frozenset[int]], order: list[int]
) -> None:
    def conflict(chosen: Sequence[int]) -> bool:
        return any(each <= set(chosen) for each in conflicts)

    found = minimal_conflict(order, conflict)
    assert conflict(found)
    assert not any(conflict([x for x in found if x != one]) for one in found)


def test_few_questions_find_a_small_conflict_among_many() -> None:
    asked = 0

    def conflict(chosen: Sequence[int]) -> bool:
        nonlocal asked
        asked += 1
        return {7, 900} <= set(chosen)

    assert sorted(minimal_conflict(range(1000), conflict)) == [7, 900]
    assert asked < 50


def test_early_candidates_are_preferred() -> None:
    assert minimal_conflict("abc", lambda chosen: "a" in chosen or "c" in chosen) == ["a"]
