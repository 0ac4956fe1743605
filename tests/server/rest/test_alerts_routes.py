from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx

from tests.waiting import eventually


def events(response: httpx.Response) -> Iterator[dict[str, str]]:
    """The server-sent events of a response, comments left out."""
    event: dict[str, str] = {}
    for line in response.iter_lines():
        if not line:
            if "data" in event:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value


def test_alerts_are_listed_newest_first_page_by_page(
    client: httpx.Client, application: Any
) -> None:
    raised = [application.raise_alert(f"alert {n}") for n in range(5)]
    first = client.get("/alerts", params={"limit": 2}).json()
    assert [each["text"] for each in first["alerts"]] == ["alert 4", "alert 3"]
    assert first["alerts"][0] == {
        "id": raised[-1].alert.id,
        "rule": "crowded",
        "kind": "rule",
        "severity": "warning",
        "text": "alert 4",
        "key": "kitchen",
        "time": raised[-1].seq,
        "message_id": raised[-1].alert.message,
        "raised_at": "2026-03-01T12:00:00Z",
        "seq": raised[-1].seq,
    }
    second = client.get(first["next"]).json()
    assert [each["text"] for each in second["alerts"]] == ["alert 2", "alert 1"]
    assert client.get("/alerts", params={"limit": 1000}).json()["next"] is None


def test_the_stream_tells_new_alerts_as_they_come(client: httpx.Client, application: Any) -> None:
    application.raise_alert("before")
    with client.stream("GET", "/alerts/stream") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        assert next(lines) == ": listening"
        raised = application.raise_alert("after")
        for line in lines:
            if line.startswith("event: "):
                break
        told = json.loads(next(lines).removeprefix("data: "))
        assert told["text"] == "after"
        assert next(lines) == f"id: {raised.seq}"


def test_a_client_that_comes_back_gets_what_it_missed_first(
    client: httpx.Client, application: Any
) -> None:
    seen = application.raise_alert("seen")
    missed = [application.raise_alert(f"missed {n}") for n in range(150)]
    for how in (
        {"headers": {"Last-Event-ID": str(seen.seq)}},
        {"params": {"after": str(seen.seq)}},
    ):
        with client.stream("GET", "/alerts/stream", **how) as response:  # type: ignore[arg-type]
            told = []
            for event in events(response):
                told.append(event)
                if len(told) == len(missed):
                    application.raise_alert("live")
                if len(told) > len(missed):
                    break
        assert [int(each["id"]) for each in told[:-1]] == [each.seq for each in missed]
        assert json.loads(told[-1]["data"])["text"] == "live"
        assert {each["event"] for each in told} == {"alert"}
        del application.kept[-1]


def test_a_cursor_that_is_no_number_is_refused(client: httpx.Client) -> None:
    answer = client.get("/alerts/stream", headers={"Last-Event-ID": "m42-1"})
    assert answer.status_code == 422
    assert "last-event-id" in answer.json()["detail"].lower()


def test_streams_end_when_the_application_closes(listen: Any, application: Any) -> None:
    closing = type(application)()
    serving = listen(closing)
    url = next(serving)
    with httpx.stream("GET", f"{url}/alerts/stream", timeout=120) as response:
        lines = response.iter_lines()
        assert next(lines) == ": listening"
        stopping = threading.Thread(target=lambda: list(serving))
        stopping.start()
        rest = list(lines)
        stopping.join()
    assert [line for line in rest if line and not line.startswith(("retry", ":"))] == []


def test_subscribers_that_leave_are_forgotten(client: httpx.Client, application: Any) -> None:
    with client.stream("GET", "/alerts/stream") as response:
        lines = response.iter_lines()  # an iterator that is dropped closes the connection
        assert next(lines) == ": listening"
        eventually(lambda: len(application.alert_feed) >= 1)
    eventually(lambda: len(application.alert_feed) == 0)


def test_the_messages_behind_an_alert_come_page_by_page(client: httpx.Client) -> None:
    path = "/alerts/m42-1/messages"
    first = client.get(path, params={"limit": 1}).json()
    assert first["alert"]["id"] == "m42-1"
    (dropped,) = first["messages"]
    assert (dropped["message_id"], dropped["dropped"], dropped["content"]) == ("m3", True, None)
    rest = client.get(first["next"]).json()
    assert [each["content"] for each in rest["messages"]] == ["<\ufffdA/>"]
    assert client.get(path).json()["next"] is None
    problem = client.get("/alerts/m1-1/messages")
    assert problem.status_code == 404
    assert problem.json()["type"].endswith("unknown-alert")


def test_an_individual_is_found_by_path_and_by_parameter(client: httpx.Client) -> None:
    by_path = client.get("/individuals/http%3A%2F%2Fexample.org%2Fa")
    by_parameter = client.get("/individuals", params={"iri": "http://example.org/a"})
    assert by_path.status_code == 200
    assert by_path.json() == by_parameter.json()
