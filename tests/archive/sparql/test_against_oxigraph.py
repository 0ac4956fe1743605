"""Random patterns on random graphs: DuckDB's answer is Oxigraph's."""

from __future__ import annotations

from hypothesis import given, settings

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Pattern, Query, Select
from tests.archive.sparql.world import World
from tests.history.sparql.test_against_oxigraph import data_sets
from tests.network.in_step import ANCHOR, has_fixed_path, selected
from tests.network.oracle import GRAPHS, LITERALS, NODES, Oracle, patterns, values


@settings(max_examples=25)
@given(data=data_sets, pattern=patterns())
def test_a_pattern_has_the_solutions_of_oxigraph(
    archive_world: World, data: list[tuple[Triple, IRI | None]], pattern: Pattern
) -> None:
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
    archive_world.forget()
    query = archive_world.compiled(Query(Select(project)), archive_world.load(graphs))
    assert dict(values(archive_world.answer(query))) == dict(oracle.answer(project))
