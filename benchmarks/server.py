"""How fast a server takes messages in: ``python -m benchmarks.server [--before FOLDER]``.

Real servers of folders made by ``sensorstream init`` (journal on disk, PostgreSQL of their own,
profile plain, a full window), one with the package here and, if a folder with another version's
files is given, one with that. They take turns, so that the machine's noise falls on both. For each
way to send are printed the messages a second, the milliseconds that a sender waits, and the CPU
time of a message by where it is spent:

- HTTP: the server's main thread;
- engine: reading, mapping, window, rules, as the server's own metrics count them;
- rest: the server's other threads, the engine apart: journal and effects;
- PostgreSQL: all its processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil

from benchmarks import ROOT
from sensorstream.cli.simulation.tracker_messages import tracker_messages

WARM: Final = 1500
"""Messages before the first that counts: more than the window holds."""
BATCH: Final = 500
CROWD: Final = 3000
"""Three of them were as much as could wait, once."""
_FULL_PHASES: Final = re.compile(r'sensorstream_phase_seconds_sum\{phase="\w+"\} (\S+)')
_ENVIRONMENT: Final = {"SENSORSTREAM_REASONING_PROFILE": "plain"}


@dataclass(slots=True)
class Spent:
    """Seconds of CPU by where they were spent."""

    http: float = 0.0
    engine: float = 0.0
    rest: float = 0.0
    postgres: float = 0.0

    def minus(self, other: Spent) -> Spent:
        """What was spent since."""
        return Spent(
            self.http - other.http,
            self.engine - other.engine,
            self.rest - other.rest,
            self.postgres - other.postgres,
        )


@dataclass(slots=True)
class Track:
    """What one server did in one way of sending, over all turns."""

    messages: int = 0
    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)

    def each(self, part: str) -> float:
        """Microseconds of CPU of a message."""
        return sum(float(asdict(one)[part]) for one in self.spent) / self.messages * 1e6

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    def percentile(self, share: float) -> float:
        """Milliseconds that a sender waited at most, but for the rest of them."""
        ordered = sorted(self.waits)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3


class Server:
    """A server that runs; ``messages`` are those it gets next."""

    def __init__(self, url: str, process: psutil.Process, folder: Path) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self.url = url
        self.host, self.port = parts.hostname, parts.port
        self.messages = tracker_messages()
        self._process = process
        self._postgres = [
            each
            for each in psutil.process_iter(["cmdline"])
            if any(str(folder) in part for part in each.info["cmdline"] or ())
            and "postgres" in each.name()
        ][:1]

    def spent(self) -> Spent:
        """What it has spent since its start."""
        threads = self._process.threads()
        http = sum(t.user_time + t.system_time for t in threads if t.id == self._process.pid)
        every = sum(t.user_time + t.system_time for t in threads)
        engine = postgres = 0.0
        for database in self._postgres:
            with urlopen(f"{self.url}/metrics") as answer:
                engine = sum(map(float, _FULL_PHASES.findall(answer.read().decode())))
            for each in (database, *database.children(recursive=True)):
                times = each.cpu_times()
                postgres += times.user + times.system
        return Spent(http, engine, every - http - engine, postgres)


class Client:
    """One connection that posts and waits for the answer, with as little of its own as can be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, server: Server) -> Client:
        """Connect."""
        return cls(*await asyncio.open_connection(server.host, server.port))

    async def post(self, path: str, kind: str, body: bytes) -> bytes:
        """The body of the answer.

        Raises:
            RuntimeError: it is not 200.
        """
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: (\d+)", answer)
        content = await self._reader.readexactly(int(found[1])) if found else b""
        if b" 200 " not in answer.partition(b"\r\n")[0]:
            raise RuntimeError(f"{answer!r} {content!r}")
        return content

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


Sending = Callable[[Server, float], Awaitable[tuple[int, float, list[float]]]]
"""Sends for some seconds; how many messages, how long it took, and each sender's waits."""


def _one_by_one(clients: int) -> Sending:
    async def send(server: Server, seconds: float) -> tuple[int, float, list[float]]:
        waits: list[float] = []
        begun = time.perf_counter()

        async def run(client: Client) -> None:
            while (start := time.perf_counter()) - begun < seconds:
                await client.post("/messages", "application/xml", next(server.messages))
                waits.append(time.perf_counter() - start)

        connected = [await Client.to(server) for _ in range(clients)]
        begun = time.perf_counter()
        await asyncio.gather(*map(run, connected))
        took = time.perf_counter() - begun
        for each in connected:
            each.close()
        return len(waits), took, waits

    return send


def _batch(server: Server, size: int) -> bytes:
    return json.dumps([next(server.messages).decode() for _ in range(size)]).encode()


async def _batches(server: Server, seconds: float) -> tuple[int, float, list[float]]:
    waits: list[float] = []
    client = await Client.to(server)
    begun = time.perf_counter()
    while (start := time.perf_counter()) - begun < seconds:
        await client.post("/messages/batch", "application/json", _batch(server, BATCH))
        waits.append(time.perf_counter() - start)
    took = time.perf_counter() - begun
    client.close()
    return len(waits) * BATCH, took, waits


async def _beside_a_crowd(server: Server, seconds: float) -> tuple[int, float, list[float]]:
    """One who sends messages one by one, while three others send large batches."""
    crowd = [await Client.to(server) for _ in range(3)]
    lone = await Client.to(server)
    bodies = [_batch(server, CROWD) for _ in crowd]
    begun = time.perf_counter()
    batches = [
        asyncio.ensure_future(client.post("/messages/batch", "application/json", body))
        for client, body in zip(crowd, bodies, strict=True)
    ]
    await asyncio.sleep(0.2)
    waits: list[float] = []
    while not all(each.done() for each in batches):
        start = time.perf_counter()
        await lone.post("/messages", "application/xml", next(server.messages))
        waits.append(time.perf_counter() - start)
    await asyncio.gather(*batches)
    took = time.perf_counter() - begun
    for each in (*crowd, lone):
        each.close()
    return len(waits) + 3 * CROWD, took, waits


WAYS: Final[dict[str, Sending]] = {
    "1 client": _one_by_one(1),
    "16 clients": _one_by_one(16),
    f"batches of {BATCH}": _batches,
    f"1 client beside 3 batches of {CROWD}": _beside_a_crowd,
}


@contextmanager
def serving(folder: Path, package: Path) -> Iterator[Server]:
    """A server of a new folder, with the package found in ``package``."""
    environment = os.environ | _ENVIRONMENT | {"PYTHONPATH": str(package)}
    cli = [sys.executable, "-m", "sensorstream"]
    subprocess.run(
        [*cli, "init", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
        cwd=package,
    )
    command = [*cli, "serve", "-c", str(folder / "sensorstream.toml"), "--port", "0"]
    with _running(command, folder, environment, package) as server:
        yield server


@contextmanager
def _running(
    command: Sequence[str], folder: Path, environment: dict[str, str], package: Path
) -> Iterator[Server]:
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=package,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            url = line.removeprefix("listening on ").strip()
            yield Server(url, psutil.Process(process.pid), folder)
        finally:
            process.terminate()
            process.wait()


def _floor(folder: Path) -> AbstractContextManager[Server]:
    """The floor, with its journal on the same disk."""
    command = [sys.executable, "-m", "benchmarks.server_floor", str(folder)]
    return _running(command, folder, dict(os.environ), ROOT)


async def _turn(server: Server, way: Sending, seconds: float, track: Track) -> None:
    before = server.spent()
    messages, took, waits = await way(server, seconds)
    track.spent.append(server.spent().minus(before))
    track.messages += messages
    track.seconds += took
    track.waits += waits


async def _measure(
    servers: dict[str, Server], ways: Sequence[str], turns: int, seconds: float
) -> None:
    for server in servers.values():
        client = await Client.to(server)
        for _ in range(WARM // BATCH):
            await client.post("/messages/batch", "application/json", _batch(server, BATCH))
        client.close()
    print(
        f"{'':38} {'':7} {'messages':>8} {'ms of waiting':>17} {'us of CPU a message':>44}\n"
        f"{'':38} {'':7} {'a second':>8} {'median':>8} {'p99':>8} {'HTTP':>8} {'engine':>8} "
        f"{'rest':>8} {'Postgres':>8} {'in all':>8}"
    )
    for way in ways:
        tracks = {name: Track() for name in servers}
        crowd = WAYS[way] is _beside_a_crowd
        for _ in range(1 if crowd else turns):
            for name, server in servers.items():
                await _turn(server, WAYS[way], seconds, tracks[name])
        for name, track in tracks.items():
            parts = [track.each(part) for part in ("http", "engine", "rest", "postgres")]
            print(
                f"{way:38} {name:7} {track.rate:8.0f} {median(track.waits) * 1e3:8.1f} "
                f"{track.percentile(0.99):8.1f} "
                + " ".join(f"{each:8.0f}" for each in (*parts, sum(parts)))
            )
            if (before := tracks.get("before")) and name == "now":
                print(
                    f"{'':38} {'ratio':7} {track.rate / before.rate:8.2f} "
                    f"{median(track.waits) / median(before.waits):8.2f} "
                    f"{track.percentile(0.99) / before.percentile(0.99):8.2f}"
                )
            if (least := tracks.get("floor")) is not None and track is not least:
                print(f"{'':38} {'share':7} {track.rate / least.rate:8.2f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="a folder with another version's files")
    parser.add_argument("--floor", action="store_true", help="beside benchmarks.server_floor")
    parser.add_argument("--turns", type=int, default=5, help="turns of each server and way")
    parser.add_argument("--seconds", type=float, default=3.0, help="the length of a turn")
    parser.add_argument("--ways", nargs="*", default=[], help="parts of the names of ways")
    options = parser.parse_args()
    ways = [name for name in WAYS if not options.ways or any(w in name for w in options.ways)]
    packages = {"now": ROOT} if options.before is None else {"before": options.before, "now": ROOT}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {
            name: stack.enter_context(serving(Path(folder) / name, package.absolute()))
            for name, package in packages.items()
        }
        if options.floor:
            servers = {"floor": stack.enter_context(_floor(Path(folder) / "floor")), **servers}
        asyncio.run(_measure(servers, ways, options.turns, options.seconds))


if __name__ == "__main__":
    main()
