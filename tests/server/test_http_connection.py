"""What a client may not do to a connection, with real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import httpx
import pytest

from sensorstream.alerts.feed import AlertFeed
from sensorstream.app.application import Application
from sensorstream.server import http_connection
from sensorstream.server import http_connection as connections
from sensorstream.settings.settings import LimitSettings
from tests.waiting import eventually

XML = b"content-type: application/xml\r\n"
CHUNKED = (
    b"POST /messages HTTP/1.1\r\nhost: localhost\r\n" + XML + b"transfer-encoding: chunked\r\n"
)
GET = b"GET /rules HTTP/1.1\r\nhost: localhost\r\n\r\n"
STREAM = b"GET /alerts/stream HTTP/1.1\r\nhost: localhost\r\n\r\n"
PLACES = 12
"""Of one client: the share of a client that is alone."""


@pytest.fixture(scope="module")
def application(in_memory: Callable[[], Application]) -> Application:
    return in_memory()


@pytest.fixture(scope="module")
def feed(application: Application) -> AlertFeed:
    return application.alert_feed


@pytest.fixture(scope="module")
def strict(
    listen: Callable[[Application], Iterator[str]], application: Application
) -> Iterator[httpx.URL]:
    """A server with 12 places for one client, where half a second is too long."""
    limits = LimitSettings(connections=2 * PLACES, header_seconds=0.5, body_seconds=0.5)
    application.settings = replace(application.settings, limits=limits)
    for url in listen(application):
        yield httpx.URL(url)


@pytest.fixture
def connect(strict: httpx.URL) -> Iterator[Callable[[bytes], socket.socket]]:
    """Opens a connection and sends something."""
    opened: list[socket.socket] = []

    def connect(first: bytes = b"") -> socket.socket:
        assert strict.port is not None
        client = socket.create_connection((strict.host, strict.port), timeout=300)
        opened.append(client)
        client.sendall(first)
        return client

    yield connect
    for each in opened:
        each.close()


def whole(client: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def statuses(received: bytes) -> list[int]:
    return [int(each[:3]) for each in received.split(b"HTTP/1.1 ")[1:]]


def until(client: socket.socket, wanted: bytes) -> bytes:
    received = b""
    while wanted not in received:
        piece = client.recv(65536)
        assert piece, f"closed after {received!r}"
        received += piece
    return received


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"CONNECT example.org:80 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"GET /rules HTTP/1.1\r\nhost: local\0host\r\n\r\n", 400),
        (b"GET /rules HTTP/1.1\r\nhost : localhost\r\n\r\n", 400),
        # Two lengths: what one server takes for a body is a request for another one.
        (CHUNKED + b"content-length: 4\r\n\r\n0\r\n\r\n", 400),
        (b"POST /sql HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400),
        (b"POST /sql HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST /sql HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 40 + b"\r\n\r\n", 400),
        (b"POST /sql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n", 400),
        (CHUNKED + b"\r\nfffffffffffffffffff\r\n", 400),
        (CHUNKED + b"\r\n1;" + b"x" * 300_000, 400),
        (CHUNKED + b"\r\n0\r\nlast: " + b"x" * 300_000, 400),
        (b"GET /" + b"a" * 300_000, 431),
        (b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"a" * 300_000, 431),
        (b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"h: x\r\n" * 400 + b"\r\n", 431),
        (b"\r\n" * 200_000, 431),
    ],
)
def test_a_request_that_is_wrong_or_huge_is_answered_and_its_connection_closed(
    connect: Callable[[bytes], socket.socket], sent: bytes, status: int
) -> None:
    received = whole(connect(sent))
    assert statuses(received) == [status]
    assert b"connection: close" in received
    assert b"application/problem+json" in received


def test_who_sends_no_more_is_told_so_and_left(connect: Callable[[bytes], socket.socket]) -> None:
    length = b"POST /messages HTTP/1.1\r\nhost: localhost\r\n" + XML + b"content-length: 9\r\n"
    begun = [
        b"GET /rules HTT",
        b"GET /rules HTTP/1.1\r\nhost: loc",
        CHUNKED + b"\r\n3\r\n<A",
        length + b"\r\n<A",
    ]
    assert [statuses(whole(each)) for each in [connect(sent) for sent in begun]] == [[408]] * 4
    assert whole(connect(b"")) == b""


@pytest.mark.parametrize(
    ("sent", "kept"), [(CHUNKED + b"\r\n", b"1\r\n \r\n"), (b"GET / HTTP/1.1\r\n", b"x: y\r\n")]
)
def test_a_drop_now_and_then_is_too_slow(
    connect: Callable[[bytes], socket.socket], sent: bytes, kept: bytes
) -> None:
    client = connect(sent)
    client.settimeout(0.05)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            client.sendall(kept)
            received = client.recv(65536)
            break
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return
    assert statuses(received) == [408]


def test_a_hundred_thousand_chunks_of_a_byte_are_a_body(
    connect: Callable[[bytes], socket.socket],
) -> None:
    chunks = b"1\r\n \r\n" * 4_000 + b"4\r\n<A/>\r\n0\r\n\r\n"
    assert statuses(until(connect(CHUNKED + b"\r\n" + chunks), b"}")) == [200]
    assert statuses(whole(connect(CHUNKED + b"\r\n" + b"1\r\n \r\n" * 100_000 + b"0\r\n\r\n"))) == [
        413
    ]


def test_who_expects_100_gets_it_only_if_the_body_is_wanted(
    connect: Callable[[bytes], socket.socket],
) -> None:
    head = b"POST /messages HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n" + XML
    client = connect(head + b"content-length: 4\r\n\r\n")
    assert until(client, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"<A/>")
    assert statuses(until(client, b"}")) == [200]
    assert statuses(whole(connect(head + b"content-length: 999999999\r\n\r\n"))) == [413]


def test_http_1_0_is_answered_and_closed(connect: Callable[[bytes], socket.socket]) -> None:
    assert statuses(whole(connect(b"GET /rules HTTP/1.0\r\n\r\n"))) == [200]


def test_requests_sent_ahead_are_answered_in_order_and_too_many_refused(
    connect: Callable[[bytes], socket.socket],
) -> None:
    last = b"GET /window HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    received = whole(connect(GET * 20 + last))
    assert statuses(received) == [200] * 21
    assert received.rindex(b'"rules"') < received.index(b'"individuals"')
    assert len(statuses(whole(connect(GET * 2_000)))) < 2_000


def test_an_upgrade_is_ignored(connect: Callable[[bytes], socket.socket]) -> None:
    head = b"GET /rules HTTP/1.1\r\nhost: localhost\r\n"
    upgrade = head + b"connection: upgrade\r\nupgrade: websocket\r\n\r\n"
    assert statuses(whole(connect(upgrade))) == [200]


def test_an_answer_before_the_end_of_the_body_ends_the_connection_soon(
    connect: Callable[[bytes], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "_LINGER", 0.2)
    wrong = CHUNKED.replace(b"application/xml", b"text/plain")
    assert statuses(whole(connect(wrong + b"\r\n3\r\n<A>"))) == [415]


def test_the_rest_of_an_answered_request_is_thrown_away_and_the_connection_goes_on(
    connect: Callable[[bytes], socket.socket],
) -> None:
    client = connect(CHUNKED.replace(b"application/xml", b"text/plain") + b"\r\n3\r\n<A>\r\n")
    assert statuses(until(client, b"}")) == [415]
    client.sendall(b"0\r\n\r\n" + GET)
    assert statuses(until(client, b"digest")) == [200]


def test_a_client_that_takes_nothing_of_its_answers_is_left(
    connect: Callable[[bytes], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "_WRITE_SECONDS", 0.2)
    large = b"GET /assets/swagger-ui-bundle.js HTTP/1.1\r\nhost: localhost\r\n\r\n"
    client = connect(large * 20)

    def left() -> bool:
        try:
            client.send(b"G")
        except (ConnectionResetError, BrokenPipeError):
            return True
        return False

    eventually(left)
    assert left(), "the connection is taken again"


def test_who_waits_longest_gives_its_place_to_a_new_connection(
    connect: Callable[[bytes], socket.socket],
) -> None:
    first, *_others = [connect(GET) for _ in range(PLACES)]
    until(first, b"digest")
    for _ in range(3 * PLACES):
        assert statuses(until(connect(GET), b"digest")) == [200]
    assert first.recv(10) == b""


def test_over_the_limit_health_is_answered_and_the_rest_told_to_come_again(
    connect: Callable[[bytes], socket.socket], strict: httpx.URL
) -> None:
    streams = [connect(STREAM) for _ in range(PLACES)]
    for each in streams:
        until(each, b": listening")
    received = whole(connect(GET))
    assert statuses(received) == [503]
    assert b"retry-after: 1" in received
    for _ in range(3):
        assert statuses(whole(connect(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"))) == [
            200
        ]
    crowd = [connect(b"") for _ in range(connections._SPARE + PLACES)]
    assert statuses(whole(crowd[-1])) in ([503], [])
    for each in streams:
        each.close()
    eventually(lambda: httpx.get(strict.join("/rules")).status_code == 200)


def test_a_stream_ends_when_its_client_leaves_with_a_request_behind_it(
    connect: Callable[[bytes], socket.socket], feed: AlertFeed
) -> None:
    eventually(lambda: not feed._subscriptions)
    client = connect(STREAM + GET)
    until(client, b": listening")
    assert feed._subscriptions
    client.close()
    eventually(lambda: not feed._subscriptions)
