from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pyarrow as pa
import pytest

from tests.waiting import eventually


def test_a_table_comes_as_columns_and_rows(client: httpx.Client) -> None:
    answer = client.post("/sql", json={"query": "select 1 as n"})
    assert answer.status_code == 200
    assert answer.json() == {"columns": ["n"], "rows": [[1]], "truncated": False}


def test_every_kind_of_value_has_a_form_in_json(
    client: httpx.Client, application: Any, odd_table: Any
) -> None:
    application.asking.table = odd_table
    answer = client.post("/sql", json={"query": "select everything"}).json()
    assert answer["rows"] == [
        [1, 2.5, 3, 3.25, "2026-03-01T12:00:00Z", None, "<x/>", True],
        [1, "nan", "NaN", ["2026-03-01T12:00:00Z"], "2026-03-01", {"k": 1}, "/w==", "ü"],
    ]
    assert answer["truncated"] is True


def test_csv_and_arrow_come_where_they_are_preferred(client: httpx.Client) -> None:
    body = {"query": "select 1 as n"}
    answer = client.post("/sql", json=body, headers={"Accept": "text/csv"})
    assert (answer.headers["content-type"], answer.text) == ("text/csv; charset=utf-8", "n\n1\n")
    arrow = "application/vnd.apache.arrow.stream"
    answer = client.post("/sql", json=body, headers={"Accept": f"{arrow}, */*;q=0.1"})
    assert answer.headers["content-type"] == arrow
    assert pa.ipc.open_stream(answer.content).read_all().to_pylist() == [{"n": "1"}]
    answer = client.post("/sql", json=body, headers={"Accept": "image/png"})
    assert (answer.status_code, answer.json()["status"]) == (406, 406)


def test_the_archive_is_asked_in_each_format(client: httpx.Client, application: Any) -> None:
    body, place = {"query": "select 1"}, {"on": "archive"}
    answer = client.post("/sql", json=body, params=place)
    assert answer.json() == {"columns": ["archived"], "rows": [[1]], "truncated": False}
    answer = client.post("/sql", json=body, params=place, headers={"Accept": "text/csv"})
    assert (answer.headers["content-type"], answer.text) == (
        "text/csv; charset=utf-8",
        "archived\n1\n",
    )
    application.asking.table = replace(application.asking.table, truncated=True)
    assert client.post("/sql", json=body, params=place).json()["truncated"] is True
    answer = client.post("/sql", json=body, params=place, headers={"Accept": "text/csv"})
    assert (answer.status_code, "limits.question_rows" in answer.text) == (422, True)
    answer = client.post("/sql", json=body, params={"on": "elsewhere"})
    assert answer.status_code in (400, 422)


def test_a_fault_before_the_first_row_is_a_problem_in_each_format(
    client: httpx.Client, application: Any
) -> None:
    for accept in ("application/json", "text/csv", "application/vnd.apache.arrow.stream"):
        answer = client.post("/sql", json={"query": "select broken"}, headers={"Accept": accept})
        assert (answer.status_code, answer.json()["position"]["column"]) == (400, 8)


def test_a_fault_among_the_rows_breaks_the_answer_off(
    client: httpx.Client, application: Any
) -> None:
    body = {"query": "select 1, fails later"}
    closed = application.asking.streams_closed
    with pytest.raises(httpx.RemoteProtocolError):
        client.post("/sql", json=body, headers={"Accept": "text/csv"})
    eventually(lambda: application.asking.streams_closed == closed + 1)


def test_a_bad_query_is_told_with_its_place(client: httpx.Client) -> None:
    answer = client.post("/sql", json={"query": "select broken"})
    assert answer.status_code == 400
    assert answer.json()["position"]["column"] == 8


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b'{"query": "select 1"}', "application/x-www-form-urlencoded", 415),
        (b"select 1", "text/plain", 415),
        (b"select 1", "application/json", 422),
        (b"", "application/json", 422),
        (b'{"query": ""}', "application/json", 422),
    ],
)
def test_a_query_comes_in_json(
    client: httpx.Client, content: bytes, content_type: str, status: int
) -> None:
    answer = client.post("/sql", content=content, headers={"content-type": content_type})
    assert answer.status_code == status


def test_a_store_that_is_away_is_not_the_clients_fault(client: httpx.Client) -> None:
    answer = client.post("/sql", json={"query": "select away"})
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:sensorstream:error:history"
