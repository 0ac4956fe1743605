from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.network.graph_components import components

edges = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))


@given(edges)
def test_members_reach_each_other_and_components_come_after_those_they_lead_to(
    steps: set[tuple[int, int]],
) -> None:
    found = components(range(8), lambda node: [b for a, b in sorted(steps) if a == node])
    reached = {(n, n) for n in range(8)} | steps
    while more := {(a, d) for a, b in reached for c, d in reached if b == c} - reached:
        reached |= more
    place = {node: number for number, members in enumerate(found) for node in members}
    assert sorted(place) == list(range(8))
    for a in range(8):
        for b in range(8):
            together = (a, b) in reached and (b, a) in reached
            assert (place[a] == place[b]) == together
            if (a, b) in reached:
                assert place[a] >= place[b]


def test_a_long_chain_is_no_matter() -> None:
    found = components(range(50_000), lambda node: [node + 1] if node < 49_999 else [])
    assert found[0] == [49_999]
