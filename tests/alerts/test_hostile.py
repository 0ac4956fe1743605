"""Receivers that mean harm, or are broken: each costs one attempt, and nobody else waits."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from sensorstream.alerts.poster import _LONGEST_WAIT, _wait
from sensorstream.clock import SystemClock
from tests.alerts.bench import NOW, Bench
from tests.waiting import eventually

Behaviour = Callable[[socket.socket, threading.Event], None]
NEVER = 600.0
"""Seconds of a timeout that does not come in these tests."""


def drip(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not ended.wait(0.02):
        connection.sendall(b"a")


def say_nothing(connection: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def close_at_once(connection: socket.socket, ended: threading.Event) -> None:
    """Nothing is read, nothing is said."""


def answer_without_end(connection: socket.socket, ended: threading.Event) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
    while not ended.is_set():
        connection.sendall(b"x" * 65_536)


def answer_then_drip(connection: socket.socket, ended: threading.Event) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 500 Odd\r\nContent-Length: 100\r\n\r\nwhy: ")
    ended.wait()


@contextmanager
def listening(behaviour: Behaviour) -> Iterator[int]:
    """The port of a receiver; all its connections end with the context."""
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            behaviour(connection, ended)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        yield server.getsockname()[1]
        ended.set()
        server.shutdown(socket.SHUT_RDWR)
        acceptor.join()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("behaviour", [drip, say_nothing])
def test_many_that_hang_delay_nobody(
    bench: Bench, receiver: Any, make_delivery: Any, behaviour: Behaviour
) -> None:
    with listening(behaviour) as plain, listening(say_nothing) as secure:
        for number in range(20):
            scheme, port = ("http", plain) if number % 2 else ("https", secure)
            # Each has a name of its own, so that no host's limit keeps them apart.
            url = f"{scheme}://h{number}.invalid:{port}/"
            bench.outbox.add(make_delivery(number + 1, url, webhook=f"hostile{number}"), NOW)
        for number in range(200, 203):
            due = NOW + timedelta(minutes=1)
            bench.outbox.add(make_delivery(number, receiver.url, webhook="works"), due)
        bench.start(timeout=NEVER, resolver=lambda host, port: ["127.0.0.1"])
        eventually(lambda: len(bench.outbox.done) == 3)
        assert [each.id for each in bench.outbox.done] == [200, 201, 202]
        assert bench.outbox.attempts[0].seconds < NEVER
        assert bench.outbox.failures == []


def test_a_part_of_all_attempts_at_a_time_goes_to_one_host_and_a_stop_waits_for_these_alone(
    bench: Bench, make_delivery: Any
) -> None:
    met: list[int] = []

    def count(connection: socket.socket, ended: threading.Event) -> None:
        met.append(1)
        ended.wait()

    with listening(count) as port:
        for number in range(1, 41):
            url = f"http://127.0.0.1:{port}/{number}"
            bench.outbox.add(make_delivery(number, url, webhook=f"w{number}"), NOW)
        dispatcher = bench.start(timeout=NEVER)
        eventually(lambda: len(met) == 16)
        assert len(dispatcher._busy) == 40
        assert len(met) == 16
        dispatcher._stopping.set()
        dispatcher.wake()
    dispatcher.stop()
    assert len(met) == len(bench.outbox.failures) == 16


@pytest.mark.parametrize(
    ("scheme", "behaviour", "told"),
    [
        ("http", drip, "waiting for the answer took more than 0.3 seconds in all"),
        ("http", say_nothing, "waiting for the answer took more than 0.3 seconds in all"),
        ("https", say_nothing, "the TLS handshake took more than 0.3 seconds in all"),
        ("http", close_at_once, "Error: "),
        ("https", close_at_once, "Error: "),
    ],
)
def test_one_deadline_is_for_a_whole_attempt(
    bench: Bench, make_delivery: Any, scheme: str, behaviour: Behaviour, told: str
) -> None:
    with listening(behaviour) as port:
        bench.outbox.add(make_delivery(1, f"{scheme}://127.0.0.1:{port}/"), NOW)
        bench.start(timeout=0.3 if "0.3" in told else NEVER, max_attempts=1)
        eventually(lambda: bench.outbox.dead)
    assert told in bench.outbox.dead[0][1]


def test_a_connection_that_is_never_accepted_ends_with_the_deadline(
    bench: Bench, make_delivery: Any
) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        bench.outbox.add(make_delivery(1, f"http://127.0.0.1:{full.getsockname()[1]}/"), NOW)
        bench.start(timeout=0.3, max_attempts=1)
        eventually(lambda: bench.outbox.dead)
        for each in waiting:
            each.close()
    assert bench.outbox.dead[0][1] == "connecting took more than 0.3 seconds in all"


def test_an_answer_without_end_is_not_read_and_counts_by_its_status(
    bench: Bench, make_delivery: Any
) -> None:
    with listening(answer_without_end) as port:
        bench.outbox.add(make_delivery(1, f"http://127.0.0.1:{port}/"), NOW)
        bench.start(timeout=NEVER)
        eventually(lambda: bench.outbox.done)
    (attempt,) = bench.outbox.attempts
    assert (attempt.status, attempt.answer) == (200, "x" * 1024)


def test_the_start_of_an_answer_is_kept_though_the_rest_does_not_come(
    bench: Bench, make_delivery: Any
) -> None:
    with listening(answer_then_drip) as port:
        bench.outbox.add(make_delivery(1, f"http://127.0.0.1:{port}/"), NOW)
        bench.start(timeout=NEVER, max_attempts=1)
        eventually(lambda: bench.outbox.dead)
    (attempt,) = bench.outbox.attempts
    assert (attempt.status, attempt.answer) == (500, "why: ")
    assert bench.outbox.dead[0][1] == "answered 500"


def test_a_name_that_is_looked_up_without_end_delays_nobody(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    ended = threading.Event()
    asked: list[str] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        if host == "hangs.invalid":
            ended.wait()
        return ["127.0.0.1"]

    port = receiver.url.split(":")[2]
    for number in range(1, 20):
        bench.outbox.add(make_delivery(number, "http://hangs.invalid/", webhook=f"w{number}"), NOW)
    bench.outbox.add(make_delivery(99, f"http://works.invalid:{port}", webhook="works"), NOW)
    bench.start(resolver=resolver, timeout=0.3, max_attempts=1)
    eventually(lambda: len(bench.outbox.dead) == 19)
    assert [each.id for each in bench.outbox.done] == [99]
    assert {told for _, told in bench.outbox.dead} == {
        "looking up the name took more than 0.3 seconds in all"
    }
    assert asked.count("hangs.invalid") == 1
    ended.set()


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_takes_nothing_now_costs_a_delivery_no_attempt(
    bench: Bench, receiver: Any, make_delivery: Any, status: int
) -> None:
    receiver.script = [status] * 3
    for number in (1, 2):
        bench.outbox.add(make_delivery(number, receiver.url), NOW)
    bench.start(max_attempts=1)
    eventually(lambda: len(bench.outbox.done) == 2)
    assert [each.id for each in bench.outbox.done] == [1, 2]
    assert bench.outbox.failures == []
    assert [each for each, _ in bench.outbox.put_offs] == [1, 1, 1]


def test_a_webhook_rests_as_long_as_its_receiver_asks(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [503]
    receiver.retry_after = "1800"
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    dispatcher = bench.start()
    eventually(lambda: "w1" in dispatcher._resting and bench.outbox.put_offs)
    left = dispatcher._resting["w1"] - SystemClock().counter()
    assert 29 * 60 < left <= 30 * 60
    assert dispatcher.trouble("w1") == "answered 503"


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", timedelta(minutes=2)),
        ("Thu, 01 Jan 2026 00:10:00 GMT", timedelta(minutes=10)),
        ("Wed, 31 Dec 2025 23:00:00 GMT", timedelta()),
        ("9" * 400, _LONGEST_WAIT),
        ("Fri, 31 Dec 9999 23:59:59 GMT", _LONGEST_WAIT),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("٣", None),
        ("Mon, 99 Foo 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_a_retry_after_is_seconds_or_a_date_and_bounded(text: str, wait: timedelta | None) -> None:
    assert _wait(text, NOW) == wait


def test_a_webhook_that_fails_for_days_is_disabled_and_that_is_told(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [500] * 10
    bench.outbox.failing_since = NOW
    for number in (1, 2):
        bench.outbox.add(make_delivery(number, receiver.url), NOW)
    bench.start(max_attempts=100)
    eventually(lambda: bench.outbox.disabled)
    assert bench.outbox.disabled == ["w1"]
    ((webhook, text),) = bench.told
    assert webhook == "w1"
    assert "no delivery has reached it since 2026-01-01 00:00 UTC (answered 500)" in text
    assert "tenant=7" not in text
    assert len(receiver.received) == 1
    assert sorted(bench.outbox.pending) == [1, 2]
