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
        "format": "cloudevents",
        "changes": False,
        "group": None,
        "escalated": False,
        "enabled": True,
        "disabled_at": None,
        "failing_since": None,
        "last_delivery": None,
        "digest": looked_up.headers["etag"].strip('"'),
    }
    listed = client.get("/webhooks")
    assert made["id"] in [each["id"] for each in listed.json()["webhooks"]]
    assert made["secret"] not in listed.text


def test_a_webhook_is_put_by_an_id_and_told_its_secret_when_it_is_new(client: httpx.Client) -> None:
    put = client.put("/webhooks/of-this-test", json={"url": URL, "queries": ["crowd"]})
    assert (put.status_code, put.json()["id"]) == (201, "of-this-test")
    assert put.json()["secret"].startswith("whsec_")
    again = client.put("/webhooks/of-this-test", json={"url": f"{URL}/b"})
    assert (again.status_code, again.json()["url"], "secret" in again.json()) == (
        200,
        f"{URL}/b",
        False,
    )
    tried = client.put(
        "/webhooks/of-this-test", json={"url": URL, "queries": ["crowd"]}, params={"dry-run": ""}
    )
    assert tried.json() == {"faults": [], "absent": ["crowd"]}
    refused = client.put("/webhooks/of-this-test", json={"url": URL, "secret": "whsec_x"})
    assert (refused.status_code, refused.json()["type"]) == (
        422,
        "urn:sensorstream:error:invalid-request",
    )


def test_a_secret_of_ones_own_is_kept(client: httpx.Client) -> None:
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    answer = client.post("/webhooks", json={"url": URL, "secret": secret})
    assert answer.json()["secret"] == secret


def test_a_webhook_may_ask_for_groups(client: httpx.Client) -> None:
    made = client.put("/webhooks/grouped", json={"url": URL, "group": {"by": ["severity", "rule"]}})
    group = {"by": ["rule", "severity"], "wait": 30, "interval": 300}
    assert made.json()["group"] == group
    assert client.get("/webhooks/grouped").json()["group"] == group
    for wrong in ({}, {"by": ["colour"]}, {"by": [], "wait": -1}, {"by": [], "every": 1}):
        answer = client.put("/webhooks/grouped", json={"url": URL, "group": wrong})
        assert answer.status_code == 422
    client.put("/webhooks/grouped", json={"url": URL})
    assert client.get("/webhooks/grouped").json()["group"] is None


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
        ({"url": URL, "format": "telegram"}, "body.format"),
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


@pytest.fixture
def place(client: httpx.Client) -> str:
    """The path of a webhook."""
    return str(client.post("/webhooks", json={"url": URL}).headers["location"])


def test_a_secret_can_be_rotated_and_is_told_once(client: httpx.Client, place: str) -> None:
    answer = client.post(f"{place}/secret")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["secret"].startswith("whsec_")
    assert answer.json()["old_until"] == "2026-03-01T12:00:00Z"
    own = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
    assert client.post(f"{place}/secret", json={"secret": own}).json()["secret"] == own
    assert client.post(f"{place}/secret", json={"secret": "short"}).status_code == 422


def test_a_test_tells_what_came(client: httpx.Client, place: str) -> None:
    assert client.post(f"{place}/test").json() == {
        "delivered": True,
        "seconds": 0.25,
        "status": 204,
        "answer": "",
        "error": None,
    }


def test_deliveries_are_listed_by_state_and_page(client: httpx.Client, place: str) -> None:
    page = client.get(f"{place}/deliveries", params={"state": "dead", "limit": 1}).json()
    (told,) = page["deliveries"]
    assert (told["id"], told["state"], told["status"], told["answer"]) == (7, "dead", 500, "why")
    assert page["next"] == f"{place}/deliveries?limit=1&before=7&state=dead"
    assert client.get(page["next"]).json() == {"deliveries": [], "next": None}
    assert client.get(f"{place}/deliveries").json()["next"] is None


def test_dead_deliveries_are_sent_again_one_or_all_of_a_span(
    client: httpx.Client, place: str
) -> None:
    answer = client.post("/deliveries/7/resend")
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    since = {"since": "2026-03-01T00:00:00Z"}
    assert client.post(f"{place}/recover", params=since).json() == {"recovered": 1}
    assert client.post(f"{place}/enable").json()["enabled"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/webhooks/none/enable", 404),
        ("POST", "/webhooks/none/secret", 404),
        ("POST", "/webhooks/none/test", 404),
        ("GET", "/webhooks/none/deliveries", 404),
        ("POST", "/webhooks/none/recover?since=2026-01-01T00:00:00Z", 404),
        ("POST", "/webhooks/none/recover", 422),
        ("POST", "/webhooks/none/recover?since=yesterday", 422),
        ("POST", "/webhooks/none/recover?since=2026-01-01T00:00:00", 422),
        ("GET", "/webhooks/none/deliveries?state=odd", 422),
        ("GET", "/webhooks/none/deliveries?before=" + "9" * 5000, 422),
        ("POST", "/deliveries/8/resend", 404),
        ("POST", "/deliveries/" + "9" * 5000 + "/resend", 422),
        ("POST", "/deliveries/x/resend", 422),
    ],
)
def test_what_is_not_there_or_not_understood_is_said(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    assert client.request(method, path).status_code == status
