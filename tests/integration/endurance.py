"""Faults at random points under load: ``python -m tests.integration.endurance --rounds 50``.

Eight clients send, a continuous query reports and a webhook receives, while the server, its
PostgreSQL and its reasoner are killed or stopped. At the end what was acknowledged is compared with
what is there: nothing may be lost, nothing may be twice.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any, Final

import httpx
import psutil

from sensorstream.simulation.tracker import tracker_messages

CLIENTS: Final = 8
_XML: Final = {"content-type": "application/xml"}
_PATIENCE: Final = 180.0
"""Seconds within which everything must come back; a slow machine needs a good part of them."""
_QUERY: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER ISTREAM :seen AS SELECT ?p ?x WHERE { ?p a :Human ; :hasXLocation ?x FILTER(?x > 320) }"""


@dataclass
class Told:
    """What the clients were told, and what the receiver got."""

    individuals: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    received: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)


class Workspace:
    """A deployment made by ``init``, served by a process that can be killed."""

    def __init__(self, folder: Path, receiver: str) -> None:
        self.folder = folder / "work"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "SENSORSTREAM_WINDOW_SIZE": "50",
            "SENSORSTREAM_HISTORY_CHECKPOINT_EVERY": "200",
            "SENSORSTREAM_WEBHOOKS_ALLOW": "127.0.0.1/32",
        }
        self.log = (folder / "server.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None
        self._receiver = receiver
        command = [sys.executable, "-m", "sensorstream", "init", str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)

    def start(self) -> None:
        """Start the server's process, and do not wait for it."""
        config = self.folder / "sensorstream.toml"
        command = [sys.executable, "-m", "sensorstream", "serve", "-c", str(config)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=self.log,
            stderr=self.log,
            env=self.environment,
        )

    def answers(self) -> bool:
        """Wait until the server is ready; False: its process has ended."""
        assert self.process is not None
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return True
            time.sleep(0.1)
        raise AssertionError(f"the server is not ready after {_PATIENCE} s")

    def prepare(self) -> None:
        """Register the query and the webhook."""
        with httpx.Client(base_url=self.url, timeout=30) as client:
            client.post("/queries", params={"name": "seen"}, content=_QUERY).raise_for_status()
            body = {"url": self._receiver, "queries": ["seen"]}
            client.post("/webhooks", json=body).raise_for_status()

    def end(self, how: signal.Signals) -> int:
        """Send the server a signal and wait for its end; its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)

    def postgres(self) -> list[psutil.Process]:
        """The processes of PostgreSQL, its first one first."""
        found = self.folder.rglob("postmaster.pid")
        with suppress(StopIteration, psutil.NoSuchProcess, ValueError, IndexError):
            first = psutil.Process(int(next(found).read_text().split()[0]))
            return [first, *first.children(recursive=True)]
        return []

    def reasoner(self) -> list[psutil.Process]:
        """The processes below the server that run a reasoner."""
        assert self.process is not None
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(self.process.pid).children(recursive=True)
            return [each for each in below if "reason" in " ".join(_command(each))]
        return []


def _command(process: psutil.Process) -> Sequence[str]:
    with suppress(psutil.Error):
        command: list[str] = process.cmdline()
        return command
    return ()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def receiving(told: Told, dice: random.Random) -> Iterator[str]:
    """A receiver that is slow, or closes the connection, now and then; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            chance = dice.random()
            if chance < 0.003:
                time.sleep(3)
            if chance > 0.997:
                return
            # The id of the event, and that of the webhook.
            event = self.headers["webhook-id"].partition(".")[0]
            with told.lock:
                told.received[event] += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def send(workspace: Workspace, told: Told, numbers: Iterator[int], stop: Event) -> None:
    """One client: a message after the other, also while the server is away."""
    with httpx.Client(base_url=workspace.url, headers=_XML, timeout=60) as client:
        while not stop.is_set():
            number = next(numbers)
            content = next(tracker_messages(1, start=number, seed=number))
            try:
                answer = client.post("/messages", content=content)
            except httpx.TransportError:
                with told.lock:
                    told.unanswered += 1
                time.sleep(0.05)
                continue
            with told.lock:
                if answer.status_code == 200:
                    body = answer.json()
                    told.individuals += body["individuals"]
                    told.alerts += [each["id"] for each in body["alerts"]]
                else:
                    told.refused[answer.status_code] += 1


def kill_server(workspace: Workspace, dice: random.Random) -> None:
    """The server is killed, and in one of three times once more while it starts."""
    workspace.end(signal.SIGKILL)
    if dice.random() < 0.3:
        workspace.start()
        time.sleep(dice.uniform(0.2, 4))
        workspace.end(signal.SIGKILL)


def end_server(workspace: Workspace, _: random.Random) -> None:
    """The server is asked to end, as by systemd."""
    assert workspace.end(signal.SIGTERM) == 0


def kill_postgres(workspace: Workspace, _: random.Random) -> None:
    """All of PostgreSQL is killed; the server starts it again."""
    for each in workspace.postgres():
        with suppress(psutil.NoSuchProcess):
            each.kill()


def stop_postgres(workspace: Workspace, dice: random.Random) -> None:
    """PostgreSQL stands still for a while."""
    _pause(workspace.postgres(), dice.uniform(0.5, 4))


def stop_reasoner(workspace: Workspace, dice: random.Random) -> None:
    """The reasoner stands still for a while."""
    _pause(workspace.reasoner(), dice.uniform(0.5, 4))


def _pause(processes: Sequence[psutil.Process], seconds: float) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.suspend()
    time.sleep(seconds)
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.resume()


FAULTS: Final[Sequence[Callable[[Workspace, random.Random], None]]] = (
    kill_server,
    kill_server,
    kill_server,
    kill_server,
    end_server,
    kill_postgres,
    stop_postgres,
    stop_reasoner,
)


def endure(
    folder: Path,
    rounds: int,
    seed: int,
    faults: Sequence[Callable[[Workspace, random.Random], None]] = FAULTS,
) -> Mapping[str, int]:
    """Send under faults, compare, and count.

    Raises:
        AssertionError: something was lost, stands twice, or does not come back.
    """
    dice = random.Random(seed)
    told = Told()
    numbers = itertools.count(1)
    stop = Event()
    done: Counter[str] = Counter()
    with receiving(told, random.Random(seed)) as receiver:
        workspace = Workspace(folder, receiver)
        workspace.start()
        assert workspace.answers()
        workspace.prepare()
        clients = [
            Thread(target=send, args=(workspace, told, numbers, stop)) for _ in range(CLIENTS)
        ]
        for each in clients:
            each.start()
        try:
            for number in range(1, rounds + 1):
                time.sleep(dice.uniform(0.2, 3))
                fault = dice.choice(faults)
                fault(workspace, dice)
                done[fault.__name__] += 1
                if workspace.process is None or workspace.process.poll() is not None:
                    workspace.start()
                assert workspace.answers(), "the server ended by itself"
                print(f"{number:3} {fault.__name__:16}{len(told.individuals):8}", flush=True)
            time.sleep(1)
        finally:
            stop.set()
            for each in clients:
                each.join()
        try:
            compare(workspace, told)
            assert workspace.end(signal.SIGTERM) == 0
        finally:
            workspace.end(signal.SIGKILL)
            workspace.log.close()
    counted = {"acknowledged": len(told.individuals), "alerts": len(told.alerts)}
    counted |= {"unanswered": told.unanswered, "events received": len(told.received)}
    return counted | {f"answered {code}": n for code, n in told.refused.items()} | dict(done)


def compare(workspace: Workspace, told: Told) -> None:
    """Each individual once in window or history, each alert once, each event delivered."""
    with httpx.Client(base_url=workspace.url, timeout=60) as client:
        window = client.get("/window", params={"limit": 1000}).json()["individuals"]
        found = Counter([each["iri"] for each in window if "human-" in each["iri"]])
        rows = _rows(client, "select distinct iri, message_id from history.individuals")
        found.update(str(iri) for iri, _ in rows if "human-" in str(iri))
        _same("individuals", told.individuals, found)
        alerts = Counter(str(each) for (each,) in _rows(client, "select id from history.alerts"))
        _same("alerts", told.alerts, alerts)
        keys = Counter(str(each) for (each,) in _rows(client, "select key from history.alerts"))
        assert not (more := [key for key, count in keys.items() if count > 1]), f"twice: {more}"
        deadline = time.monotonic() + _PATIENCE
        while missing := [each for each in alerts if each not in told.received]:
            assert time.monotonic() < deadline, f"{len(missing)} alerts were not delivered"
            time.sleep(0.5)


def _same(what: str, acknowledged: Sequence[str], found: Counter[str]) -> None:
    lost = [each for each in acknowledged if not found[each]]
    assert not lost, f"{len(lost)} {what} are lost: {lost[:5]}"
    twice = [each for each, count in found.items() if count > 1]
    assert not twice, f"{len(twice)} {what} stand twice: {twice[:5]}"


def _rows(client: httpx.Client, query: str) -> list[list[Any]]:
    answer = client.post("/sql", json={"query": query})
    answer.raise_for_status()
    rows: list[list[Any]] = answer.json()["rows"]
    return rows


def main(arguments: Sequence[str]) -> int:
    """Run it in a folder of its own and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="sensorstream-endurance-") as name:
        Path(name).chmod(0o755)
        for what, count in endure(Path(name), options.rounds, options.seed).items():
            print(f"{what:24}{count:8}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
