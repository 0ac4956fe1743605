from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from SPARQLWrapper import CSV, JSON, POST, TURTLE, XML, SPARQLWrapper

from sensorstream.server import client_questions as results

NONE = "there is no graph <urn:sensorstream:x>"
SELECT = "select ?name { ?s <http://example.org/name> ?name } order by ?name"
CONSTRUCT = "construct where { ?s <http://example.org/name> ?name }"
ASK = "ask { ?s ?p 'Ada' }"


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["name"]["value"] for each in answer.json()["results"]["bindings"]]


def test_a_query_may_come_by_get_as_a_form_or_as_it_stands(client: httpx.Client) -> None:
    by_get = client.get("/sparql", params={"query": SELECT})
    by_form = client.post("/sparql", data={"query": SELECT})
    headers = {"content-type": "application/sparql-query"}
    as_it_stands = client.post("/sparql", content=SELECT, headers=headers)
    for answer in (by_get, by_form, as_it_stands):
        assert names(answer) == ["Ada", "Room"]
        assert answer.headers["content-type"] == "application/sparql-results+json"
        assert answer.headers["vary"] == "Accept"


def test_the_protocol_names_the_graphs_to_query(client: httpx.Client) -> None:
    graph = {"default-graph-uri": "urn:sensorstream:window"}
    assert names(client.get("/sparql", params={"query": SELECT, **graph})) == ["Ada"]
    assert names(client.post("/sparql", data={"query": SELECT, **graph})) == ["Ada"]
    headers = {"content-type": "application/sparql-query"}
    direct = client.post("/sparql", params=graph, content=SELECT, headers=headers)
    assert names(direct) == ["Ada"]
    named = {
        "query": "select ?name { graph ?g { ?s ?p ?name } }",
        "named-graph-uri": "urn:sensorstream:static",
    }
    assert names(client.get("/sparql", params=named)) == ["Room"]


@pytest.mark.parametrize(
    ("query", "accept", "media_type", "start"),
    [
        (SELECT, "application/sparql-results+json", "application/sparql-results+json", b"{"),
        (SELECT, "application/sparql-results+xml", "application/sparql-results+xml", b"<?xml"),
        (SELECT, "text/csv", "text/csv; charset=utf-8", b"name\r\nAda\r\nRoom"),
        (SELECT, "text/tab-separated-values", "text/tab-separated-values; charset=utf-8", b"?name"),
        (SELECT, "application/json", "application/json", b"{"),
        (SELECT, "text/*;q=0.5, application/xml;q=0.4", "text/csv; charset=utf-8", b"name"),
        (SELECT, "text/html, */*;q=0.1", "application/sparql-results+json", b"{"),
        (ASK, "*/*", "application/sparql-results+json", b'{"head"'),
        (ASK, "application/sparql-results+xml", "application/sparql-results+xml", b"<?xml"),
        (CONSTRUCT, "*/*", "text/turtle; charset=utf-8", b"<http"),
        (CONSTRUCT, "application/n-triples", "application/n-triples", b"<http"),
        (CONSTRUCT, "application/rdf+xml", "application/rdf+xml", b"<?xml"),
        (CONSTRUCT, "application/ld+json", "application/ld+json", b"["),
        (CONSTRUCT, "text/turtle;q=0.1, application/n-triples", "application/n-triples", b"<http"),
    ],
)
def test_the_client_chooses_the_format(
    client: httpx.Client, query: str, accept: str, media_type: str, start: bytes
) -> None:
    answer = client.get("/sparql", params={"query": query}, headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.content.startswith(start)


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        (SELECT, "text/turtle"),
        (ASK, "text/csv"),
        (CONSTRUCT, "application/sparql-results+json"),
        (SELECT, "application/sparql-results+json;q=0"),
        (SELECT, "nonsense"),
    ],
)
def test_a_format_nobody_can_give_is_not_acceptable(
    client: httpx.Client, query: str, accept: str
) -> None:
    answer = client.get("/sparql", params={"query": query}, headers={"accept": accept})
    assert answer.status_code == 406
    assert answer.json()["type"] == "urn:sensorstream:error:not-acceptable"


def test_a_bad_query_is_told_with_its_place(client: httpx.Client) -> None:
    answer = client.get("/sparql", params={"query": "select ?s\n{ ?s foo ?o }"})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:sensorstream:error:query"
    assert answer.json()["position"] == {"file": "query", "line": 2, "column": 6}
    assert answer.json()["detail"].startswith("unexpected 'foo': expected a verb")


@pytest.mark.parametrize(
    ("query", "column", "said"),
    [
        ("select * from <urn:sensorstream:x> { ?s ?p ?o }", 15, f"{NONE}: expected"),
        ("select * from named <urn:sensorstream:x> { ?s ?p ?o }", 21, f"{NONE}: expected"),
        ("select * { graph <urn:sensorstream:x> { ?s ?p ?o } }", 18, f"{NONE}: expected"),
        ("select * { service <urn:other> { ?s ?p ?o } }", 12, "SERVICE is not allowed"),
        ("select * { ?s <p> ?o }", 15, "<p> is a relative IRI"),
        ("register query q as ask { }", 1, "REGISTER belongs to a continuous query"),
        ("ask { { ?s ?p ?o } seq { ?s ?p ?x } }", 20, "SEQ belongs to a continuous query"),
        (f"ask {'{' * 900}{'}' * 900}", 205, "nested too deeply"),
        (f"ask {{ filter({'(' * 900}1{')' * 900}) }}", 212, "nested too deeply"),
        (f"ask {{ filter(1{' || 1' * 300}) }}", 1, "nested too deeply"),
        (f"ask {{ {{ }} {'union { } ' * 300} }}", 1, "nested too deeply"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_place(
    client: httpx.Client, query: str, column: int, said: str
) -> None:
    headers = {"content-type": "application/sparql-query"}
    answer = client.post("/sparql", content=query, headers=headers)
    assert answer.status_code == 400
    assert said in answer.json()["detail"]
    assert answer.json()["position"] == {"file": "query", "line": 1, "column": column}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select ?n from <urn:sensorstream:window> { ?s ?p ?n }", {"Ada"}),
        (
            "select ?n from <urn:sensorstream:window> from <urn:sensorstream:static> "
            "{ ?s <http://example.org/name> ?n }",
            {"Ada", "Room"},
        ),
        ("select ?n from named <urn:sensorstream:static> { graph ?g { ?s ?p ?n } }", {"Room"}),
        ("select ?n from <urn:sensorstream:static> { graph ?g { ?s ?p ?n } }", set()),
        ("select ?n { graph <urn:sensorstream:window> { ?s ?p ?n } }", {"Ada"}),
    ],
)
def test_a_query_may_name_its_graphs(client: httpx.Client, query: str, found: set[str]) -> None:
    answer = client.get("/sparql", params={"query": query})
    assert answer.status_code == 200, answer.text
    bindings = answer.json()["results"]["bindings"]
    assert {each["n"]["value"] for each in bindings if each["n"]["type"] == "literal"} == found


def test_describe_gives_what_is_said_of_a_name(client: httpx.Client) -> None:
    query = "describe ?s { ?s <http://example.org/name> 'Ada' }"
    answer = client.get(
        "/sparql", params={"query": query}, headers={"accept": "application/n-triples"}
    )
    assert answer.status_code == 200
    assert '<http://example.org/name> "Ada"' in answer.text
    assert "Room" not in answer.text


def test_the_protocol_cannot_name_a_graph_of_the_system_that_does_not_exist(
    client: httpx.Client,
) -> None:
    for parameter in ("default-graph-uri", "named-graph-uri"):
        given = {"query": SELECT, parameter: "urn:sensorstream:x"}
        answer = client.get("/sparql", params=given)
        assert answer.status_code == 400
        assert f"{parameter}: {NONE}" in answer.json()["detail"]
        answer = client.get("/sparql", params=given | {parameter: "urn:of-messages"})
        assert answer.status_code == 200
        assert answer.json()["results"]["bindings"] == []


@pytest.mark.parametrize(
    "update",
    [
        "insert data { <a:a> <a:b> <a:c> }",
        "# a comment\nPREFIX a.b: <http://a/#>\nBASE <http://b/>\nDELETE WHERE { ?s ?p ?o }",
        "clear all",
    ],
)
def test_an_update_is_refused_by_name_and_changes_nothing(
    client: httpx.Client, application: Any, update: str
) -> None:
    before = len(application.kb)
    answers = [
        client.get("/sparql", params={"query": update}),
        client.post("/sparql", data={"update": update}),
        client.post(
            "/sparql", content=update, headers={"content-type": "application/sparql-update"}
        ),
    ]
    assert [each.status_code for each in answers] == [400, 400, 415]
    assert all("updates are refused" in each.json()["detail"] for each in answers)
    assert len(application.kb) == before


def test_a_request_holds_one_query(client: httpx.Client) -> None:
    assert client.get("/sparql?at=1").status_code == 400
    assert client.get(f"/sparql?query={ASK}&query={ASK}").status_code == 400
    assert client.post("/sparql", data={"other": "x"}).status_code == 400
    assert client.post("/sparql", json={"query": ASK}).status_code == 415
    headers = {"content-type": "application/sparql-query"}
    assert client.post("/sparql", content=b"\xff", headers=headers).status_code == 400


def test_an_answer_too_large_is_cut_off_by_an_error(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_MOST_KEPT", 100)
    answer = client.get("/sparql", params={"query": SELECT})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:sensorstream:error:overrun"
    assert "larger than 100 bytes" in answer.json()["detail"]


def test_sparqlwrapper_works_as_it_comes(served: Any) -> None:
    endpoint = SPARQLWrapper(f"{served.url}/sparql")
    endpoint.setQuery(SELECT)
    endpoint.setReturnFormat(JSON)
    found: Any = endpoint.queryAndConvert()
    assert [each["name"]["value"] for each in found["results"]["bindings"]] == ["Ada", "Room"]
    endpoint.setMethod(POST)
    endpoint.setReturnFormat(CSV)
    assert endpoint.queryAndConvert() == b"name\r\nAda\r\nRoom\r\n"
    endpoint.setReturnFormat(XML)
    document: Any = endpoint.queryAndConvert()
    assert document.getElementsByTagName("literal")[0].firstChild.data == "Ada"
    endpoint.setQuery(CONSTRUCT)
    endpoint.setReturnFormat(TURTLE)
    turtle: Any = endpoint.queryAndConvert()
    assert b'"Ada"' in turtle
    endpoint.setQuery(ASK)
    endpoint.setReturnFormat(JSON)
    assert json.loads(json.dumps(endpoint.queryAndConvert()))["boolean"] is True
