"""What an operation does not know is refused, with its name and what it knows."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

# Of SPARQL, whose clients add parameters of their own, and of probes.
OPEN = {"/sparql", "/soap", "/healthz", "/readyz", "/metrics"}


def test_every_operation_refuses_a_parameter_that_it_does_not_know(client: httpx.Client) -> None:
    paths: dict[str, Any] = client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method in operations:
            answer = client.request(method, path.replace("{", "").replace("}", ""), params="dryrun")
            refused = answer.status_code == 422 and "query.dryrun" in answer.text
            if not refused and path not in OPEN:
                # The body or the names in the path are looked at first.
                assert answer.status_code >= 400, (method, path, answer.text)
            assert not (refused and path in OPEN), path


def test_a_slip_in_a_parameter_takes_nothing_out_of_quarantine(client: httpx.Client) -> None:
    answer = client.delete("/quarantine", params={"stauts": "open"})
    assert answer.status_code == 422
    (told,) = answer.json()["errors"]
    assert told["where"] == "query.stauts"
    assert told["message"].startswith("this operation has no such parameter: expected after, ")


def test_a_message_with_an_unknown_parameter_is_refused(client: httpx.Client) -> None:
    given: dict[str, Any] = {"content": "<m/>", "headers": {"content-type": "application/xml"}}
    answer = client.post("/messages", params={"sorce": "gate"}, **given)
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "query.sorce: this operation has no such parameter: expected source",
    )


def test_an_operation_without_parameters_says_so(client: httpx.Client) -> None:
    assert "expected none" in client.get("/rules", params="x").json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        (
            "/silences",
            {"rule": "a", "ends_at": "2099-01-01T00:00:00Z", "severty": "info"},
            "severty",
        ),
        ("/silences", {"key": "a\0b", "ends_at": "2099-01-01T00:00:00Z"}, "key"),
        ("/webhooks", {"url": "https://example.org/", "chnges": True}, "chnges"),
        ("/sql", {"query": "select 1", "limit": 3}, "limit"),
        ("/sql", {"query": "select '\ud800'"}, "query"),
        ("/alerts/m42-1/comment", {"text": "yes", "by": "ann"}, "by"),
        ("/alerts/m42-1/acknowledge", {"comment": "on my way"}, "comment"),
    ],
)
def test_a_body_with_an_unknown_member_or_a_character_nobody_can_store_is_refused(
    client: httpx.Client, path: str, body: dict[str, Any], where: str
) -> None:
    answer = client.post(
        path, content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["where"] == f"body.{where}"
