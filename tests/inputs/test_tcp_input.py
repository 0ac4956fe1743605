from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from sensorstream.errors import AddressUnavailable
from sensorstream.inputs.inputs import RunningInput, reader_of
from sensorstream.inputs.tcp_input import TcpReader
from tests.inputs.conftest import LIMIT, Bench
from tests.waiting import eventually


class Sender:
    """One connection to an input."""

    def __init__(self, running: RunningInput) -> None:
        assert isinstance(running.reader, TcpReader)
        self.socket = socket.create_connection(("127.0.0.1", running.reader.port), 30)
        self.file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> dict[str, Any] | None:
        """The next answer; None: the connection has ended."""
        try:
            line = self.file.readline()
        except ConnectionError:
            return None
        return json.loads(line) if line else None

    def end(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@contextmanager
def sending(running: RunningInput) -> Iterator[Sender]:
    sender = Sender(running)
    try:
        yield sender
    finally:
        sender.close()


@contextmanager
def listening(bench: Bench, options: str = "") -> Iterator[RunningInput]:
    with bench.running(options, "tcp") as running:
        deadline = Bench.deadline()
        while running.state:
            deadline()
        yield running


def test_each_line_is_answered_when_it_is_in_the_journal_in_order(bench: Bench) -> None:
    with listening(bench) as running, sending(running) as sender:
        sender.send(b"<a/>\r\n\n<bad\n<c/>")
        sender.end()
        assert sender.answer() == {"status": "accepted", "message": "m1"}
        assert sender.answer() == {
            "status": "rejected",
            "message": "m2",
            "error": "malformed-message",
            "detail": "it is bad",
        }
        assert sender.answer() == {"status": "accepted", "message": "m3"}
        assert sender.answer() is None
    assert bench.journal.contents == [b"<a/>", b"<bad", b"<c/>"]


def test_frames_may_end_with_a_zero_byte_or_begin_with_their_length(bench: Bench) -> None:
    with listening(bench, 'framing = "nul"') as running, sending(running) as sender:
        sender.send(b"<a>\n</a>\0<b/>\0")
        assert sender.answer() == {"status": "accepted", "message": "m1"}
        assert sender.answer() == {"status": "accepted", "message": "m2"}
    with listening(bench, 'framing = "length"') as running, sending(running) as sender:
        for content in (b"<c>\0\n</c>", b"<d/>"):
            sender.send(len(content).to_bytes(4) + content)
        sender.end()
        assert sender.answer() == {"status": "accepted", "message": "m3"}
        assert sender.answer() == {"status": "accepted", "message": "m4"}
        assert sender.answer() is None
    assert bench.journal.contents == [b"<a>\n</a>", b"<b/>", b"<c>\0\n</c>", b"<d/>"]


def test_a_frame_that_is_cut_short_is_no_message(bench: Bench) -> None:
    with listening(bench, 'framing = "length"') as running:
        for data in (b"\0\0", b"\0\0\0\x09<a/"):
            with sending(running) as sender:
                sender.send(data)
                sender.end()
                assert sender.answer() is None
    assert bench.journal.contents == []


@pytest.mark.parametrize(
    ("framing", "data"),
    [("line", b"x" * (LIMIT + 2)), ("nul", b"x" * (LIMIT + 2)), ("length", b"\xff\xff\xff\xff")],
)
def test_more_than_the_limit_is_refused_before_it_is_read(
    bench: Bench, framing: str, data: bytes
) -> None:
    with listening(bench, f'framing = "{framing}"') as running, sending(running) as sender:
        sender.send(data)
        answer = sender.answer()
        assert answer is not None
        assert (answer["status"], answer["error"]) == ("refused", "message-too-large")
        assert sender.answer() is None
    assert bench.journal.contents == []


def test_a_message_is_not_answered_before_it_is_in_the_journal(bench: Bench) -> None:
    bench.journal.held = []
    with listening(bench) as running, sending(running) as sender:
        sender.send(b"<a/>\n" * 3)
        eventually(lambda: len(bench.journal.contents) == 3)
        sender.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            sender.socket.recv(1)
        sender.socket.settimeout(30)
        # And when the input is stopped, what was taken is answered first.
        running.stop()
        bench.journal.release()
        told = b""
        while data := sender.socket.recv(4096):
            told += data
    assert [json.loads(line)["message"] for line in told.splitlines()] == ["m1", "m2", "m3"]


def test_a_sender_is_not_read_while_too_much_is_under_way(bench: Bench) -> None:
    bench.journal.held = []
    with listening(bench) as running, sending(running) as sender:
        sender.socket.setblocking(False)
        sent = 0
        message = b"<a>" + b"x" * 5000 + b"</a>\n"
        with suppress(BlockingIOError):
            while sent < 1_000_000_000:
                sent += sender.socket.send(message)
        assert sent < 1_000_000_000
        assert len(bench.journal.contents) <= 102
        bench.journal.release()
        sender.socket.setblocking(True)
        eventually(lambda: len(bench.journal.contents) >= sent // len(message))


def test_a_repeat_is_recognised_by_its_bytes_if_asked(bench: Bench) -> None:
    with listening(bench) as running, sending(running) as sender:
        sender.send(b"<on/>\n<on/>\n")
        assert sender.answer() == {"status": "accepted", "message": "m1"}
        assert sender.answer() == {"status": "accepted", "message": "m2"}
    with listening(bench, "drop_repeats = true") as running, sending(running) as sender:
        sender.send(b"<on/>\n<on/>\n<off/>\n")
        assert sender.answer() == {"status": "accepted", "message": "m3"}
        assert sender.answer() == {"status": "repeated"}
        assert sender.answer() == {"status": "accepted", "message": "m4"}


def test_there_is_a_most_of_connections(bench: Bench) -> None:
    with listening(bench, "connections = 1") as running, sending(running) as first:
        first.send(b"<a/>\n")
        assert first.answer() == {"status": "accepted", "message": "m1"}
        with sending(running) as second:
            assert second.answer() == {
                "status": "refused",
                "error": "unavailable",
                "detail": "there are 1 connections already",
            }
            assert second.answer() is None
        first.send(b"<b/>\n")
        assert first.answer() == {"status": "accepted", "message": "m2"}


def test_a_silent_connection_is_closed(bench: Bench) -> None:
    with listening(bench, "idle = 0.2") as running, sending(running) as sender:
        sender.send(b"<never")
        assert sender.answer() is None
    assert bench.journal.contents == []


def test_a_sender_that_reads_no_answers_needs_none(bench: Bench) -> None:
    with listening(bench, "answers = false") as running, sending(running) as sender:
        sender.send(b"<a/>\n" * 500)
        eventually(lambda: len(bench.journal.contents) == 500)
        sender.end()
        assert sender.answer() is None


def test_a_sender_that_leaves_half_way_disturbs_no_other(bench: Bench) -> None:
    bench.journal.held = []
    with listening(bench) as running:
        for _ in range(5):
            with sending(running) as sender:
                sender.send(b"<a/>\n<half")
                eventually(lambda: b"<a/>" in bench.journal.contents)
                sender.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                )  # closing resets the connection
        bench.journal.release()
        with sending(running) as sender:
            sender.send(b"<b/>\n")
            answer = sender.answer()
            assert answer is not None
            assert answer["status"] == "accepted"
    assert b"<half" not in bench.journal.contents


def test_an_address_that_is_taken_is_refused_at_the_start(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressUnavailable, match=rf"inputs.in: cannot listen .* {port}"):
            reader_of(bench.settings(f"port = {port}", "tcp"))
