"""After every instant the network's answer is Oxigraph's answer on the same graphs."""

from __future__ import annotations

from hypothesis import given, settings

from sensorstream.sparql.algebra import Pattern
from tests.network.in_step import Change, World, changes, follow, selected
from tests.network.oracle import patterns


@settings(max_examples=120)
@given(before=changes, pattern=patterns(), stream=changes)
def test_a_pattern_is_kept_in_step(
    before: list[list[Change]], pattern: Pattern, stream: list[list[Change]]
) -> None:
    world = World()
    for instant in before:
        for change in instant:
            world.toggle(change)
    for summed, whole, expected in follow(world, selected(pattern), stream, fallback=False):
        assert summed == expected
        assert whole == expected
