from __future__ import annotations

import re
from datetime import timedelta

import pytest

from sensorstream.errors import QueryError
from sensorstream.sparql.algebra import (
    AlertClause,
    Distinct,
    Extend,
    Group,
    Join,
    Project,
    ReportClause,
    ReportKind,
    Select,
    Variable,
)
from sensorstream.sparql.query_parser import parse_query, parse_update
from sensorstream.sparql.query_printer import query_text

S, P, OBJECT, X = map(Variable, "spox")


def test_a_star_is_the_list_of_visible_variables() -> None:
    form = parse_query(
        "SELECT * { ?s ?p ?o MINUS { ?a ?b ?c } FILTER EXISTS { ?d ?e ?f } BIND(1 AS ?x) }"
    ).form
    assert isinstance(form, Select)
    assert isinstance(form.pattern, Project)
    assert form.pattern.variables == (S, P, OBJECT, X)


FIGURE_6 = """
PREFIX ebay:<http://developer.ebay.com/DevZone/finding/CallRef/findItemsByKeywords.html#>
PREFIX lupos: <http://www.luposdate.org/>
SELECT DISTINCT ?id ?title ?bid lupos:average(?bid) AS ?avg
lupos:min(?bid) AS ?min lupos:max(?bid) AS ?max lupos:sum(?bid)AS?sum
STREAM INTERMEDIATERESULT DURATION 1000
WHERE {
WINDOW TYPE SLIDINGTRIPLES 100 {
?id ebay:Response.searchResult.item.sellingStatus.currentPrice ?bid.
?id ebay:Response.searchResult.item.title ?title. }}
"""


def test_the_auction_query_is_read_as_the_paper_prints_it() -> None:
    query = parse_query(FIGURE_6)
    assert query.report == ReportClause(ReportKind.PERIOD, timedelta(seconds=1))
    assert [each.range for each in query.dataset.windows] == [100]
    assert isinstance(query.form, Select)
    assert isinstance(query.form.pattern, Distinct)
    project = query.form.pattern.pattern
    assert isinstance(project, Project)
    names = [variable.name for variable in project.variables]
    assert names == ["id", "title", "bid", "avg", "min", "max", "sum"]
    join = project.pattern
    assert isinstance(join, Join)
    below = join.right
    while isinstance(below, Project | Extend):
        below = below.pattern
    assert isinstance(below, Group)
    assert [key.variable.name for key in below.keys if key.variable] == ["id", "title"]
    assert below.pattern == join.left
    assert parse_query(query_text(query)) == query


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('SELECT ?a ALERT grave "x" { ?a ?b ?c }', "unknown severity 'grave': expected info"),
        ('SELECT ?a ALERT info "{?b}" { ?a ?b ?c }', "?b is not selected"),
        ('SELECT ?a ALERT info "x" KEY "{a}" { ?a ?b ?c }', "expected {?name}"),
        ('ASK ALERT info "x" { ?a ?b ?c }', "expected SELECT"),
        ('SELECT ?a ALERT info "x" ALERT info "y" { ?a ?b ?c }', "expected one ALERT"),
    ],
)
def test_an_alert_that_cannot_be_raised_is_refused(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=re.escape(said)):
        parse_query(text)


def test_an_alert_is_read_and_printed() -> None:
    query = parse_query('SELECT ?a ALERT info "{?a} is \\"hot\\"" KEY "{?a}" { ?a ?b ?c }')
    assert query.alert == AlertClause("info", '{?a} is "hot"', "{?a}")
    assert parse_query(query_text(query)) == query


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("INSERT DATA { ?s <p> <o> }", "1:15", "?s cannot stand in INSERT DATA"),
        ("DELETE WHERE { [] <p> <o> }", "1:16", "a blank node cannot stand in DELETE WHERE"),
        ("DELETE { _:x <p> <o> } WHERE { }", "1:10", "a blank node cannot stand in DELETE"),
        ("CLEAR ALL CLEAR ALL", "1:11", "expected ';' or the end of the text"),
        (
            "INSERT DATA { _:a <p> <o> } ;\nINSERT DATA { _:a <p> <o> }",
            "2:15",
            "_:a stands already in another operation",
        ),
    ],
)
def test_an_error_of_an_update_says_the_same(text: str, place: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_update(text)
    assert str(caught.value.position) == f"update:{place}"
    assert words in caught.value.message
