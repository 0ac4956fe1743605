"""Operators made of plans: what they say of their rows, and that nothing of them stays."""

from __future__ import annotations

from hypothesis import given, settings

from sensorstream.errors import NotIncremental
from sensorstream.network.plan.planner import anew
from sensorstream.sparql.algebra import Pattern
from tests.network.in_step import SOURCES, World, _deaf, selected
from tests.network.oracle import patterns


@settings(max_examples=30)
@given(pattern=patterns())
def test_a_network_without_queries_holds_nothing(pattern: Pattern) -> None:
    world = World()
    try:
        plan = world.plan(selected(pattern))
    except NotIncremental:
        plan = anew(selected(pattern), SOURCES, None, NotIncremental("a test"))
    assert len(world.network) == 0
    node = world.build(plan)
    world.network.listen(node, _deaf)
    assert node.variables == plan.variables
    assert node.certain >= plan.certain
    world.network.leave(node, _deaf)
    assert len(world.network.copies) == 0
    assert len(world.network) == 0
