"""Queries of a network come and go, and the answers of the others stay right."""

from __future__ import annotations

from hypothesis import assume, given, settings

from sensorstream.errors import NotIncremental
from sensorstream.sparql.algebra import Pattern
from tests.network.in_step import Change, World, _deaf, changes, follow, selected
from tests.network.oracle import patterns


@settings(max_examples=60)
@given(first=patterns(depth=2), second=patterns(depth=2), stream=changes)
def test_queries_come_and_go_while_others_run(
    first: Pattern, second: Pattern, stream: list[list[Change]]
) -> None:
    world = World()
    try:
        plans = [world.plan(selected(each)) for each in (first, second)]
    except NotIncremental:
        assume(False)
        return
    one, other = map(world.build, plans)
    world.network.listen(one, _deaf)
    world.network.listen(other, _deaf)
    for instant in stream:
        for change in instant:
            world.toggle(change)
        world.network.settle()
    world.network.leave(one, _deaf)
    for summed, whole, expected in follow(world, selected(second), stream, fallback=False):
        assert summed == expected
        assert whole == expected
    world.network.leave(other, _deaf)
