"""Triples that are derived, asserted, or both: marks and changes of the graph."""

from __future__ import annotations

from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Delta
from sensorstream.network.network import Network
from sensorstream.network.rows import Row
from tests.network.recursion.world import TRANSITIVE, World, fact, ring, rule, toggle


def test_what_is_asserted_and_derived_stays_when_either_goes() -> None:
    world = World([TRANSITIVE])
    toggle(world, "x p y", "y p z", "x p z")
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW | Origin.INFERRED
    assert toggle(world, "x p z") == Delta(2)
    assert world.kb.origins(fact("x p z")) == Origin.INFERRED
    toggle(world, "x p z")
    assert toggle(world, "y p z").removed == (fact("x p z"),)
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW


def test_a_query_sees_what_comes_back_as_unchanged() -> None:
    world = World([TRANSITIVE])
    network = Network()
    query = rule("", "{ ?x :p ?y } WHERE { ?x :p ?y }").body
    node = world.build(network, query)
    toggle(world, *ring(4))
    network.listen(node, lambda added, removed: None)
    network.settle()
    told: list[tuple[list[Row], list[Row]]] = []
    network.listen(node, lambda added, removed: told.append(node.change()))
    toggle(world, "n0 p n2")
    network.settle()
    toggle(world, "n0 p n2")
    network.settle()
    assert all(change == ([], []) for change in told)
