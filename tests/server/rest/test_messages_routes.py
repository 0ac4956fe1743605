from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any
from xml.sax.saxutils import escape

import httpx
import pytest

from sensorstream.app.life.access_control import Rates
from sensorstream.app.life.pipeline import failed
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Busy
from sensorstream.mapping import parse_document
from sensorstream.server.addresses import admitted

XML = {"content-type": "application/xml"}
MESSAGE = b"<Message><Event/></Message>"
WAYS = {
    "/messages": "{}",
    "/messages/batch": "<Messages>{}</Messages>",
    "/soap": '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>'
    '<postMessage xmlns="urn:sensorstream:soap"><message>{}</message></postMessage>'
    "</e:Body></e:Envelope>",
}


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
        ("application/xml; charset=klingon", "charset klingon is not known"),
        ("application/xml; charset=unicode_escape", "charset unicode_escape is not known"),
        ("application/xml; charset=rot13", "charset rot13 is not known"),
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


@pytest.mark.parametrize("charset", ["ISO-8859-1", "latin-1", '"windows-1252"', "utf-16", "UTF-8"])
@pytest.mark.parametrize("declared", ["", "UTF-8", "ISO-8859-1", "UTF-16"])
@pytest.mark.parametrize("path", WAYS)
def test_the_charset_of_the_header_wins_over_the_declaration(
    client: httpx.Client, application: Any, charset: str, declared: str, path: str
) -> None:
    name = "<Name>Käthe</Name>"
    text = WAYS[path].format(escape(name) if path == "/soap" else name)
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    content = (head + text).encode(charset.strip('"'))
    headers = {"content-type": f"text/xml; charset={charset}"}
    answer = client.post(path, content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    received = parse_document(application.received[-1].content, max_depth=2).getroot()
    assert received.text == "Käthe"


def test_a_message_in_json_is_text_whatever_encoding_it_declares(
    client: httpx.Client, application: Any
) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<Name>Käthe</Name>'
    assert client.post("/messages/batch", json=[text]).json()["accepted"] == 1
    received: Any = parse_document(application.received[-1].content, max_depth=2).getroot()
    assert (received.text, received.sourceline) == ("Käthe", 2)


def test_what_is_not_in_the_charset_of_its_header_is_refused(client: httpx.Client) -> None:
    headers = {"content-type": "application/xml; charset=utf-16-le"}
    answer = client.post("/messages", content=b"<a/>\xd8", headers=headers)
    assert answer.status_code == 400
    assert "not in utf-16-le, which Content-Type names" in answer.json()["detail"]


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
        "see": "docs/use/mapping-rules.html#missing-and-invalid-values",
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


@pytest.mark.parametrize("form", ["application/json", "application/x-ndjson", "text/xml"])
def test_a_batch_is_taken_in_order_and_each_message_fails_for_itself(
    client: httpx.Client, application: Any, form: str
) -> None:
    deep = "<d>" * 100 + "</d>" * 100
    texts = ["<A>ü</A>", "<Bad/>", deep, "<B/>", f"<big>{'x' * 5000}</big>"]
    content = {
        "application/json": json.dumps(texts),
        "application/x-ndjson": "\n".join(json.dumps(each) for each in texts) + "\n\n",
        "text/xml": f"<Messages>\n{' '.join(texts)}</Messages>",
    }
    answer = client.post("/messages/batch", content=content[form], headers={"content-type": form})
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
        (b"<A/>", "text/plain", 415),
        (b"<A/>", "application/xml", 400),
        (b"<Messages><A/>", "application/xml", 400),
        (b"<Messages/>", "application/xml; charset=klingon", 415),
        (b"<Messages>\xe4</Messages>", "application/xml; charset=utf-16", 400),
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


def test_who_sends_faster_than_the_limit_is_told_when_to_send_again(
    client: httpx.Client, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(application.received)
    monkeypatch.setattr(application, "rates", Rates(0.1))
    batch = client.post("/messages/batch", json=["<A/>"] * 20)
    assert batch.json()["accepted"] == 20
    ways: dict[str, dict[str, Any]] = {
        "/messages": {"content": b"<A/>", "headers": XML},
        "/messages/batch": {"json": ["<A/>"]},
    }
    for path, options in ways.items():
        answer = client.post(path, **options)
        assert answer.status_code == 429
        assert answer.json()["type"] == "urn:sensorstream:error:too-fast"
        assert 180 < int(answer.headers["retry-after"]) <= 200
    assert len(application.received) == before + 20


@pytest.mark.parametrize(("room", "taken"), [(0, 0), (3, 600)])
def test_a_batch_waits_for_room_once_it_has_begun(
    client: httpx.Client, application: Any, monkeypatch: pytest.MonkeyPatch, room: int, taken: int
) -> None:
    submit, refusals = application.submit, itertools.count()
    before = len(application.received)

    def sometimes(*arguments: Any, **options: Any) -> Future[Outcome]:
        if len(application.received) >= before + room and next(refusals) % 3 == 0:
            return failed(Busy("10000 messages wait already", retry_after=7))
        future: Future[Outcome] = submit(*arguments, **options)
        return future

    monkeypatch.setattr(application, "submit", sometimes)
    answer = client.post("/messages/batch", json=[f"<A n='{n}'/>" for n in range(taken or 5)])
    received = application.received[before:]
    assert len(received) == taken
    if taken:
        assert answer.json()["accepted"] == taken
        assert [each.content for each in received] == [
            f"<A n='{n}'/>".encode() for n in range(taken)
        ]
    else:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a socket", "a socket"),
    ],
)
def test_an_address_is_what_one_client_has(application: Any, host: str, address: str) -> None:
    sender = admitted(application, {"client": (host, 4711)})
    assert (sender.address, sender.connection) == (address, "4711")
