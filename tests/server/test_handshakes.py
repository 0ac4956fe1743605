"""Connections that shall become TLS, with real sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.server.tls import Certificate
from sensorstream.settings.settings import LimitSettings
from tests.server.certificates import write_certificate

PLACES = 8


@dataclass(frozen=True)
class Secure:
    url: httpx.URL
    trusting: ssl.SSLContext

    def connect(self) -> socket.socket:
        assert self.url.port is not None
        return socket.create_connection((self.url.host, self.url.port), timeout=300)

    def get(self, path: str) -> int:
        return httpx.get(
            self.url.join(path), verify=self.trusting, trust_env=False, timeout=300
        ).status_code


@pytest.fixture(scope="module")
def secure(
    listen: Callable[..., Iterator[str]],
    in_memory: Callable[[], Application],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Secure]:
    """A server with 8 places for one client, where one second is too long."""
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "chain.pem", folder / "key.pem"
    write_certificate(chain, key, "server")
    application = in_memory()
    limits = LimitSettings(connections=2 * PLACES, header_seconds=1)
    application.settings = replace(application.settings, limits=limits)
    for url in listen(application, Certificate(chain, key).context):
        yield Secure(httpx.URL(url), ssl.create_default_context(cafile=chain))


def test_those_who_never_begin_a_handshake_keep_nobody_out(secure: Secure) -> None:
    idle = [secure.connect() for _ in range(5 * PLACES)]
    assert secure.get("/rules") == 200
    assert secure.get("/readyz") == 200
    # They are closed: some gave their place, the others took too long.
    for each in idle:
        with each, suppress(ConnectionResetError):
            assert each.recv(1) == b""


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0" * 70_000]
)
def test_what_is_no_handshake_ends(secure: Secure, sent: bytes) -> None:
    with secure.connect() as client:
        client.sendall(sent)
        with suppress(ConnectionResetError):
            while client.recv(65536):
                pass
    assert secure.get("/rules") == 200


def test_a_client_that_leaves_during_the_handshake_leaves_its_place(secure: Secure) -> None:
    for _ in range(2 * PLACES):
        with secure.connect() as client:
            client.sendall(b"\x16\x03\x01")
    assert secure.get("/rules") == 200


def test_a_request_right_behind_the_handshake_is_answered(secure: Secure) -> None:
    def ask() -> None:
        with (
            secure.connect() as client,
            secure.trusting.wrap_socket(client, server_hostname="localhost") as tls,
        ):
            tls.sendall(
                b"GET /rules HTTP/1.1\r\nhost: localhost\r\n\r\n"
                b"GET /rules HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            )
            received = b""
            while piece := tls.recv(65536):
                received += piece
        answered.append(received.count(b"HTTP/1.1 200 OK"))

    answered: list[int] = []
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answered == [2, 2, 2, 2]
