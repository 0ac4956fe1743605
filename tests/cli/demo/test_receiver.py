from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx
import pytest
from standardwebhooks import Webhook

from sensorstream.cli.demo.output import Receiver

SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes ...").decode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        receiver.trust(SECRET)
        yield receiver


def post(receiver: Receiver, body: str, *, id: str = "a-1", secret: str = SECRET) -> int:
    now = datetime.now(UTC)
    headers = {
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, now, body),
    }
    return httpx.post(
        receiver.url("city"), content=body, headers=headers, trust_env=False
    ).status_code


def test_a_signed_event_is_kept(receiver: Receiver) -> None:
    assert post(receiver, json.dumps({"id": "m1-1"})) == 204
    assert receiver.wait(1, 60)
    assert receiver.events == [{"id": "m1-1"}]


def test_a_second_copy_is_accepted_and_not_kept(receiver: Receiver) -> None:
    assert [post(receiver, "{}"), post(receiver, "{}"), post(receiver, "{}", id="b")] == [204] * 3
    assert len(receiver.events) == 2


def test_a_wrong_signature_is_refused(receiver: Receiver) -> None:
    other = "whsec_" + base64.b64encode(b"quite another secret ...").decode()
    assert post(receiver, "{}", secret=other) == 401
    assert (receiver.events, receiver.refused) == ([], 1)


def test_a_request_whose_sender_ends_half_way_is_neither_kept_nor_refused(
    receiver: Receiver,
) -> None:
    address = urlsplit(receiver.url("city"))
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"POST /city HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert (receiver.events, receiver.refused) == ([], 0)


def test_waiting_ends_when_nothing_comes(receiver: Receiver) -> None:
    assert not receiver.wait(1, 0.01)
