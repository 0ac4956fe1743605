from __future__ import annotations

from sensorstream.sparql.algebra import (
    BGP,
    Aggregate,
    Arithmetic,
    Exists,
    Filter,
    Join,
    Not,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.walk import aggregates, depth, nodes, replaced, variables, visible

S, P, OBJECT, X = map(Variable, "spox")
BLOCK = BGP((TriplePattern(S, P, OBJECT),))


def test_visible_variables_are_those_that_a_solution_can_bind() -> None:
    query = parse_query(
        """ASK { GRAPH ?g { ?s ?p ?o } OPTIONAL { ?a ?b ?c } MINUS { ?d ?e ?f }
            VALUES ?v { 1 } BIND(?q AS ?w) FILTER(?h) { SELECT ?k { ?k ?l ?m } } }"""
    )
    names = [variable.name for variable in visible(query.form.pattern)]
    assert names == ["g", "s", "p", "o", "a", "b", "c", "v", "w", "k"]


def test_all_variables_are_those_that_are_mentioned_anywhere() -> None:
    assert variables(Filter(Not(Exists(BLOCK)), Join(BGP(), BGP()))) == {S, P, OBJECT}


def test_what_is_not_replaced_stays_the_same_object() -> None:
    pattern = Join(BLOCK, Filter(X, BLOCK))
    changed = replaced(pattern, lambda part: OBJECT if part == X else None)
    assert changed == Join(BLOCK, Filter(OBJECT, BLOCK))
    assert changed.left is pattern.left
    assert replaced(pattern, lambda part: None) is pattern


def test_aggregates_within_exists_belong_to_another_query() -> None:
    count, inner = Aggregate("COUNT", None), Aggregate("SUM", X)
    select = parse_query("SELECT (SUM(?x) AS ?y) { }").form.pattern
    assert inner in list(nodes(select))
    assert list(aggregates(Arithmetic("+", count, Exists(select)))) == [count]  # type: ignore[arg-type]


def test_depth_counts_nodes_that_stand_in_each_other() -> None:
    assert depth(BGP()) == 1
    assert depth(Filter(Not(X), BLOCK)) == 4
    assert depth((BLOCK, BLOCK)) == 3
