"""A path of one or more steps equals its definition, however steps come and go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.node import Node
from sensorstream.network.operators.path_closure import ClosureOperator
from sensorstream.network.rows import Row
from tests.network.operators.given_rows import Given
from tests.network.operators.walked_closure import WalkedClosure

VERTICES: list[Any] = [IRI(f"http://example.org/{name}") for name in "abcdefgh"]
steps = st.tuples(st.sampled_from(VERTICES), st.sampled_from(VERTICES))
few_steps = st.tuples(st.sampled_from(VERTICES[:4]), st.sampled_from(VERTICES[:4]))
# A step comes (again), or the step at this place goes, once or altogether.
places = st.integers(0, 30)
changes = st.one_of(
    st.tuples(st.just("come"), st.one_of(steps, few_steps)),
    st.tuples(st.sampled_from(("go", "vanish", "vanish")), places),
)
streams = st.lists(st.lists(changes, min_size=1, max_size=6), min_size=1, max_size=8)
fixed = st.sampled_from(
    ((None, None), (VERTICES[0], None), (None, VERTICES[1]), tuple(VERTICES[:2]))
)


class Steps(Given):
    """Steps as a test says, as often as it says."""

    def __init__(self) -> None:
        super().__init__(("one", "other"))

    def come(self, step: Row) -> None:
        self.held[step] += 1
        self.added.append(step)

    def go(self, step: Row) -> None:
        self.held[step] -= 1
        self.removed.append(step)


class Machine:
    """A closure over steps, and the sum of its changes."""

    def __init__(self, source: Steps, ends: tuple[Any, Any], kind: Any = ClosureOperator) -> None:
        self.source = source
        self.node: Node = kind(source, ("one", "other"), *ends)
        self.node.load()
        self.held = Counter(self.node.rows())

    def settle(self) -> None:
        self.node.flush()
        self.held.update(self.node.added)
        self.held.subtract(self.node.removed)
        for node in (self.node, self.source):
            node.added, node.removed = [], []


def closed(held: Counter[Row], ends: tuple[Any, Any]) -> set[Row]:
    """The definition; where both ends are fixed, the beginning counts."""
    reached = {step for step, count in held.items() if count}
    while more := {(a, d) for a, b in reached for c, d in reached if b == c} - reached:
        reached |= more
    start, end = ends
    if start is not None:
        return {pair for pair in reached if pair[0] == start}
    return {pair for pair in reached if end is None or pair[1] == end}


def work(source: Steps, instant: list[tuple[str, Any]]) -> None:
    for kind, what in instant:
        held = [step for step, count in source.held.items() if count]
        if kind == "come":
            source.come(what)
        elif held:
            step = held[what % len(held)]
            for _ in range(1 if kind == "go" else source.held[step]):
                source.go(step)


@settings(max_examples=150)
@given(before=st.lists(steps, max_size=14), ends=fixed, stream=streams)
def test_the_closure_is_kept_in_step(
    before: list[Row], ends: tuple[Any, Any], stream: list[list[tuple[str, Any]]]
) -> None:
    source = Steps()
    source.held.update(before)
    machine = Machine(source, ends)
    assert set(machine.held) == closed(source.held, ends)
    for instant in stream:
        work(source, instant)
        machine.settle()
        expected = closed(source.held, ends)
        assert {pair: count for pair, count in machine.held.items() if count} == dict.fromkeys(
            expected, 1
        )
        assert Counter(machine.node.rows()) == Counter(expected)


def ring(size: int) -> list[Row]:
    names: list[Any] = [IRI(f"http://example.org/{number}") for number in range(size)]
    return [(names[place], names[(place + 1) % size]) for place in range(size)]


@pytest.mark.parametrize("kind", [ClosureOperator, WalkedClosure])
def test_a_chord_changes_no_pair_of_a_ring_and_a_cut_half_of_them(kind: Any) -> None:
    source = Steps()
    around = ring(40)
    source.held.update(around)
    machine = Machine(source, (None, None), kind)
    chord = (around[3][0], around[20][0])
    for change in (source.come, source.go):
        change(chord)
        machine.node.flush()
        assert (machine.node.added, machine.node.removed) == ([], [])
        machine.settle()
    source.go(around[0])
    machine.settle()
    assert sum(machine.held.values()) == 40 * 39 // 2


def test_a_ring_of_components_is_kept_once_for_all_members() -> None:
    source = Steps()
    source.held.update(ring(400))
    assert Machine(source, (None, None)).node.size() < 1000
