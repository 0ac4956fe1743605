"""Estimates of solutions: exact where an index has counted, and less where more is bound."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.pattern_cost import expected_rows, fan_out
from tests.network.naive_match import NODES, STEPS, X, Y, Z, triples


@given(st.sets(triples, min_size=1))
def test_triples_of_a_property_are_counted(content: set[Triple]) -> None:
    index = TripleIndex()
    for triple in content:
        index.add(triple)
    for step in {p for _, p, _ in content}:
        told = [(s, o) for s, p, o in content if p == step]
        objects = {o for _, o in told}
        assert fan_out(index, (X, step, Y), ()) == len(told)
        assert fan_out(index, (X, step, Y), {"y"}) == len(told) / len(objects)
        for node in objects:
            count = sum(o == node for _, o in told)
            assert fan_out(index, (X, step, node), ()) == max(2, count)
        assert expected_rows([(index, (X, step, Y)), (index, (Y, step, Z))]) == pytest.approx(
            len(told) * 1.2
        )


@pytest.mark.parametrize("ends", [(X, STEPS[0], Y), (X, Z, Y), (X, Z, NODES[0])])
def test_more_bound_variables_give_no_more_triples(ends: Any) -> None:
    index = TripleIndex()
    for node in NODES:
        for other in NODES:
            index.add((node, STEPS[0], other))
    for number in range(3):
        for names in combinations("xyz", number):
            for more in {"x", "y", "z"}.difference(names):
                assert fan_out(index, ends, {*names, more}) <= fan_out(index, ends, names)


def test_a_class_without_instances_is_looked_at_last_and_another_constant_first() -> None:
    index = TripleIndex()
    for number in range(50):
        index.add((IRI(f"ex:{number}"), STEPS[0], NODES[0]))
    costs = [fan_out(index, (X, *ends), ()) for ends in ((STEPS[0], NODES[1]), (STEPS[0], Y))]
    assert costs == [2, 50]
    assert fan_out(index, (X, rdf.TYPE, NODES[0]), ()) > 50
