"""Clients by their addresses, with real sockets: what one may take, and who says which it is."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import ip_network

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.app.life.access_control import Rates
from sensorstream.server.addresses import client_of, is_in, with_mapped
from sensorstream.settings.settings import HttpSettings, LimitSettings
from tests.waiting import eventually

STREAM = b"GET /alerts/stream HTTP/1.1\r\nhost: localhost\r\n\r\n"
PLACES = 24
Listen = Callable[..., Iterator[str]]


@pytest.fixture(scope="module")
def port(listen: Listen, in_memory: Callable[[], Application]) -> Iterator[int]:
    """The port of a server with 24 places, on all addresses."""
    application = in_memory()
    limits = LimitSettings(connections=PLACES)
    application.settings = replace(application.settings, limits=limits)
    for url in listen(application, every=True):
        port = httpx.URL(url).port
        assert port is not None
        yield port


def ask(port: int, host: str, path: str, source: str = "") -> int:
    """The status of an answer to a client with an address of its own."""
    address = (source, 0) if source else None
    with socket.create_connection((host, port), timeout=300, source_address=address) as client:
        client.sendall(b"GET %b HTTP/1.0\r\nhost: localhost\r\n\r\n" % path.encode())
        return int(client.recv(65536).split()[1])


@pytest.mark.parametrize(
    ("greedy", "others"),
    [
        ("127.0.0.1", [("127.0.0.1", "127.0.0.2"), ("::1", "")]),
        ("::1", [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")]),
    ],
)
def test_a_client_that_takes_all_its_places_closes_the_server_to_itself_alone(
    port: int, greedy: str, others: list[tuple[str, str]]
) -> None:
    eventually(lambda: ask(port, greedy, "/rules") == 200)
    with ExitStack() as stack:
        for number in range(PLACES):
            client = stack.enter_context(socket.create_connection((greedy, port), timeout=300))
            client.sendall(STREAM)
            told = client.recv(100)
            assert (b" 200 " if number < PLACES // 2 else b" 503 ") in told
        assert ask(port, greedy, "/rules") == 503
        assert ask(port, greedy, "/healthz") == 200
        for host, source in others:
            assert ask(port, host, "/rules", source) == 200


@pytest.mark.parametrize(
    ("proxies", "last"), [((), 429), ((ip_network("127.0.0.0/8"),), 200), (("::1/128",), 429)]
)
def test_only_a_proxy_says_who_asks(
    listen: Listen, in_memory: Callable[[], Application], proxies: tuple[object, ...], last: int
) -> None:
    application = in_memory()
    http = HttpSettings(proxies=tuple(ip_network(each) for each in proxies))  # type: ignore[arg-type]
    application.settings = replace(application.settings, http=http)
    application.rates = Rates(0.1)
    for url in listen(application, every=True):
        statuses = [
            httpx.post(
                f"{url}/messages",
                content=b"<A/>",
                headers={"content-type": "text/xml", "x-forwarded-for": f"{said}, 192.0.2.{n}"},
            ).status_code
            for n, said in enumerate(("10.0.0.1", "10.0.0.1", "10.0.0.2"))
        ]
        assert (statuses[0], statuses[-1]) == (200, last)


def test_an_ipv6_client_is_its_network_and_a_mapped_one_its_ipv4_address() -> None:
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:1") == "2001:db8::/64"
    assert client_of("2001:db8:0:1::1") != client_of("2001:db8::1")
    assert client_of("::ffff:192.0.2.1") == client_of("192.0.2.1") == "192.0.2.1"
    assert client_of("testclient") == "testclient"
    networks = [ip_network("10.0.0.0/8")]
    assert is_in("10.1.2.3", networks)
    assert is_in("::ffff:10.1.2.3", networks)
    assert not is_in("11.1.2.3", networks)
    assert not is_in("", networks)
    assert with_mapped(networks) == ["10.0.0.0/8", "::ffff:a00:0/104"]
