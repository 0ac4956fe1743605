"""What HTTP costs a message: ``python -m benchmarks.http_cost``.

CPU time of the server's process for each ``POST /messages``, by 16 clients, over an application
that answers at once. Servers side by side: uvicorn's plain set-up with FastAPI's route, as it was
before; its faster parser and event loop with the same route; and what ``sensorstream serve`` runs.
They take turns, so that the machine's noise falls on all alike.
"""

from __future__ import annotations

import multiprocessing
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final

import psutil
import uvicorn
from prometheus_client import CollectorRegistry

from sensorstream.alerts.feed import AlertFeed
from sensorstream.app.application import Application
from sensorstream.app.life.access_control import Access, Rates
from sensorstream.app.life.entry_queue import HERE, MessageSender
from sensorstream.app.life.health import Health
from sensorstream.app.questions.one_time_questions import RunningQuestions
from sensorstream.clock import SystemClock
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message, Status
from sensorstream.model.timeline import Timeline
from sensorstream.server.listening import Server
from sensorstream.server.web_application import create_app
from sensorstream.settings.settings import Settings

_CLIENTS: Final = 16
_REQUESTS: Final = 50
_TURNS: Final = 5
_BODY: Final = b"<Message/>"
_REQUEST: Final = (
    b"POST /messages?source=bench HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n"
    b"content-type: application/xml\r\ncontent-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


class Everybody(Access):
    """Lets everybody in, without a database."""

    def __init__(self) -> None:
        self.needed = False
        self._clock = SystemClock()


class Unwatched(Health):
    """Nobody asks whether it is ready."""

    def __init__(self) -> None:
        self._probes = []


class Answering(Application):
    """Takes nothing in, and answers at once."""

    def __init__(self) -> None:
        self.settings = Settings(Path("sensorstream.toml"))
        self.access = Everybody()
        self.health = Unwatched()
        self._registry = CollectorRegistry()
        self.rates = Rates(0)
        self.running = RunningQuestions(SystemClock(), lambda _: None)
        self.alert_feed = AlertFeed()
        self._outcome = Outcome(Message("m1", _BODY, 0, "bench"), Status.ACCEPTED)

    @property
    def timeline(self) -> Timeline:
        return Timeline.INTEGER

    @property
    def metrics(self) -> CollectorRegistry:
        return self._registry

    def submit(
        self,
        content: bytes,
        source: str,
        sender: MessageSender = HERE,
        *,
        origin: str = "",
        early: bool = False,
    ) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(self._outcome)
        return future


def plain(listener: socket.socket) -> None:
    _uvicorn(listener, loop="asyncio", http="h11")


def faster(listener: socket.socket) -> None:
    _uvicorn(listener, loop="uvloop", http="httptools")


def ours(listener: socket.socket) -> None:
    Server(Answering()).run([listener])


def _uvicorn(listener: socket.socket, *, loop: str, http: str) -> None:
    uvicorn.Server(
        uvicorn.Config(
            create_app(Answering()),
            loop=loop,
            http=http,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
    ).run([listener])


_SERVERS: Final[dict[str, Callable[[socket.socket], None]]] = {
    "FastAPI, h11, asyncio": plain,
    "FastAPI, httptools, uvloop": faster,
    "as served": ours,
}


def _client(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(_REQUESTS):
            client.sendall(_REQUEST)
            received = b""
            while b"}" not in received[-1:]:
                received += client.recv(65_536)
            if not received.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(received.decode(errors="replace"))


def _spent(process: multiprocessing.Process) -> float:
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


def main() -> int:
    """Print a line for each server: microseconds of CPU a request, and the ratio to the first."""
    running: dict[str, tuple[multiprocessing.Process, int]] = {}
    costs: dict[str, list[float]] = {name: [] for name in _SERVERS}
    try:
        for name, serve in _SERVERS.items():
            with socket.create_server(("127.0.0.1", 0)) as listener:
                process = multiprocessing.Process(target=serve, args=(listener,), daemon=True)
                process.start()
                running[name] = process, listener.getsockname()[1]
        with ThreadPoolExecutor(_CLIENTS) as clients:
            for turn in range(_TURNS + 1):
                for name, (process, port) in running.items():
                    before = _spent(process)
                    list(clients.map(_client, [port] * _CLIENTS))
                    if turn:  # The first warms up.
                        cost = (_spent(process) - before) / (_CLIENTS * _REQUESTS)
                        costs[name].append(cost * 1e6)
    finally:
        for process, _ in running.values():
            process.kill()
    first = median(next(iter(costs.values())))
    for name, measured in costs.items():
        print(f"{name}: {median(measured):.0f} µs a request, ratio {first / median(measured):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
