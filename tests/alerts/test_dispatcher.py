from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from sensorstream.alerts.alert_records import KeptReport
from sensorstream.clock import SystemClock
from tests.alerts.bench import NOW, Bench
from tests.alerts.test_hostile import listening
from tests.server.certificates import write_certificate
from tests.waiting import eventually


def test_an_alert_arrives_as_a_signed_cloud_event(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    delivery = make_delivery(1, receiver.url)
    bench.outbox.add(delivery, NOW)
    bench.start()
    eventually(lambda: bench.outbox.done)

    (request,) = receiver.received
    event = Verifier(delivery.webhook.secret).verify(request.body, request.headers)
    assert request.path == "/hook?tenant=7"
    assert request.headers["content-type"] == "application/cloudevents+json"
    assert request.headers["webhook-id"] == "m1-1.w1"
    assert (event["id"], event["source"]) == ("m1-1", "urn:test:deployment")
    assert event["data"]["text"] == "21 people in Küche"
    # It is counted after it is stored.
    eventually(lambda: bench.count("delivered") == 1)


def test_a_report_arrives_as_a_signed_cloud_event_and_is_tried_again_like_an_alert(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [500]
    report = KeptReport("m17-3", "crowd", '{"id": "m17-3", "op": "="}', NOW)
    delivery = replace(make_delivery(1, receiver.url), event=report)
    bench.outbox.add(delivery, NOW)
    bench.start()
    eventually(lambda: bench.outbox.done)

    assert receiver.answered == [500, 204]
    for request in receiver.received:
        event = Verifier(delivery.webhook.secret).verify(request.body, request.headers)
        assert request.headers["webhook-id"] == "m17-3.w1"
        assert (event["type"], event["subject"]) == ("sensorstream.query.report", "crowd")
        assert event["data"] == {"id": "m17-3", "op": "="}


def test_a_failing_receiver_is_tried_again_under_the_same_id_until_it_answers(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [500, 502]
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start()
    eventually(lambda: bench.outbox.done)

    assert receiver.answered == [500, 502, 204]
    assert {each.headers["webhook-id"] for each in receiver.received} == {"m1-1.w1"}
    assert len({each.body for each in receiver.received}) == 1
    assert [error for _, error, _ in bench.outbox.failures] == ["answered 500", "answered 502"]


def test_after_the_last_attempt_the_delivery_is_a_dead_letter(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [500] * 10
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start()
    eventually(lambda: bench.outbox.dead)

    assert len(receiver.received) == 3
    assert bench.outbox.dead[0][1] == "answered 500"
    # It is counted after it is stored.
    eventually(lambda: (bench.count("failed"), bench.count("dead")) == (2, 1))


def test_a_refused_connection_is_tried_again_then_given_up(
    bench: Bench, make_delivery: Any
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    bench.outbox.add(make_delivery(1, url), NOW)
    bench.start()
    eventually(lambda: bench.outbox.dead)
    assert all("ConnectError" in error for _, error, _ in bench.outbox.failures)
    assert [next_at is None for _, _, next_at in bench.outbox.failures] == [False, False, True]


def test_a_receiver_that_says_gone_is_not_asked_again(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [410]
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start()
    eventually(lambda: bench.outbox.dead)
    assert receiver.answered == [410]


def test_a_redirect_is_a_failure_and_not_followed(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.script = [307]
    receiver.location = receiver.url.replace("hook", "elsewhere")
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start()
    eventually(lambda: bench.outbox.done)
    assert {each.path for each in receiver.received} == {"/hook?tenant=7"}
    assert bench.outbox.failures[0][1] == "answered 307 (redirects are not followed)"


def test_a_slow_receiver_times_out_and_holds_up_nobody_else(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        for number in range(1, 150):
            bench.outbox.add(make_delivery(number, hanging, webhook="hangs"), NOW)
        for number in range(200, 203):
            due = NOW + timedelta(minutes=1)
            bench.outbox.add(make_delivery(number, receiver.url, webhook="works"), due)
        bench.start(timeout=0.5)
        eventually(lambda: len(bench.outbox.done) == 3)
        eventually(lambda: bench.outbox.failures)
    assert bench.outbox.failures[0][1] == "waiting for the answer took more than 0.5 seconds in all"
    assert [each.id for each in bench.outbox.done] == [200, 201, 202]


class ChangedClock(SystemClock):
    """The clock of this machine, as somebody has set it."""

    change = timedelta()

    def now(self) -> datetime:
        return super().now() + self.change


def test_deliveries_do_not_wait_for_a_clock_that_was_set_back(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    clock = ChangedClock()
    receiver.script = [500]
    bench.outbox.add(make_delivery(1, receiver.url), clock.now())
    bench.outbox.add(make_delivery(2, receiver.url), clock.now())
    bench.start(clock=clock, schedule=lambda _, _of: timedelta(seconds=1))
    eventually(lambda: bench.outbox.failures)
    clock.change = timedelta(hours=-1)
    eventually(lambda: len(bench.outbox.done) == 2)
    assert receiver.answered == [500, 204, 204]


def test_what_was_raised_before_the_clock_was_set_back_is_sent_at_a_start(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    for number in (1, 2):
        due = SystemClock().now() + timedelta(hours=1, seconds=number)
        bench.outbox.add(make_delivery(number, receiver.url), due)
    bench.start()
    eventually(lambda: len(bench.outbox.done) == 2)
    assert [each.id for each in bench.outbox.done] == [1, 2]


def test_a_private_address_is_refused_at_delivery_too(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start(allow=(), max_attempts=1)
    eventually(lambda: bench.outbox.dead)
    assert "not a public address" in bench.outbox.dead[0][1]
    assert receiver.received == []


def test_the_delivery_connects_to_the_address_that_was_checked(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    port = receiver.url.split(":")[2].split("/")[0]
    asked: list[str] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    url = f"http://hooks.sensorstream.invalid:{port}/hook?tenant=7"
    bench.outbox.add(make_delivery(1, url), NOW)
    bench.start(resolver=resolver)
    eventually(lambda: bench.outbox.done)
    assert asked == ["hooks.sensorstream.invalid"]
    assert receiver.received[0].headers["host"] == f"hooks.sensorstream.invalid:{port}"


def test_a_name_with_several_addresses_is_tried_at_each(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    url = receiver.url.replace("127.0.0.1", "localhost")
    bench.outbox.add(make_delivery(1, url), NOW)
    bench.start(resolver=lambda host, port: ["::1", "127.0.0.2", "127.0.0.1"])
    eventually(lambda: bench.outbox.done)
    assert bench.outbox.failures == []


def test_a_defect_costs_one_attempt_and_holds_up_nobody_else(
    bench: Bench, receiver: Any, make_delivery: Any, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        if host == "broken.invalid":
            raise RuntimeError("a defect")
        return ["127.0.0.1"]

    def slowly(attempts: int, identity: str) -> timedelta:
        return timedelta(hours=1)

    bench.outbox.add(make_delivery(1, "http://broken.invalid/", webhook="broken"), NOW)
    dispatcher = bench.start(resolver=resolver, schedule=slowly)
    eventually(lambda: "a delivery was interrupted" in caplog.text)
    for number in range(2, 12):
        bench.outbox.add(make_delivery(number, receiver.url, webhook="works"), NOW)
        dispatcher.wake()
        eventually(lambda: list(bench.outbox.pending) == [1])
    assert asked.count("broken.invalid") == 1


def test_waking_delivers_without_waiting_for_the_poll(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    dispatcher = bench.start(poll=60.0)
    eventually(lambda: dispatcher.running)
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    dispatcher.wake()
    eventually(lambda: bench.outbox.done)
    assert len(receiver.received) == 1


def test_the_dispatcher_outlives_a_store_that_is_away(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    bench.outbox.away = True
    bench.start()
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    eventually(lambda: bench.outbox.refused > 1)
    bench.outbox.away = False
    eventually(lambda: bench.outbox.done)
    assert len(receiver.received) == 1


def test_what_many_receivers_of_a_host_take_meanwhile_is_marked_at_once_and_in_order(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    bench.outbox.slow.clear()
    for number in range(60):
        webhook = f"w{number % 30}"
        bench.outbox.add(make_delivery(number, f"{receiver.url}&{webhook}", webhook), NOW)
    bench.start()
    # Of each receiver the first; the second waits until that one is marked.
    eventually(lambda: len(receiver.answered) == 30)
    bench.outbox.slow.set()
    eventually(lambda: len(bench.outbox.done) == 60)
    # How many have been answered when the first is marked depends on the machine.
    assert len(bench.outbox.batches) <= 30
    assert bench.outbox.failures == []
    met: dict[str, list[str]] = {}
    for each in receiver.received:
        met.setdefault(each.path, []).append(each.headers["webhook-id"].partition(".")[0])
    assert sorted(met.values()) == sorted([f"m{n}-1", f"m{n + 30}-1"] for n in range(30))


def test_what_goes_to_one_receiver_at_a_time_shares_a_connection(
    bench: Bench, make_delivery: Any
) -> None:
    met: list[int] = []

    def answer(connection: socket.socket, ended: threading.Event) -> None:
        met.append(0)
        while connection.recv(65_536):
            met[-1] += 1
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if met[-1] == 4:
                return

    with listening(answer) as port:
        for number in range(1, 7):
            bench.outbox.add(make_delivery(number, f"http://127.0.0.1:{port}/"), NOW)
        bench.start()
        eventually(lambda: len(bench.outbox.done) == 6)
    # A connection that the receiver has closed is another one's turn.
    assert met == [4, 2]
    assert [each.answer for each in bench.outbox.attempts][-1] == "ok"


def test_a_delivery_that_could_not_be_recorded_is_sent_again_under_the_same_id(
    bench: Bench, receiver: Any, make_delivery: Any, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.hold.clear()
    bench.outbox.add(make_delivery(1, receiver.url), NOW)
    bench.start()
    eventually(lambda: receiver.received)
    bench.outbox.away = True
    receiver.hold.set()
    eventually(lambda: "a delivery was interrupted" in caplog.text)
    bench.outbox.away = False
    eventually(lambda: bench.outbox.done)
    assert len(receiver.received) >= 2
    assert {each.headers["webhook-id"] for each in receiver.received} == {"m1-1.w1"}


def test_stopping_finishes_the_attempt_under_way_and_leaves_the_rest_in_the_outbox(
    bench: Bench, receiver: Any, make_delivery: Any
) -> None:
    receiver.hold.clear()
    for number in (1, 2):
        bench.outbox.add(make_delivery(number, receiver.url), NOW)
    dispatcher = bench.start()
    eventually(lambda: receiver.received)
    dispatcher._stopping.set()
    receiver.hold.set()
    dispatcher.stop()
    assert [each.id for each in bench.outbox.done] == [1]
    assert list(bench.outbox.pending) == [2]


def test_a_certificate_must_be_that_of_the_name_though_the_address_is_connected_to(
    bench: Bench, make_delivery: Any, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key, "right", host="right.invalid")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = server.accept()
                    with suppress(ssl.SSLError), context.wrap_socket(plain, True) as connection:
                        read = b""
                        while piece := connection.recv(65_536):
                            read += piece
                            if read.endswith(b"}"):
                                break
                        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        bench.outbox.add(make_delivery(1, f"https://right.invalid:{port}/", webhook="right"), NOW)
        bench.outbox.add(make_delivery(2, f"https://wrong.invalid:{port}/", webhook="wrong"), NOW)
        poster = bench.make(max_attempts=1, resolver=lambda host, port: ["127.0.0.1"])
        poster._poster._certificates.load_verify_locations(certificate)
        poster.start()
        eventually(lambda: bench.outbox.done and bench.outbox.dead)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert [each.id for each in bench.outbox.done] == [1]
    ((dead, reason),) = bench.outbox.dead
    assert dead.id == 2
    assert "certificate" in reason
