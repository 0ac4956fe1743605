from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import And, Exists, Filter, Pattern, Project, Select, Variable
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.variable_scope import (
    borrowed,
    certain,
    conjuncts,
    existences,
    group_keys,
    in_scope,
)
from sensorstream.sparql.walk import nodes
from tests.network.oracle import GRAPHS, VARIABLES, Oracle, patterns, triples

data = st.lists(st.tuples(triples, st.sampled_from((None, None, *GRAPHS))), max_size=12)


@settings(max_examples=80)
@given(pattern=patterns(), told=data)
def test_a_solution_of_oxigraph_binds_what_is_certain_and_nothing_out_of_scope(
    pattern: Pattern, told: list[tuple[Triple, IRI | None]]
) -> None:
    oracle = Oracle()
    for triple, graph in told:
        oracle.add(triple, graph)
    scope = in_scope(pattern)
    names = tuple(Variable(name) for name in sorted(scope | {each.name for each in VARIABLES}))
    for row in oracle.answer(Project(pattern, names)):
        bound = {each.name for each, term in zip(names, row, strict=True) if term is not None}
        assert certain(pattern) <= bound <= scope


def pattern_of(text: str) -> Pattern:
    form = parse_query(text).form
    assert isinstance(form, Select)
    return form.pattern


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SELECT ?x (COUNT(*) AS ?n) { ?x ?p ?y } GROUP BY ?x ?y", ("x", "y")),
        ("SELECT (?x AS ?z) { ?x ?p ?y } GROUP BY ?x HAVING (?x != 1) LIMIT 1", ("x", "z")),
        ("SELECT ?k { ?x ?p ?y } GROUP BY (STR(?x) AS ?k) ORDER BY ?k", ("k",)),
        ("SELECT (COUNT(*) AS ?n) { ?x ?p ?y }", ()),
        ("SELECT ?x { { SELECT ?x { ?x ?p ?y } GROUP BY ?x } ?x ?p 1 }", ()),
    ],
)
def test_the_keys_of_a_query_are_those_of_its_own_grouping(
    text: str, keys: tuple[str, ...]
) -> None:
    assert group_keys(pattern_of(text)) == keys


@pytest.mark.parametrize(
    ("inner", "names"),
    [
        ("?x ?p ?a", ""),
        ("?x ?p ?a FILTER(?a = ?b)", "b"),
        ("?x ?p ?a FILTER(?a = ?z)", ""),
        ("?x ?p ?y OPTIONAL { ?x ?q ?a }", "a"),
        ("?x ?p ?a OPTIONAL { ?x ?q ?a }", ""),
        ("?x ?p ?y MINUS { ?b ?p ?y }", "b"),
        ("?x ?p ?y BIND(?c AS ?d)", "c"),
        ("?x ?p ?y BIND(1 AS ?a)", "a"),
        ("?x ?p ?y FILTER EXISTS { ?x ?p ?a FILTER(?b > ?y) }", "ab"),
        ("{ ?x ?p ?y FILTER(?a > 1) } UNION { ?x ?p ?a }", "a"),
    ],
)
def test_exists_borrows_the_outer_variables_that_no_join_can_give_it(
    inner: str, names: str
) -> None:
    pattern = pattern_of(f"SELECT ?s {{ ?s ?p ?o FILTER EXISTS {{ {inner} }} }}")
    (outermost, *_) = nodes(pattern, Exists)
    assert borrowed(outermost.pattern, frozenset("abc")) == frozenset(names)


def test_a_condition_has_its_conjuncts_and_the_exists_that_are_not_within_others() -> None:
    text = "SELECT * { ?s ?p ?o FILTER(?s && ?p && ?o) FILTER(?p || EXISTS { FILTER EXISTS {} }) }"
    (condition, *_) = (each.condition for each in nodes(pattern_of(text), Filter))
    parts = list(conjuncts(condition))
    assert len(parts) == 4
    assert not any(isinstance(each, And) for each in parts)
    assert existences(condition) == next((each,) for each in nodes(condition, Exists))
