"""Equal shapes, and only they, share an answer."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.datatypes import XSD_INTEGER
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.gate import Axioms
from sensorstream.reasoning.dl.memo import Memo
from sensorstream.reasoning.dl.probes import Entailed
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.value_classes import ValueClasses

COUNT = 4
numbers = st.integers(0, COUNT - 1)
islands = st.builds(
    IslandFacts,
    st.lists(st.sampled_from([None, None, "urn:x:named"]), min_size=COUNT, max_size=COUNT),
    st.lists(st.tuples(numbers, st.sampled_from(["urn:x:A", "urn:x:B"])), max_size=4),
    st.lists(st.tuples(numbers, st.sampled_from(["urn:x:p", "urn:x:q"]), numbers), max_size=4),
    st.lists(
        st.tuples(
            numbers,
            st.just("urn:x:d"),
            st.sampled_from(["1", "2"]),
            st.just(XSD_INTEGER),
            st.none(),
        ),
        max_size=2,
    ),
    st.lists(st.tuples(numbers, numbers), max_size=1),
    st.lists(st.tuples(numbers, numbers), max_size=1),
)


def memo(size: int = 10) -> Memo:
    return Memo(ValueClasses(Axioms([]), frozenset()), size)


def renumbered(facts: IslandFacts, place: list[int]) -> IslandFacts:
    names: list[str | None] = [None] * len(place)
    for number, name in enumerate(facts.names):
        names[place[number]] = name
    return IslandFacts(
        names,
        [(place[n], c) for n, c in facts.types],
        [(place[n], p, place[m]) for n, p, m in facts.links],
        [(place[n], p, text, kind, tag) for n, p, text, kind, tag in facts.values],
        [(place[n], place[m]) for n, m in facts.same],
        [(place[n], place[m]) for n, m in facts.different],
    )


def portrait(facts: IslandFacts) -> list[Entailed]:
    """An answer that tells everything about the facts, so that no mistake goes unseen."""
    return [
        Entailed(
            frozenset(
                IRI(each)
                for each in (
                    *(c for m, c in facts.types if m == n),
                    f"urn:name:{facts.names[n]}",
                    *("urn:valued" for m, *_ in facts.values if m == n),
                    *("urn:different" for m, k in facts.different if n == m),
                )
            ),
            frozenset((IRI(p), m) for k, p, m in facts.links if k == n),
            frozenset(),
            frozenset(m for k, m in facts.same if k == n),
        )
        for n in range(len(facts.names))
    ]


@given(facts=islands, seed=st.integers(0, 1000))
def test_a_remembered_answer_is_the_answer_whatever_the_numbers(
    facts: IslandFacts, seed: int
) -> None:
    held = memo()
    shape = held.shape(facts, False)
    assert shape is not None
    assert held.look_up(shape) is None
    held.store(shape, portrait(facts))
    place = list(range(COUNT))
    random.Random(seed).shuffle(place)
    moved = renumbered(facts, place)
    again = held.shape(moved, False)
    assert again is not None
    found = held.look_up(again)
    # Members that look alike may be numbered in either way: then it is a miss, never a mistake.
    if found is not None:
        assert list(found[0] or ()) == portrait(moved)
    assert held.hits + held.misses == 2


@given(one=islands, other=islands)
def test_different_islands_have_different_shapes(one: IslandFacts, other: IslandFacts) -> None:
    held = memo()
    first, second = held.shape(one, False), held.shape(other, False)
    assert first is not None
    assert second is not None
    if first.key == second.key:
        held.store(first, portrait(one))
        found = held.look_up(second)
        assert found is not None
        assert list(found[0] or ()) == portrait(other)


def test_a_chain_is_recognised_from_either_end() -> None:
    chain = IslandFacts([None] * 4, [], [(n, "urn:x:p", n + 1) for n in range(3)], [], [], [])
    held = memo()
    shape = held.shape(chain, False)
    assert shape is not None
    held.store(shape, None)
    again = held.shape(renumbered(chain, [3, 1, 0, 2]), False)
    assert again is not None
    assert held.look_up(again) == (None,)
    assert (held.hits, held.misses) == (1, 0)


def test_the_oldest_answer_is_forgotten() -> None:
    held = memo(2)
    empty = IslandFacts([None], [], [], [], [], [])
    shapes = [held.shape(replace(empty, types=[(0, f"urn:x:{n}")]), False) for n in range(3)]
    for shape in shapes:
        assert shape is not None
        held.store(shape, [Entailed()])
    assert [held.look_up(shape) is None for shape in shapes if shape] == [True, False, False]


def test_without_room_nothing_is_remembered() -> None:
    assert memo(0).shape(IslandFacts([None], [], [], [], [], []), False) is None
