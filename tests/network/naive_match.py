"""Random triple patterns over two graphs, and their solutions by trying all triples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from sensorstream.kb import triple_index
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.plan.nodes import End
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Variable

NODES: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "abc")
STEPS: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "pq")
_PROPERTIES = (*STEPS, rdf.TYPE)
X, Y, Z = VARIABLES = tuple(map(Variable, "xyz"))

triples = st.tuples(st.sampled_from(NODES), st.sampled_from(_PROPERTIES), st.sampled_from(NODES))
ends = st.sampled_from([*VARIABLES, *VARIABLES, *NODES[:2]])
patterns = st.tuples(ends, st.sampled_from([*_PROPERTIES, *_PROPERTIES, X]), ends)
changes = st.lists(st.tuples(st.integers(0, 1), triples), min_size=1, max_size=4)
"""The graph and the triple that comes, or goes if it is there."""
contents = st.lists(st.tuples(st.integers(0, 1), triples), min_size=8, max_size=24, unique=True)
"""What graphs that are empty become, so that most patterns have solutions."""


def toggle(indexes: Sequence[TripleIndex], instant: Iterable[tuple[int, Triple]]) -> None:
    """Change each index at once; what goes and comes again stays."""
    instant = list(instant)
    for number, index in enumerate(indexes):
        times = Counter(triple for at, triple in instant if at == number)
        odd = [triple for triple, count in times.items() if count % 2]
        gone = [triple for triple in odd if triple in index]
        # However few there are, those of a kind come together.
        with mock.patch.object(triple_index, "_FEW", 2):
            index.discard(*gone)
            index.add(*(triple for triple in odd if triple not in gone))


def solutions(
    asked: Sequence[tuple[Iterable[Triple], tuple[End, End, End]]],
    output: Sequence[str],
    holds: Callable[[dict[str, Any]], bool] = lambda bound: True,
) -> Counter[Row]:
    """The solutions of patterns, each over its graph, as some variables."""
    found: Counter[Row] = Counter()
    for chosen in product(*(list(graph) for graph, _ in asked)):
        bound: dict[str, Any] = {}
        if all(
            bound.setdefault(end.name, term) == term if isinstance(end, Variable) else end == term
            for (_, pattern), triple in zip(asked, chosen, strict=True)
            for end, term in zip(pattern, triple, strict=True)
        ) and holds(bound):
            found[tuple(bound[name] for name in output)] += 1
    return found
