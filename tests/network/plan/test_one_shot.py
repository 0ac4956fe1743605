"""A query over copies of graphs, under other names, answers as the query over the graphs."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model.terms import IRI
from sensorstream.network.plan.one_shot import check_one_shot, one_shot
from sensorstream.network.plan.planner import whole_plan
from sensorstream.network.query_sources import Sources
from sensorstream.sparql.algebra import (
    BGP,
    Extend,
    FunctionCall,
    Graph,
    Join,
    Pattern,
    Variable,
    Window,
)
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.walk import replaced
from tests.network.in_step import SOURCES, selected
from tests.network.oracle import (
    GRAPHS,
    NODES,
    PROPERTIES,
    VARIABLES,
    Oracle,
    patterns,
    triples,
    values,
)

BOTH = Sources(named=SOURCES.named, windows=SOURCES.named)
COPIES = {
    source: IRI(f"http://example.org/copy/{source.key}")
    for source in (SOURCES.default, *SOURCES.named.values())
}
content = st.sets(st.tuples(triples, st.sampled_from((None, *GRAPHS))), min_size=4, max_size=20)
names: Any = st.sampled_from((*GRAPHS, VARIABLES[3]))


def windows(node: object) -> object | None:
    """A graph with a name as a window of that name."""
    named = isinstance(node, Graph) and isinstance(node.name, IRI)
    return Window(node.name, node.pattern) if named else None  # type: ignore[attr-defined]


@settings(max_examples=120)
@given(
    pattern=patterns(depth=2, complex_paths=False),
    graph=st.builds(Graph, names, patterns(depth=1, complex_paths=False)),
    quads=content,
    in_windows=st.booleans(),
)
def test_copies_answer_as_what_they_are_copies_of(
    pattern: Pattern, graph: Graph, quads: set[Any], in_windows: bool
) -> None:
    graphs, copies = Oracle(), Oracle()
    for triple, name in quads:
        graphs.add(triple, name)
        copies.add(triple, COPIES[SOURCES.default if name is None else SOURCES.named[name]])
    project = selected(Join(pattern, graph))
    plan = whole_plan(replaced(project, windows) if in_windows else project, BOTH)
    assert {*plan.sources} == {*COPIES}
    named: Any
    default, *named = (ox.NamedNode(COPIES[each]) for each in plan.sources)
    found: Any = copies.store.query(
        query_text(one_shot(plan, COPIES)), default_graph=default, named_graphs=named
    )
    rows = ([row[name] for name in plan.variables] for row in found)
    mine = (tuple(None if cell is None else from_oxigraph(cell) for cell in row) for row in rows)
    assert values(mine) == graphs.answer(project)


@pytest.mark.parametrize("sources", [Sources(), SOURCES])
def test_the_graph_of_a_variable_is_one_of_the_query_under_its_own_name(sources: Sources) -> None:
    copies = Oracle()
    for source in SOURCES.named.values():
        copies.add((NODES[0], PROPERTIES[0], NODES[0]), COPIES[source])
    plan = whole_plan(selected(Graph(VARIABLES[3], BGP(()))), sources)
    found: Any = copies.store.query(query_text(one_shot(plan, COPIES)))
    assert {str(row[VARIABLES[3].name])[1:-1] for row in found} == {*sources.named}


def test_what_oxigraph_cannot_read_either_is_refused_with_both_reasons() -> None:
    pattern = Extend(BGP(()), Variable("x"), FunctionCall(IRI("urn:f"), ()))
    with pytest.raises(UnsupportedQuery, match=r"in step \(so\), nor evaluated anew: .*urn:f"):
        check_one_shot(whole_plan(pattern, SOURCES, reason="so"))
