"""An outbox in memory, a real receiver over HTTP, and alerts to send."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sensorstream.alerts.alert_records import Backlog, Delivery, RaisedAlert, Webhook
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.signing import new_secret
from sensorstream.errors import HistoryError
from sensorstream.model.events import Alert
from tests.alerts.bench import Bench


class ListOutbox:
    """The outbox protocol over lists; ``away`` makes every call fail.

    What was delivered is not marked until ``slow`` is set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pending: dict[int, tuple[datetime, Delivery]] = {}
        self.done: list[Delivery] = []
        self.dead: list[tuple[Delivery, str]] = []
        self.failures: list[tuple[int, str, datetime | None]] = []
        self.put_offs: list[tuple[int, Attempt]] = []
        self.attempts: list[Attempt] = []
        self.failing_since: datetime | None = None
        self.disabled: list[str] = []
        self.batches: list[int] = []
        self.slow = threading.Event()
        self.slow.set()
        self.away = False
        self.refused = 0

    def add(self, delivery: Delivery, due: datetime) -> None:
        with self.lock:
            self.pending[delivery.id] = (due, delivery)

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> Sequence[Delivery]:
        with self.lock:
            self._check()
            waiting = sorted(
                (due, key, delivery)
                for key, (due, delivery) in self.pending.items()
                if due <= now and delivery.webhook.id not in (*excluding, *self.disabled)
            )
            return [delivery for _, _, delivery in waiting[:limit]]

    def latest(self) -> datetime | None:
        with self.lock:
            self._check()
            return max((due for due, d in self.pending.values() if not d.attempts), default=None)

    def move_back(self, now: datetime, by: timedelta) -> None:
        with self.lock:
            self._check()
            for key, (due, delivery) in self.pending.items():
                if due > now:
                    self.pending[key] = (due - by, delivery)

    def delivered(self, came: Mapping[int, Attempt]) -> None:
        self.slow.wait(300)
        with self.lock:
            self._check()
            self.attempts += came.values()
            self.done += [self.pending.pop(each)[1] for each in came]
            self.batches.append(len(came))

    def failed(
        self, delivery_id: int, attempt: Attempt, next_attempt_at: datetime | None
    ) -> datetime:
        with self.lock:
            self._check()
            self.attempts.append(attempt)
            assert attempt.failure is not None
            error = attempt.failure.reason
            self.failures.append((delivery_id, error, next_attempt_at))
            _, delivery = self.pending.pop(delivery_id)
            if next_attempt_at is None:
                self.dead.append((delivery, error))
            else:
                again = replace(delivery, attempts=delivery.attempts + 1)
                self.pending[delivery_id] = (next_attempt_at, again)
            return self.failing_since or attempt.at

    def put_off(self, delivery_id: int, attempt: Attempt) -> datetime:
        with self.lock:
            self._check()
            self.attempts.append(attempt)
            self.put_offs.append((delivery_id, attempt))
            return self.failing_since or attempt.at

    def disable(self, receiver: str, now: datetime) -> None:
        with self.lock:
            self.disabled.append(receiver)

    def prune(self, now: datetime) -> None:
        with self.lock:
            self._check()

    def backlog(self) -> Sequence[Backlog]:
        with self.lock:
            return [Backlog("w1", True, None, len(self.pending), None)]

    def _check(self) -> None:
        if self.away:
            self.refused += 1
            raise HistoryError("the store is away")


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A webhook receiver; answers the scripted statuses first, then 204."""

    url: str = ""
    script: list[int] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    location: str = ""
    retry_after: str = ""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens."""
    state = Receiver()
    state.hold.set()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                state.received.append(
                    Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                )
                status = state.script.pop(0) if state.script else 204
            state.hold.wait(300)
            self.send_response(status)
            if state.location:
                self.send_header("Location", state.location)
            if state.retry_after:
                self.send_header("Retry-After", state.retry_after)
            self.send_header("Content-Length", "0")
            with lock:  # before the answer leaves: who reads it may look here at once
                state.answered.append(status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/hook?tenant=7"
    yield state
    state.hold.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def outbox() -> ListOutbox:
    return ListOutbox()


@pytest.fixture
def make_delivery() -> Callable[..., Delivery]:
    secrets: dict[str, str] = {}

    def make(number: int, url: str, webhook: str = "w1", attempts: int = 0) -> Delivery:
        alert = Alert(
            id=f"m{number}-1",
            rule="crowded-room",
            kind="rule",
            severity="warning",
            text=f"{20 + number} people in Küche",
            key="kitchen",
            time=number,
            message=f"m{number}",
        )
        raised = RaisedAlert(number, alert, datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
        hook = Webhook(webhook, url, secrets.setdefault(webhook, new_secret()), raised.raised_at)
        return Delivery(number, raised, hook, attempts)

    return make


@pytest.fixture
def bench(outbox: ListOutbox) -> Iterator[Bench]:
    made = Bench(outbox)
    yield made
    for dispatcher in made.made:
        dispatcher.stop()
        assert not dispatcher.running
