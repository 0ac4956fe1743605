"""Triples that are derived, asserted, or both: marks and changes of the graph."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.network import Network
from sensorstream.network.recursion.derived_triples import Derived
from sensorstream.network.rows import Row
from tests.network.naive_match import NODES, STEPS
from tests.network.recursion.world import TRANSITIVE, World, ring, rule, toggle


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


few: Any = st.sampled_from(list(product(NODES[:2], STEPS[:1], NODES[:2])))


@settings(max_examples=200)
@given(
    st.sets(few, max_size=1),
    st.lists(st.lists(st.tuples(st.integers(0, 3), few), max_size=8), max_size=6),
)
def test_a_triple_is_derived_as_long_as_a_stratum_derives_it(
    static: set[Triple], stream: list[list[Any]]
) -> None:
    kb, bereft = KnowledgeBase(), list[Triple]()
    kb.add(Origin.STATIC, static)
    derived = Derived(kb, Origin.INFERRED, bereft.append, Origin.STATIC)
    # What each of three strata derives, and what is asserted.
    *strata, asserted = held = [set[Triple]() for _ in range(4)]
    before: set[Triple] = set()
    for instant in stream:
        for number, triple in instant:
            comes = triple not in held[number]
            held[number] ^= {triple}
            bereft.clear()
            if number < 3:
                (derived.add if comes else derived.remove)([triple])
            else:
                delta = Delta(0, (triple,), ()) if comes else Delta(0, (), (triple,))
                kb.apply(Origin.WINDOW, delta)
            reasons = sum(triple in each for each in strata)
            # What follows from itself alone may be left.
            doubtful = not comes and reasons and triple not in static
            assert bereft == ([triple] if doubtful else [])
        now = set().union(*strata) - static
        assert set(kb.triples(Origin.INFERRED)) == now
        change = derived.taken()
        assert (set(change.added), set(change.removed)) == (now - before, before - now)
        for each in now:
            several = sum(each in stratum for stratum in strata) > 1
            assert derived.elsewhere(each) is (several or each in asserted)
        before = now
    derived.clear()
    assert set(derived.taken().removed) == before
    assert not list(kb.triples(Origin.INFERRED))
