"""The question of a rule to the history: how it is read, and written for a moment."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError
from sensorstream.language import parse
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.rules.history_rules import HistoryQuery
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.sparql.query_parser import parse_query

LINE = Timeline.INTEGER
MOMENT = (("last", LINE.literal(10)), ("now", LINE.literal(20)))


def read(text: str) -> HistoryQuery:
    rule = f'rule r every "10"\nfrom history select {{ {text} }} then alert info "x"'
    (compiled,) = compile_rules([parse(rule, "r.rules")], Schema(), LINE)
    assert compiled.question is not None
    return compiled.question


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT ?s { ?s ?p ?now }", "SELECT ?s { ?s ?p 20 }"),
        (
            "SELECT * { ?s ?p ?o FILTER(?o < ?last) }",
            "SELECT ?s ?p ?o { ?s ?p ?o FILTER(?o < 10) }",
        ),
        ("SELECT ?now ?o AT ?now { ?s ?p ?o }", "SELECT ?o AT 20 { ?s ?p ?o }"),
        ("SELECT ?o DURING ?last/?now { ?s ?p ?o }", "SELECT ?o DURING 10/20 { ?s ?p ?o }"),
        ("SELECT ?o DURING 3/?now { ?s ?p ?o }", "SELECT ?o DURING 3/20 { ?s ?p ?o }"),
        (
            "SELECT ?o { ?s ?p ?o FILTER NOT EXISTS { ?s ?q ?z FILTER(?z > ?now) } }",
            "SELECT ?o { ?s ?p ?o FILTER NOT EXISTS { ?s ?q ?z FILTER(?z > 20) } }",
        ),
        (
            "SELECT ?o { { SELECT ?o ?now { ?s ?p ?o FILTER(?o > ?now) } } }",
            "SELECT ?o { { SELECT ?o { ?s ?p ?o FILTER(?o > 20) } } }",
        ),
        (
            "SELECT (COUNT(?s) AS ?n) { ?s ?p ?o BIND(?now - ?o AS ?age) FILTER(?age > 1) }",
            "SELECT (COUNT(?s) AS ?n) { ?s ?p ?o BIND(20 - ?o AS ?age) FILTER(?age > 1) }",
        ),
    ],
)
def test_the_times_of_a_moment_stand_in_the_places_of_its_variables(
    text: str, written: str
) -> None:
    assert read(text).at(MOMENT).meaning == parse_query(written)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ASK { ?s ?p ?o }", "r.rules:2:23: not a SELECT: expected"),
        ("SELECT ?s { ?s ?p }", "r.rules:2:41: unexpected"),
        ("SELECT ?s AT ?then { ?s ?p ?o }", "r.rules:2:33: ?then has no value here: expected ?now"),
        ("SELECT ?s { ?now ?p ?s }", "?now is a time that the schedule gives"),
        ("SELECT ?s { ?s ?last ?o }", "?last is a time that the schedule gives"),
        ("SELECT ?s { ?s ?p ?o BIND(1 AS ?now) }", "?now is a time that the schedule gives"),
        ("SELECT ?s { ?s ?p ?o VALUES ?now { 1 } }", "?now is a time that the schedule gives"),
        ("SELECT ?now { ?s ?p ?now } GROUP BY ?now", "?now is a time that the schedule gives"),
        ("SELECT ?s { GRAPH ?now { ?s ?p ?o } }", "?now is a time that the schedule gives"),
        ("SELECT ?s FROM NAMED WINDOW <w> [RANGE PT1M] { ?s ?p ?o }", "continuous query"),
        ("SELECT ?s { GRAPH <urn:x> { ?s ?p ?o } }", "there is no graph <urn:x>"),
    ],
)
def test_a_wrong_question_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(LanguageError) as caught:
        read(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith("r.rules:2:")


def test_a_variable_that_no_solution_has_is_refused() -> None:
    with pytest.raises(LanguageError, match=r"\?m"):
        compile_rules(
            [
                parse(
                    'rule r every "10" from history select { SELECT ?n { ?s ?p ?n } } '
                    'then alert info "{?m}"'
                )
            ],
            Schema(),
            LINE,
        )
