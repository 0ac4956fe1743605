"""The variables of a graph that a rule over time has made."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import TriplePattern, Variable
from sensorstream.streams.selection_rules import values_of

NAMES = [IRI(f"http://e/{each}") for each in "pq"]


def pattern(predicate: IRI, name: str) -> TriplePattern:
    return TriplePattern(IRI("http://e/s"), predicate, Variable(name))


def alignments(template: list[TriplePattern], triples: list[Triple]) -> list[dict[str, Any]]:
    """The definition: every way in which triples can be left out of the template."""
    return [
        {template[n].object.name: triple[2] for n, triple in zip(kept, triples, strict=True)}  # type: ignore[union-attr]
        for kept in combinations(range(len(template)), len(triples))
        if all(template[n].predicate == t[1] for n, t in zip(kept, triples, strict=True))
    ]


@settings(max_examples=60)
@given(
    predicates=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5),
    left_out=st.sets(st.integers(0, 4)),
)
def test_a_variable_has_a_value_if_it_is_certain(predicates: list[IRI], left_out: set[int]) -> None:
    template = [pattern(each, f"v{n}") for n, each in enumerate(predicates)]
    triples: list[Triple] = [
        (IRI("http://e/s"), each, IRI(f"http://e/value{n}"))
        for n, each in enumerate(predicates)
        if n not in left_out
    ]
    ways = alignments(template, triples)
    certain = {
        name: value
        for name, value in ways[0].items()
        if all(each.get(name) == value for each in ways)
    }
    assert values_of(template, triples) == certain
