"""What is reachable, of all pairs or from one origin, as the steps come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.reachability import AllPairs, OneOrigin, Pair, Reach, StepGraph

VERTICES: list[Any] = [IRI(f"ex:{name}") for name in "abcde"]
vertices = st.sampled_from(VERTICES)
pairs = st.tuples(vertices, vertices)
weights = st.dictionaries(pairs, st.sampled_from([-9, -9, -1, 1, 2]), max_size=8)
REACHES: dict[str, Callable[[StepGraph], Reach]] = {
    "all pairs": lambda steps: AllPairs(steps, lambda pairs: None),
    "one origin": lambda steps: OneOrigin(steps, VERTICES[0]),
}


def closed(steps: Counter[Pair], kind: str) -> Counter[Pair]:
    """The definition: the pairs that steps, one after the other, connect."""
    found = set(steps)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return Counter(pair for pair in found if kind == "all pairs" or pair[0] == VERTICES[0])


@pytest.mark.parametrize("kind", REACHES)
@settings(max_examples=200)
@given(
    before=st.dictionaries(pairs, st.integers(1, 2), max_size=12),
    stream=st.lists(weights, max_size=8),
)
def test_the_pairs_are_those_that_steps_connect(
    kind: str, before: dict[Pair, int], stream: list[dict[Pair, int]]
) -> None:
    steps, held = StepGraph(), Counter[Pair]()

    def take(asked: dict[Pair, int]) -> tuple[list[Pair], list[Pair]]:
        # No more steps go than are there.
        change = {pair: max(weight, -held[pair]) for pair, weight in asked.items()}
        change = {pair: weight for pair, weight in change.items() if weight}
        old = set(+held)
        held.update(change)
        won, lost = steps.take(change)
        assert (set(won), set(lost)) == (set(+held) - old, old - set(+held))
        return won, lost

    take(before)
    reach = REACHES[kind](steps)
    summed = Counter(reach.pairs())
    for change in stream:
        added, removed = reach.change(*take(change))
        summed.update(added)
        summed.subtract(removed)
        assert summed == Counter(reach.pairs()) == closed(+held, kind)
    reach.change(*take({pair: -weight for pair, weight in held.items()}))
    assert (reach.size(), steps.forward, steps.back) == (0, {}, {})
