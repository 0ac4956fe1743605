"""A delta join finds each solution once as triples come and go, and loses it once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.network.network import Network
from sensorstream.network.operators import delta_join
from sensorstream.network.operators.delta_join import DeltaJoin, Pattern, guard_of
from sensorstream.network.rows import Row
from tests.network.naive_match import (
    NODES,
    STEPS,
    X,
    Y,
    Z,
    changes,
    contents,
    patterns,
    solutions,
    toggle,
)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 1), patterns), min_size=1, max_size=3, unique=True),
    st.booleans(),
    contents,
    st.lists(changes, min_size=1, max_size=5),
)
def test_the_solutions_are_those_of_all_triples_that_fit(
    asked: list[tuple[int, Any]], tested: bool, before: Any, stream: Any
) -> None:
    network, indexes = Network(), (TripleIndex(), TripleIndex())
    toggle(indexes, before)
    names = sorted({end.name for _, ends in asked for end in ends if end in (X, Y, Z)})
    looked_at = tuple(names[:2])
    tests = [delta_join.Test(looked_at, lambda row: NODES[1] in row)] if tested else []
    found = [Pattern(indexes[number], *ends) for number, ends in asked]
    node = network.share("join", lambda: DeltaJoin(found, tests, names, network.dispatcher))
    held = Counter(node.rows())

    def listen(added: list[Row], removed: list[Row]) -> None:
        held.update(added)
        held.subtract(removed)

    network.listen(node, listen)
    for instant in [[], *stream]:
        toggle(indexes, instant)
        network.settle()
        graphs = [(indexes[number], ends) for number, ends in asked]
        expected = solutions(
            graphs, names, lambda b: not tested or NODES[1] in [b[name] for name in looked_at]
        )
        assert held == expected
        assert Counter(node.rows()) == expected
    network.leave(node, listen)
    assert not any(index.watchers for index in indexes)


def test_the_guard_is_what_selects_most_of_the_subjects() -> None:
    index = TripleIndex()
    fired = Pattern(index, X, STEPS[0], Y)
    typed = Pattern(index, X, rdf.TYPE, NODES[0])
    named = Pattern(index, X, STEPS[1], NODES[1])
    elsewhere = Pattern(TripleIndex(), X, STEPS[1], NODES[1])
    assert guard_of(fired, [fired]) is None
    assert guard_of(fired, [fired, typed]) == (rdf.TYPE, NODES[0])
    assert guard_of(fired, [typed, named, fired]) == (STEPS[1], NODES[1])
    assert guard_of(fired, [fired, elsewhere, Pattern(index, Z, STEPS[1], NODES[1])]) is None
    assert guard_of(named, [named, typed]) is None
    assert guard_of(Pattern(index, NODES[2], STEPS[0], Y), [fired]) == NODES[2]
