"""/sparql over history: what is asked, how the answer is written, what is refused."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sensorstream.history.asking.checked_question import AtInstant, Interval
from sensorstream.model.vocabulary import GRAPH_PERSISTENT
from sensorstream.server import client_questions as results
from sensorstream.sparql.algebra import Dataset

SELECT = "select ?name { ?s ?p ?name }"
DIRECT = {"content-type": "application/sparql-query"}


@pytest.mark.parametrize(
    ("parameters", "time", "live"),
    [
        ({"on": "history"}, None, False),
        ({"on": "all"}, None, True),
        ({"on": "history", "at": "50"}, AtInstant(50), False),
        ({"on": "all", "during": "5/7"}, Interval(5, 7), True),
    ],
)
def test_a_question_to_history_may_come_in_three_ways(
    client: httpx.Client, application: Any, parameters: dict[str, str], time: object, live: bool
) -> None:
    for answer in (
        client.get("/sparql", params={"query": SELECT, **parameters}),
        client.post("/sparql", data={"query": SELECT, **parameters}),
        client.post("/sparql", content=SELECT, params=parameters, headers=DIRECT),
    ):
        assert answer.status_code == 200, answer.text
        (row,) = answer.json()["results"]["bindings"]
        assert row == {"name": {"type": "literal", "value": "Ada"}}
        question, asked_live = application.asking.asked[-1]
        assert (question.time, asked_live) == (time, live)


def test_a_plan_is_told_without_an_answer(client: httpx.Client, application: Any) -> None:
    others = {"on": "all", "at": "50"}
    given = {"query": SELECT, **others}
    for answer in (
        client.get("/sparql/plan", params=given),
        client.post("/sparql/plan", data=given),
        client.post("/sparql/plan", content=SELECT, params=others, headers=DIRECT),
    ):
        assert answer.status_code == 200, answer.text
        assert answer.json() == {
            "algebra": "Project ?name\n  BGP\n    ?s ?p ?name",
            "sql": "select 1",
            "plan": "Result",
        }
        question, asked_live = application.asking.asked[-1]
        assert (question.time, asked_live) == (AtInstant(50), True)
    of_archive = client.get("/sparql/plan", params={"query": SELECT, "on": "archive"})
    assert of_archive.json()["plan"] == "PARQUET"


def test_a_plan_is_refused_as_the_answer_is(client: httpx.Client) -> None:
    for given, told in (
        ({"query": "select * {"}, "expected"),
        ({"query": "delete where { ?s ?p ?o }"}, "updates are refused"),
        ({"query": SELECT, "at": "5"}, "cache knows the present only"),
        ({"query": SELECT, "on": "spark"}, "starts Spark"),
        ({"query": SELECT, "default-graph-uri": "urn:sensorstream:x"}, "urn:sensorstream:x"),
        ({"at": "5"}, "expected the parameter 'query' once"),
    ):
        answer = client.get("/sparql/plan", params=given)
        assert answer.status_code == 400, answer.text
        assert told in answer.json()["detail"]
        assert client.get("/sparql", params=given).json()["detail"] == answer.json()["detail"]


def test_the_archive_is_asked_apart(client: httpx.Client, application: Any) -> None:
    answer = client.get("/sparql", params={"query": SELECT, "on": "archive", "at": "50"})
    assert [row["name"]["value"] for row in answer.json()["results"]["bindings"]] == ["Ada"]
    question, place = application.asking.asked[-1]
    assert (question.time, place) == (AtInstant(50), "archive")


def test_the_cache_is_asked_by_default(client: httpx.Client, application: Any) -> None:
    before = len(application.asking.asked)
    for parameters in ({}, {"on": "cache"}):
        answer = client.get("/sparql", params={"query": SELECT, **parameters})
        assert len(answer.json()["results"]["bindings"]) == 2
    assert len(application.asking.asked) == before


def test_the_protocol_names_the_graphs_of_history(client: httpx.Client, application: Any) -> None:
    given = {"query": SELECT, "on": "history", "default-graph-uri": GRAPH_PERSISTENT}
    assert client.get("/sparql", params=given).status_code == 200
    assert application.asking.asked[-1][0].query.dataset == Dataset((GRAPH_PERSISTENT,))


@pytest.mark.parametrize(
    ("query", "accept", "media_type", "start"),
    [
        (SELECT, "*/*", "application/sparql-results+json", b"{"),
        (SELECT, "application/xml", "application/xml", b"<?xml"),
        (SELECT, "text/csv", "text/csv; charset=utf-8", b"name\r\nAda"),
        (SELECT, "text/tab-separated-values", "text/tab-separated-values; charset=utf-8", b"?name"),
        ("ask {}", "text/xml, text/csv", "text/xml; charset=utf-8", b"<?xml"),
        ("describe <urn:a>", "*/*", "text/turtle; charset=utf-8", b"<urn:a>"),
        ("describe <urn:a>", "application/n-triples", "application/n-triples", b"<urn:a>"),
    ],
)
def test_the_client_chooses_the_format(
    client: httpx.Client, query: str, accept: str, media_type: str, start: bytes
) -> None:
    given = {"query": query, "on": "history"}
    answer = client.get("/sparql", params=given, headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.headers["vary"] == "Accept"
    assert answer.content.startswith(start)


def test_solutions_come_as_arrow_and_parquet(client: httpx.Client) -> None:
    for media_type, read in (
        ("application/vnd.apache.arrow.stream", lambda text: pa.ipc.open_stream(text).read_all()),
        ("application/vnd.apache.parquet", pq.read_table),
    ):
        given = {"query": SELECT, "on": "history"}
        answer = client.get("/sparql", params=given, headers={"accept": media_type})
        assert answer.headers["content-type"] == media_type
        table = read(io.BytesIO(answer.content))
        assert table["name"].to_pylist()[0]["value"] == "Ada"


def test_a_long_answer_comes_whole(
    client: httpx.Client, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_IN_MEMORY", 1000)
    application.asking.rows = 50_000
    given = {"query": SELECT, "on": "history"}
    answer = client.get("/sparql", params=given, headers={"accept": "text/csv"})
    assert answer.text.count("Ada") == 50_000


def test_an_answer_that_is_too_large_is_an_error(
    client: httpx.Client, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_MOST_KEPT", 1000)
    application.asking.rows = 5_000
    answer = client.get("/sparql", params={"query": SELECT, "on": "history"})
    assert answer.status_code == 422
    assert "larger than 1000 bytes" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"on": "cache", "at": "5"}, "at: cache knows the present only: ask for another time on"),
        ({"during": "5/6"}, "during: cache knows the present only"),
        ({"on": "history", "at": "5", "during": "5/6"}, "expected 'at' or 'during', not both"),
        ({"on": "history", "at": "noon"}, "'noon' is not"),
        ({"on": "history", "during": "6/5"}, "'5' is not after '6'"),
        ({"on": "past"}, "on: expected cache, history, all or archive, not 'past'"),
        ({"on": "spark"}, "'sensorstream query --on spark' starts Spark"),
        ({"on": ["all", "cache"]}, "expected the parameter 'on' once, not 2 times"),
        ({"on": "history", "at": ["5", "6"]}, "expected the parameter 'at' once, not 2 times"),
        ({"on": "history", "default-graph-uri": "urn:x"}, "there is no graph <urn:x>"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_way_out(
    client: httpx.Client, parameters: dict[str, Any], said: str
) -> None:
    answer = client.get("/sparql", params={"query": SELECT, **parameters})
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_a_format_that_the_answer_has_not_is_not_acceptable(client: httpx.Client) -> None:
    given = {"query": "ask {}", "on": "history"}
    answer = client.get("/sparql", params=given, headers={"accept": "text/csv"})
    assert answer.status_code == 406


def test_a_fault_in_the_text_is_told_with_its_place(client: httpx.Client) -> None:
    given = {"on": "history"}
    text = "select *\nat 5 at 6 { ?s ?p ?o }"
    answer = client.post("/sparql", params=given, content=text, headers=DIRECT)
    assert answer.status_code == 400
    assert answer.json()["position"] == {"file": "query", "line": 2, "column": 6}
    update = client.get("/sparql", params={"query": "clear all", **given})
    assert "updates are refused" in update.json()["detail"]
