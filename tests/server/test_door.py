"""Plain messages come in beside the framework: nobody may see that from outside."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

import httpx
import pytest

from tests.server.memory import MemoryApplication
from tests.waiting import eventually

HEAD = b"POST /messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/xml\r\n"
PLAIN = HEAD + b"content-length: 4\r\n\r\n<A/>"
UNUSUAL = (
    HEAD + b"transfer-encoding: chunked\r\n\r\n4\r\n<A/>\r\n0\r\n\r\n",
    HEAD + b"origin: http://localhost\r\ncontent-length: 4\r\n\r\n<A/>",
    HEAD.replace(b"/messages", b"/messages?source=r%65st") + b"content-length: 4\r\n\r\n<A/>",
)


@pytest.fixture
def sent(client: httpx.Client) -> Callable[[bytes, int], list[str]]:
    """Sends bytes; returns so many answers, without what differs from one to the next."""

    def send(content: bytes, count: int) -> list[str]:
        with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as there:
            there.sendall(content)
            received = ""
            while received.count("HTTP/1.1 ") < count or not received.endswith("}"):
                piece = there.recv(65_536).decode()
                assert piece, received
                received += piece
        own = r"(date|x-request-id|content-length): [^\r]*|\"m\d+(-\d)?\"|\"t_.\":[^,}]*"
        other = re.sub(own, "", received)
        return ["\n".join(sorted(each.split("\r\n"))) for each in other.split("HTTP/1.1 ")[1:]]

    return send


def test_a_plain_message_is_answered_as_all_others_are(
    sent: Callable[[bytes, int], list[str]],
) -> None:
    (expected,) = sent(PLAIN, 1)
    assert expected.count("200 OK") == expected.count("nosniff") == 1
    for other in UNUSUAL:
        assert sent(other, 1) == [expected]


def test_refusals_are_the_same(sent: Callable[[bytes, int], list[str]]) -> None:
    for plain, other, status in (
        (b"content-type: application/xml", b"content-type: text/plain", "415"),
        (b"<A/>", b"<A></A", "400"),
        (b"host: localhost", b"host: evil.example", "421"),
        (b"content-length: 4", b"content-length: 999999999", "413"),
    ):
        changed = [each.replace(plain, other) for each in (PLAIN, UNUSUAL[1])]
        if status == "400":
            changed = [each.replace(b"length: 4", b"length: 6") for each in changed]
        told, expected = (sent(each, 1) for each in changed)
        assert told == expected
        assert told[0].count(f"\n{status} ") == 1


def test_messages_that_come_at_once_are_answered_in_order(
    sent: Callable[[bytes, int], list[str]],
) -> None:
    (message,) = sent(PLAIN, 1)
    bad = PLAIN.replace(b"<A/>", b"<A><")
    (refused,) = sent(bad, 1)
    together = PLAIN + bad + UNUSUAL[0] + PLAIN + bad
    assert sent(together, 5) == [message, refused, message, message, refused]


def test_who_leaves_before_the_end_is_counted_once(
    client: httpx.Client, application: MemoryApplication
) -> None:
    asked = {"method": "POST", "path": "/messages", "status": "0"}

    def count(name: str, labels: dict[str, str]) -> float:
        return application.metrics.get_sample_value(f"sensorstream_http_{name}", labels) or 0

    before = count("request_seconds_count", asked)
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as there:
        there.sendall(PLAIN[:-2])
        eventually(lambda: count("requests_running", {}) == 1)
    eventually(lambda: count("request_seconds_count", asked) == before + 1)
    assert count("requests_running", {}) == 0
