from __future__ import annotations

import base64

import httpx
import pytest

URL = "http://127.0.0.1:9/hook"


def test_a_secret_is_told_once_when_a_webhook_is_registered(client: httpx.Client) -> None:
    answer = client.post("/webhooks", json={"url": URL})
    assert answer.status_code == 201
    made = answer.json()
    assert made["secret"].startswith("whsec_")
    assert answer.headers["cache-control"] == "no-store"

    looked_up = client.get(answer.headers["location"])
    assert looked_up.json() == {
        "id": made["id"],
        "url": URL,
        "created_at": "2026-03-01T12:00:00Z",
        "queries": [],
    }
    listed = client.get("/webhooks")
    assert made["id"] in [each["id"] for each in listed.json()["webhooks"]]
    assert made["secret"] not in listed.text


def test_a_secret_of_ones_own_is_kept(client: httpx.Client) -> None:
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    answer = client.post("/webhooks", json={"url": URL, "secret": secret})
    assert answer.json()["secret"] == secret


def test_a_webhook_may_name_queries(client: httpx.Client) -> None:
    made = client.post("/webhooks", json={"url": URL, "queries": ["crowd", "urn:q"]})
    assert made.json()["queries"] == ["crowd", "urn:q"]
    assert client.get(made.headers["location"]).json()["queries"] == ["crowd", "urn:q"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"url": "ftp://example.org/"}, "expected http"),
        ({"url": URL, "secret": "short"}, "24 to 64"),
        ({}, "body.url"),
        ({"url": URL, "queries": "crowd"}, "body.queries"),
        ({"url": URL, "queries": [7]}, "body.queries.0"),
        ({"url": "http://x/" + "y" * 2000}, "body.url"),
    ],
)
def test_what_is_no_webhook_is_refused_and_says_why(
    client: httpx.Client, body: dict[str, object], told: str
) -> None:
    answer = client.post("/webhooks", json=body)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]


def test_a_deleted_webhook_is_gone(client: httpx.Client) -> None:
    place = client.post("/webhooks", json={"url": URL}).headers["location"]
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404
    assert client.delete(place).status_code == 404
