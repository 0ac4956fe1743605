"""A condition that is evaluated anew, and the WHERE part of an action, see terms as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import XSD
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.sparql.query_parser import parse_query

Play: TypeAlias = Callable[..., Any]
P, Q = IRI("http://example.org/p"), IRI("http://example.org/q")
VALUES = tuple(
    Literal(text, f"{XSD}{kind}")
    for text, kind in (
        ("5", "int"),
        ("5", "integer"),
        ("005", "integer"),
        ("+5.0", "decimal"),
        ("0.1234567890123456789012345", "decimal"),
        ("0.1234567890123456789012346", "decimal"),
        ("12345678901234567890123456789", "integer"),
        ("12345678901234567890123456788", "integer"),
        ("1", "boolean"),
        ("true", "boolean"),
        ("5e0", "double"),
        ("5.0E0", "double"),
        ("0.1", "float"),
        ("2020-01-01T24:00:00Z", "dateTime"),
        ("2020-01-02T00:00:00.000Z", "dateTime"),
        ("P1Y", "duration"),
        ("P12M", "duration"),
        ("five", "integer"),
    )
)
QUERIES = (
    "SELECT ?x ?v { ?x <http://example.org/p> ?v }",
    "SELECT ?x { ?x <http://example.org/p> 5 }",
    "SELECT ?x ?y { ?x <http://example.org/p> ?v . ?y <http://example.org/q> ?v }",
    "SELECT ?x ?v { ?x <http://example.org/p> ?v FILTER(?v = 5) }",
    "SELECT ?x ?y { ?x <http://example.org/p> ?v . ?y <http://example.org/q> ?w FILTER(?v < ?w) }",
    "SELECT ?x ?n { ?x <http://example.org/p> ?v BIND(?v + 1 AS ?n) }",
    "SELECT (SUM(?v) AS ?n) { ?x <http://example.org/p> ?v FILTER(ISNUMERIC(?v)) }",
    "SELECT ?v (COUNT(*) AS ?n) { ?x <http://example.org/p> ?v } GROUP BY ?v",
    "SELECT ?x ?d { ?x <http://example.org/p> ?v BIND(DATATYPE(?v) AS ?d) BIND(STR(?v) AS ?s) }",
    "SELECT ?x ?v { ?x <http://example.org/p> ?v FILTER(?v >= 0.1e0) }",
)


@pytest.mark.parametrize("text", QUERIES)
def test_a_condition_gives_the_same_terms_evaluated_anew(text: str) -> None:
    kb = KnowledgeBase()
    evaluator = ConditionEvaluator(kb)
    kept, anew = (ConditionQuery(parse_query(text), frozenset()) for _ in range(2))
    evaluator.prepare([[kept]])
    for number, value in enumerate(VALUES):
        names = [IRI(f"http://example.org/{n}") for n in (number, number + 1)]
        kb.add(Origin.WINDOW, [(names[0], P, value), (names[1], Q, value)])
        found, expected = (
            Counter(tuple(sorted(each.items())) for each in evaluator.select(query, {}))
            for query in (anew, kept)
        )
        assert found == expected
    assert not evaluator.anew
    evaluator.close()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "pattern", ["?x :p ?v", "?x :p ?w BIND(?v AS ?u)", "?x :p ?v OPTIONAL { ?x :r ?w }"]
)
def test_a_value_given_is_that_term(value: Literal, pattern: str) -> None:
    kb = KnowledgeBase()
    evaluator = ConditionEvaluator(kb)
    names = {v: IRI(f"http://example.org/{number}") for number, v in enumerate(VALUES)}
    kb.add(Origin.WINDOW, [(name, P, v) for v, name in names.items()])
    text = f"PREFIX : <http://example.org/> SELECT ?x ?v {{ {pattern} FILTER(BOUND(?v)) }}"
    query = ConditionQuery(parse_query(text), frozenset({"v"}))
    found = evaluator.select(query, {"v": value})
    there = names if "?w BIND" in pattern else [value]
    assert sorted(each["x"] for each in found) == sorted(names[each] for each in there)
    assert {each["v"] for each in found} == {value}
    evaluator.close()


def test_an_action_takes_and_gives_terms_as_they_are(play: Play) -> None:
    stage = play(
        "rule r on insert :Go as ?go then sparql { DELETE { ?x :p ?v } INSERT { ?x :q ?v } "
        "WHERE { ?x :p ?v } }"
    )
    texts = [f'x p "{value.lexical}"^^<{value.datatype}>' for value in VALUES]
    stage.say(*texts, "go a Go")
    assert stage.window() - {"go a Go"} == {each.replace("x p", "x q") for each in texts}
