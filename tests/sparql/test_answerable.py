from __future__ import annotations

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.model.vocabulary import GRAPH_PERSISTENT
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import check_answerable, check_graphs, read_answerable
from sensorstream.sparql.query_parser import Parsed, read_query


def test_the_cache_refuses_a_valid_time_and_says_who_knows_it() -> None:
    parsed = read("SELECT *\nAT 5 { ?s ?p ?o }")
    with pytest.raises(QueryError, match=r'^query:2:1: AT "5": only history knows .*on=history'):
        check_answerable(parsed, message_graphs=True)
    check_answerable(parsed, history=True)


def test_only_history_has_the_graph_of_what_left_the_window() -> None:
    parsed = read(f"ASK {{ GRAPH {GRAPH_PERSISTENT.n3} {{ ?s ?p ?o }} }}")
    with pytest.raises(QueryError, match=r"1:13: GRAPH: there is no graph .*ask it \(on=history\)"):
        check_answerable(parsed, message_graphs=True)
    check_answerable(parsed, history=True)
    check_graphs([GRAPH_PERSISTENT], "default-graph-uri", history=True)
    with pytest.raises(QueryError, match="named-graph-uri"):
        check_graphs([GRAPH_PERSISTENT], "named-graph-uri")


def test_history_keeps_no_graphs_of_messages() -> None:
    with pytest.raises(QueryError, match="there is no graph <urn:message>"):
        check_answerable(read("ASK { GRAPH <urn:message> { ?s ?p ?o } }"), history=True)
    with pytest.raises(QueryError, match="default-graph-uri: there is no graph <urn:message>"):
        check_graphs(["urn:message"], "default-graph-uri", history=True)


def read(text: str) -> Parsed[Query]:
    return read_query(text, start=Position("query", 1, 1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT * ALERT info 'x' { ?s ?p ?o }", "1:10: ALERT belongs to a continuous query"),
        ("ASK { STREAM <urn:s> [RANGE 3s] { ?s ?p ?o } }", "FROM NAMED WINDOW belongs to"),
        ("ASK { WINDOW ?w { ?s ?p ?o } }", "1:7: WINDOW belongs to a continuous query"),
        ("ASK { FILTER(getDURATION() > 1) }", "1:14: GETDURATION belongs to a continuous query"),
        ("ASK {\n SERVICE <urn:s> { ?s ?p ?o } }", "2:2: SERVICE is not allowed"),
        ("ASK FROM <urn:sensorstream:x> {}", "1:10: FROM: there is no graph"),
        ("ASK { ?s ?p <b> }", "1:13: <b> is a relative IRI"),
        ("ASK { ?s ?p '1'^^<b> }", "1:18: <b> is a relative IRI"),
        (
            "ASK { ?x a [ <urn:q> 1 ; <http://www.w3.org/2002/07/owl#onProperty> <urn:p> ] }",
            "class",
        ),
    ],
)
def test_a_part_that_a_copy_cannot_answer_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        read_answerable(text, names_only=True)
