"""What people do with alerts over HTTP, and silences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.resources import OneIncident


@pytest.fixture(autouse=True)
def incident(application: Any) -> Iterator[None]:
    """The incident of this test alone: the application is that of others, too."""
    before, application.incidents = application.incidents, OneIncident()
    yield
    application.incidents = before


def test_what_is_open_is_listed_and_looked_up_by_any_of_its_alerts(client: httpx.Client) -> None:
    (listed,) = client.get("/alerts", params={"state": "open"}).json()["alerts"]
    assert listed == client.get("/alerts/m44-1").json()
    assert (listed["id"], listed["count"], listed["state"]) == ("m42-1", 3, "open")
    assert client.get("/alerts", params={"state": "cleared"}).json()["alerts"] == []
    page = client.get("/alerts", params={"state": "open", "limit": 1}).json()
    assert client.get(page["next"]).json() == {"alerts": [], "next": None}
    problem = client.get("/alerts/m1-1")
    assert (problem.status_code, problem.json()["type"]) == (
        404,
        "urn:sensorstream:error:unknown-alert",
    )


def test_what_people_do_is_answered_with_the_new_state_and_kept(client: httpx.Client) -> None:
    done = client.post("/alerts/m42-1/acknowledge").json()
    assert (done["state"], done["acknowledged_by"]) == ("acknowledged", "anonymous")
    assert client.post("/alerts/m42-1/assign", json={"to": "ann"}).json()["assignee"] == "ann"
    client.post("/alerts/m42-1/comment", json={"text": "a school class"})
    assert client.post("/alerts/m42-1/clear", json={"text": "done"}).json()["state"] == "cleared"
    assert client.post("/alerts/m42-1/acknowledge").status_code == 409
    first = client.get("/alerts/m42-1/history", params={"limit": 3}).json()
    rest = client.get(first["next"]).json()
    told = [(each["change"], each["text"]) for each in (*first["changes"], *rest["changes"])]
    assert told == [
        ("raised", "21 people"),
        ("acknowledged", ""),
        ("assigned", "ann"),
        ("commented", "a school class"),
        ("cleared", "done"),
    ]


def test_changes_are_streamed_as_they_come_and_from_where_a_client_was(
    client: httpx.Client, application: Any
) -> None:
    def followed(count: int, **how: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with client.stream("GET", "/alerts/stream?changes=true", **how) as response:
            name, lines = "", response.iter_lines()
            assert next(lines) == ": listening"
            client.post("/alerts/m42-1/comment", json={"text": f"no {len(seen)}"})
            application.alert_feed.announce()
            for line in lines:
                name = line.removeprefix("event: ") if line.startswith("event: ") else name
                if line.startswith("data: "):
                    assert name == "change"
                    found.append(json.loads(line.removeprefix("data: ")))
                if len(found) == count:
                    break
        seen.extend(found)
        return found

    seen: list[dict[str, Any]] = []
    client.post("/alerts/m42-1/acknowledge")
    assert [each["text"] for each in followed(1)] == ["no 0"]
    client.post("/alerts/m42-1/clear")
    again = followed(2, headers={"Last-Event-ID": str(seen[0]["seq"])})
    assert [(each["change"], each["text"]) for each in again] == [
        ("cleared", ""),
        ("commented", "no 1"),
    ]
    history = client.get("/alerts/m42-1/history").json()["changes"]
    assert followed(5, params={"changes": True, "after": 0})[:4] == history[:4]


def test_silences_are_begun_listed_and_ended(client: httpx.Client) -> None:
    wanted = {"key": "kit*", "ends_at": "2100-01-01T00:00:00Z", "comment": "party"}
    made = client.post("/silences", json=wanted)
    assert made.status_code == 201
    assert made.json().items() >= wanted.items()
    assert client.get("/silences").json() == {"silences": [made.json()]}
    assert client.delete(f"/silences/{made.json()['id']}").status_code == 204
    assert client.delete("/silences/1").status_code == 404
    assert client.post("/silences", json={"ends_at": wanted["ends_at"]}).status_code == 409


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/alerts/m42-1/comment", {"text": ""}),
        ("/alerts/m42-1/comment", {"text": "x" * 2001}),
        ("/alerts/m42-1/assign", {"to": "x" * 201}),
        ("/silences", {"key": "a", "ends_at": "2100-01-01"}),
        ("/silences", {"severity": "loud", "ends_at": "2100-01-01T00:00:00Z"}),
    ],
)
def test_what_is_too_long_or_no_value_is_refused(
    client: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    assert client.post(path, json=body).status_code == 422
