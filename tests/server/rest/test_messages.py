from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

XML = {"content-type": "application/xml"}
MESSAGE = b"<Message><Event/></Message>"


def test_a_posted_message_is_answered_by_what_became_of_it(
    client: httpx.Client, application: Any
) -> None:
    answer = client.post("/messages?source=tracker-7", content=MESSAGE, headers=XML)
    assert answer.status_code == 200
    message = application.received[-1]
    assert (message.content, message.source) == (MESSAGE, "tracker-7")
    assert answer.json() == {
        "message_id": message.id,
        "status": "accepted",
        "matched": ["tracker", "sensor"],
        "individuals": ["http://example.org/human-1"],
        "alerts": [
            {
                "id": f"{message.id}-1",
                "rule": "crowded",
                "kind": "rule",
                "severity": "warning",
                "text": "21 people",
                "key": "kitchen",
                "time": 7,
                "message_id": message.id,
            }
        ],
        "expired": 0,
        "filtered": [],
        "shed": [],
        "timings": {"t_i": 0.001, "t_w": 0.002, "t_m": 0.003, "t_s": 0.004},
        "replies": ["<Command lamp='on'/>"],
        "warnings": ["something odd"],
    }


@pytest.mark.parametrize(
    "content_type",
    ["text/xml", "application/xml; charset=UTF-8", 'text/xml; charset="utf-8"', "image/svg+xml"],
)
def test_every_way_to_say_xml_is_accepted(client: httpx.Client, content_type: str) -> None:
    answer = client.post("/messages", content=MESSAGE, headers={"content-type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("content_type", "told"),
    [
        ("application/json", "not XML"),
        ("application/x-www-form-urlencoded", "expected application/xml"),
        ("application/xml; charset=iso-8859-1", "XML declaration"),
    ],
)
def test_another_content_type_is_refused(
    client: httpx.Client, content_type: str, told: str
) -> None:
    answer = client.post("/messages", content=MESSAGE, headers={"content-type": content_type})
    assert answer.status_code == 415
    assert told in answer.json()["detail"]


def test_a_message_in_another_encoding_declares_it_itself(
    client: httpx.Client, application: Any
) -> None:
    content = '<?xml version="1.0" encoding="ISO-8859-1"?><Name>Käthe</Name>'.encode("latin-1")
    assert client.post("/messages", content=content, headers=XML).status_code == 200
    assert application.received[-1].content == content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<open>",
        b"not xml",
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
        b"<a>" * 65 + b"</a>" * 65,
    ],
    ids=["empty", "open", "text", "doctype", "deep"],
)
def test_what_is_not_acceptable_xml_is_a_bad_request(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/messages", content=content, headers=XML)
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:sensorstream:error:malformed-message"


def test_a_message_that_cannot_be_taken_in_says_why_and_where(client: httpx.Client) -> None:
    answer = client.post("/messages", content=b"<Bad/>", headers=XML)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:sensorstream:error:mapping",
        "title": "A mapping rule matched, but a value is missing or invalid",
        "status": 422,
        "detail": "rule 'tracker': {@x} is 'abc', expected an integer",
        "position": {"file": "message", "line": 1, "column": 5},
    }


def test_an_overloaded_server_says_when_to_come_back(client: httpx.Client) -> None:
    answer = client.post("/messages", content=b"<Busy/>", headers=XML)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_a_defect_is_told_without_the_inside(client: httpx.Client) -> None:
    answer = client.post("/messages", content=b"<Defect/>", headers=XML)
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:sensorstream:error:internal"
    assert "secret" not in answer.text


def test_a_body_over_the_limit_is_refused_by_its_announced_length(client: httpx.Client) -> None:
    answer = client.post("/messages", content=b"<a>" + b"x" * 5000 + b"</a>", headers=XML)
    assert answer.status_code == 413
    assert answer.json()["type"] == "urn:sensorstream:error:message-too-large"


def test_a_body_over_the_limit_is_not_read_to_its_end(client: httpx.Client) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 500_000_000:
            sent += 65_536
            yield b"x" * 65_536

    try:
        answer = client.post("/messages", content=endless(), headers=XML)
    except httpx.WriteError:  # the server closed while we were still sending
        pass
    else:
        assert answer.status_code == 413
        assert answer.json()["type"] == "urn:sensorstream:error:message-too-large"
    assert sent < 100_000_000


def test_the_largest_message_allowed_is_taken(client: httpx.Client) -> None:
    content = b"<a>" + b"x" * (4096 - 7) + b"</a>"
    assert client.post("/messages", content=content, headers=XML).status_code == 200


@pytest.mark.parametrize("lines", [False, True], ids=["array", "ndjson"])
def test_a_batch_is_taken_in_order_and_each_message_fails_for_itself(
    client: httpx.Client, application: Any, lines: bool
) -> None:
    texts = ["<A>ü</A>", "<Bad/>", "<open>", "<B/>", f"<big>{'x' * 5000}</big>"]
    if lines:
        content = "\n".join(json.dumps(each) for each in texts) + "\n\n"
        answer = client.post(
            "/messages/batch",
            content=content,
            headers={"content-type": "application/x-ndjson"},
        )
    else:
        answer = client.post("/messages/batch", json=texts)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["accepted"], told["failed"]) == (2, 3)
    kinds = [
        each["problem"]["type"].rpartition(":")[2] if "problem" in each else "ok"
        for each in told["results"]
    ]
    assert kinds == ["ok", "mapping", "malformed-message", "ok", "message-too-large"]
    assert [each.content for each in application.received[-2:]] == ["<A>ü</A>".encode(), b"<B/>"]


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"a": 1}', "application/json", 400),
        (b"[1]", "application/json", 400),
        (b'"<A/>"\n<B/>', "application/x-ndjson", 400),
        (b"<A/>", "application/xml", 415),
        (json.dumps(["<A/>"] * 10_001).encode(), "application/json", 413),
    ],
)
def test_what_is_no_batch_is_refused_as_a_whole(
    client: httpx.Client, application: Any, content: bytes, content_type: str, status: int
) -> None:
    before = len(application.received)
    headers = {"content-type": content_type}
    answer = client.post("/messages/batch", content=content, headers=headers)
    assert answer.status_code == status
    assert len(application.received) == before
