"""Solutions of patterns and paths, against Oxigraph."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.reasoning.rulesets.pattern_solutions import solutions
from sensorstream.sparql.algebra import (
    BGP,
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    Project,
    Query,
    Select,
    Sequence,
    TriplePattern,
    Variable,
    ZeroOrMore,
    ZeroOrOne,
)
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.variable_scope import in_scope
from tests.reasoning.rulesets.graphs import indexed

NODES = [IRI(f"http://example.org/{name}") for name in "abcd"]
PROPERTIES = [IRI(f"http://example.org/{name}") for name in "pq"]
VARIABLES = [Variable(name) for name in "xyz"]
_steps = st.sampled_from(PROPERTIES)
_paths: st.SearchStrategy[Path] = st.recursive(
    _steps | st.builds(NegatedSet, st.tuples(_steps), st.tuples(_steps) | st.just(())),
    lambda inner: st.one_of(
        st.builds(Inverse, inner),
        st.builds(Sequence, inner, inner),
        st.builds(Alternative, inner, inner),
        st.builds(ZeroOrMore, inner),
        st.builds(OneOrMore, inner),
        st.builds(ZeroOrOne, inner),
    ),
    max_leaves=4,
)
_triples = st.tuples(
    st.sampled_from(NODES[:3]), _steps, st.sampled_from([*NODES[:3], Literal("text")])
)
_patterns = st.builds(
    TriplePattern,
    st.sampled_from([*VARIABLES, *VARIABLES, *NODES]),
    st.one_of(_paths, _paths, _paths, st.sampled_from(VARIABLES)),
    st.sampled_from([*VARIABLES, *VARIABLES, *NODES, Literal("text")]),
)


# Oxigraph finds no path of length zero at a constant that is not in the graph (section 18.4 does).
THERE: set[Triple] = {(node, IRI("http://example.org/r"), node) for node in NODES} | {
    (NODES[0], IRI("http://example.org/r"), Literal("text"))
}


def answered(
    patterns: list[TriplePattern], known: set[Triple]
) -> set[tuple[tuple[str, Term], ...]]:
    """The different solutions that Oxigraph finds."""
    store = ox.Store()
    for s, p, o in known:
        store.add(ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)))
    names = sorted(in_scope(BGP(tuple(patterns))))
    pattern = Project(BGP(tuple(patterns)), tuple(map(Variable, names)))
    rows = store.query(query_text(Query(Select(pattern))))
    assert isinstance(rows, ox.QuerySolutions)
    return {tuple((name, from_oxigraph(row[name])) for name in names) for row in rows}


@settings(max_examples=150)
@given(st.lists(_patterns, min_size=1, max_size=3), st.sets(_triples, min_size=3, max_size=12))
def test_solutions_are_those_of_oxigraph(patterns: list[TriplePattern], known: set[Triple]) -> None:
    if not in_scope(BGP(tuple(patterns))):
        return
    known = known | THERE
    found = {tuple(sorted(row.items())) for row in solutions(patterns, indexed(known))}
    assert found == answered(patterns, known)


def test_what_is_given_is_part_of_each_solution() -> None:
    known: set[Triple] = {(a, PROPERTIES[0], b) for a in NODES[:2] for b in NODES[2:]}
    pattern = TriplePattern(VARIABLES[0], PROPERTIES[0], VARIABLES[1])
    found = list(solutions([pattern], indexed(known), {"x": NODES[0]}))
    assert [row["y"] for row in found] == NODES[2:]
    assert all(row["x"] == NODES[0] for row in found)
