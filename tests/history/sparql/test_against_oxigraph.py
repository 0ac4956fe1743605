"""Random patterns on random graphs: PostgreSQL's answer is Oxigraph's."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Pattern, Query, Select
from tests.history.sparql.world import World
from tests.network.in_step import ANCHOR, has_fixed_path, selected
from tests.network.oracle import GRAPHS, LITERALS, NODES, Oracle, patterns, triples, values

data_sets = st.lists(st.tuples(triples, st.sampled_from((None, None, None, *GRAPHS))), max_size=14)


def both_answers(
    world: Any, data: list[tuple[Triple, IRI | None]], pattern: Pattern
) -> tuple[dict[Any, int], dict[Any, int]]:
    """The solutions with their numbers: of a world, of history or archive, and of Oxigraph."""
    project = selected(pattern)
    oracle = Oracle()
    graphs: dict[IRI | None, list[Triple]] = {None: [], **{name: [] for name in GRAPHS}}
    # A graph without triples does not exist for Oxigraph; and a path of length zero begins at any
    # constant, which Oxigraph finds at nodes only.
    wanted = (*NODES, *LITERALS) if has_fixed_path(project) else NODES[:1]
    anchors = [((NODES[0], ANCHOR, term), graph) for graph in graphs for term in wanted]
    for triple, graph in (*data, *anchors):
        graphs[graph].append(triple)
        oracle.add(triple, graph)
    world.forget()
    query = world.compiled(Query(Select(project)), world.load(graphs))
    return dict(values(world.answer(query))), dict(oracle.answer(project))


@settings(max_examples=120)
@given(data=data_sets, pattern=patterns())
def test_a_pattern_has_the_solutions_of_oxigraph(
    world: World, data: list[tuple[Triple, IRI | None]], pattern: Pattern
) -> None:
    found, expected = both_answers(world, data, pattern)
    assert found == expected
