"""Queries of a network come and go, and the answers of the others stay right."""

from __future__ import annotations

from hypothesis import assume, given, settings

from sensorstream.errors import NotIncremental
from sensorstream.model.terms import IRI
from sensorstream.network.network import Network
from sensorstream.network.operators.row_operators import DistinctOperator
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Pattern
from tests.network.in_step import Change, World, _deaf, changes, follow, selected
from tests.network.operators.given_rows import Given
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


def test_an_operator_goes_with_its_last_user_and_what_is_below_it_with_it() -> None:
    network, given_ = Network(), Given("x")
    source = network.share("source", lambda: given_)
    one, other = (
        network.share(name, lambda: DistinctOperator(source)) for name in ("one", "other")
    )
    heard: list[list[Row]] = []

    def listen(added: list[Row], removed: list[Row]) -> None:
        heard.append(added)

    for node in (one, other):
        network.listen(node, listen)
    assert network.share("one", lambda: DistinctOperator(source)) is one
    row: Row = (IRI("ex:a"),)
    given_.become([row], [])
    network.wake(source)
    network.wake(one)
    network.leave(one, listen)
    network.settle()
    assert heard == [[row]]
    assert [*network.nodes()] == [source, other]
    network.wake(source)
    network.leave(other, listen)
    assert len(network) == len(network._queue) == 0
