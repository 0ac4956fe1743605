"""The resource of jobs; what they do is in tests/server/test_jobs.py and tests/app/test_jobs.py."""

from __future__ import annotations

import httpx
import pytest

BODY = {"language": "sql", "text": "select 1 as n"}


def test_a_job_that_is_taken_has_a_place_and_waits(client: httpx.Client) -> None:
    answer = client.post("/jobs", json=BODY)
    assert (answer.status_code, answer.headers["location"]) == (202, "/jobs/job_1")
    assert (answer.json()["state"], answer.json()["text"]) == ("queued", "select 1 as n")
    assert client.get("/jobs/job_1").json()["state"] == "done"


def test_one_job_too_many_is_told_with_the_time_to_ask_again(client: httpx.Client) -> None:
    answer = client.post("/jobs", json={**BODY, "text": "one too many"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize(
    "change", [{"language": "cypher"}, {"text": ""}, {"on": "cache"}, {"text": None}]
)
def test_a_job_of_the_wrong_form_is_refused(
    client: httpx.Client, change: dict[str, object]
) -> None:
    assert client.post("/jobs", json={**BODY, **change}).status_code == 422


def test_a_result_has_the_format_that_is_preferred(client: httpx.Client) -> None:
    for accept, text in (("*/*", '{"columns": ["n"]'), ("text/csv, */*;q=0.1", "n\n1\n")):
        answer = client.get("/jobs/job_1/result", headers={"Accept": accept})
        assert answer.text.startswith(text)
    assert client.get("/jobs/job_1/result", headers={"Accept": "a/b"}).status_code == 406


@pytest.mark.parametrize("path", ["/jobs/nobody", "/jobs/nobody/result"])
def test_a_job_that_is_not_there_is_not_found(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["title"]) == (404, "There is no such job")
    assert client.delete("/jobs/nobody").status_code == 404
