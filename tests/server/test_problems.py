from __future__ import annotations

import inspect
from typing import Any

import httpx
import pytest

from sensorstream import errors
from sensorstream.errors import SensorStreamError
from sensorstream.server.problems import problem_of

FIELDS = {"type", "title", "status", "detail", "see"}
OWN = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, SensorStreamError)
]


@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.__name__)
def test_every_error_of_ours_has_a_problem(kind: type[SensorStreamError]) -> None:
    problem = problem_of(kind("it went wrong"))
    assert problem.type == f"urn:sensorstream:error:{kind.code}"
    assert 400 <= problem.status < 600
    assert problem.document().keys() == FIELDS
    assert problem.document()["detail"] == "it went wrong"


def test_every_path_fails_in_one_shape(client: httpx.Client) -> None:
    """Walks the description of the interface and asks every resource in a wrong way."""
    paths: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    asked = 0
    for template, operations in paths.items():
        if template == "/quarantine/replay":  # Its body is not read: nothing can be wrong in it.
            continue
        path = template.replace("{webhook_id}", "nobody").replace("{name}", "nobody")
        answers = [client.request("PATCH", path), client.get(path + "/nowhere")]
        for method in operations:
            if method in ("post", "put"):
                answers.append(client.request(method, path, content=b"x" * 10_000_000))
                answers.append(client.request(method, path, content=b"\x00"))
            else:
                wrong = {"limit": "many", "before": "now", "offset": "x", "after": "x"}
                answer = client.request(method, path, params=wrong)
                if answer.status_code >= 400:
                    answers.append(answer)
        for answer in answers:
            asked += 1
            where = f"{answer.request.method} {path}: {answer.text[:100]}"
            assert answer.status_code >= 400, where
            assert answer.headers["content-type"] == "application/problem+json", where
            problem = answer.json()
            assert problem.keys() >= FIELDS, where
            assert problem["status"] == answer.status_code, where
            assert problem["type"].startswith("urn:sensorstream:error:"), where
            assert problem["detail"], where
    assert asked >= 3 * len(paths)


def test_a_method_not_allowed_tells_which_are(client: httpx.Client) -> None:
    answer = client.delete("/messages")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_an_invalid_request_tells_every_place(client: httpx.Client) -> None:
    answer = client.get("/window", params={"limit": "many", "offset": -1})
    assert answer.status_code == 422
    places = [each["where"] for each in answer.json()["errors"]]
    assert places == ["query.limit", "query.offset"]
