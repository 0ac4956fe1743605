"""Units of triples: each triple that mentions a cluster is in the block of one key."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import owl
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.network.recursion.clusters import (
    Cluster,
    Clusters,
    beyond,
    block_of,
    triples_of,
    values_of,
)

NAMES: list[Any] = [*(IRI(f"ex:{name}") for name in "abcdef"), BlankNode("_:n")]
VALUE = Literal("v")
places = st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True).map(tuple)
blocks: Any = st.tuples(places, places, places)


@settings(max_examples=250)
@given(blocks, st.lists(st.tuples(*[st.integers(1, 3)] * 3), max_size=3))
def test_what_is_beyond_parts_is_in_none_of_them(block: Any, sizes: list[Any]) -> None:
    parts = [tuple(p[-n:] for p, n in zip(block, each, strict=True)) for each in sizes]
    found = list(beyond(block, parts))
    assert len(found) == len(set(found))
    assert set(found) == set(product(*block)).difference(*(product(*each) for each in parts))


@given(
    sets=st.lists(st.sampled_from(range(3)), min_size=7, max_size=7),
    properties=st.booleans(),
    literals=st.booleans(),
)
def test_a_triple_is_in_the_block_of_its_key(
    sets: list[int], properties: bool, literals: bool
) -> None:
    clusters = Clusters(properties=properties, literals=literals)
    # Names of set 2 are in no cluster.
    made = [Cluster(n for n, at in zip(NAMES, sets, strict=True) if at == s) for s in range(2)]
    for each in made:
        clusters.at.update(dict.fromkeys(each.members, each))
    for triple in product(NAMES[:5], (*NAMES[3:6], owl.SAME_AS), (*NAMES, VALUE)):
        key = clusters.key(triple)
        if key is None:
            assert clusters.unit(triple) is None
            asked = (*triple[::2], triple[1]) if properties else triple[::2]
            left_out = triple[2] == VALUE and not literals and triple[1] != owl.SAME_AS
            assert left_out or not clusters.at.keys() & set(asked)
            continue
        unit = clusters.give(triple)
        assert clusters.unit(triple) is unit
        assert triple in unit.own
        block = set(triples_of(block_of(key)))
        assert triple in block
        assert {clusters.key(each) for each in block if literals or each[2] != VALUE} <= {key}
        assert all(isinstance(p, IRI) for _, p, _ in block)
        assert clusters.property(triple[1]) == key[1]
    units = list(clusters.units.values())
    assert [unit.key for unit in units] == [*clusters.units]
    for each in made:
        each.values[VALUE] = None
        assert [*each.units] == [unit for unit in units if each in unit.key]
    for unit in units:
        assert list(values_of(unit.key)) == ([VALUE] if unit.key[2] in made else [])
        clusters.drop(unit)
        assert not clusters.is_there(unit)
    assert not clusters.units
    assert not any(each.units for each in made)
