"""Memory of a server at half load: ``python -m benchmarks.lasting [--minutes 60]``.

Sixteen clients first send as fast as the server made by ``init`` answers; then, for the time
given, they send at half that rate, while questions and continuous queries run. The memory of the
server's processes and of PostgreSQL's must stay flat.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Final

import httpx
import psutil

from benchmarks.hostile import serving
from sensorstream.cli.simulation.tracker_messages import tracker_messages

CLIENTS: Final = 16
_XML: Final = {"content-type": "application/xml"}
_SPARQL: Final = {"content-type": "application/sparql-query"}
_QUESTION: Final = "SELECT ?c (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c"
_QUERY: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER RSTREAM :far AS SELECT (COUNT(*) AS ?n) (AVG(?x) AS ?mean)
FROM NAMED WINDOW :w [RANGE 400 STEP 100]
WHERE { WINDOW :w { ?p :hasXLocation ?x } }"""
_FULL_LOAD: Final = 20.0
_EVERY: Final = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """After so many seconds and messages; megabytes are 10^6 bytes that no process shares."""

    seconds: float
    messages: int
    server: float
    postgres: float


class Load:
    """Clients that send at a rate; 0: as fast as they are answered."""

    def __init__(self, url: str) -> None:
        self.sent = 0
        self.rate = 0.0
        self.url = url
        self._numbers = itertools.count(1)
        self._lock = Lock()
        self._due = time.monotonic()
        self._stop = Event()
        self._threads = [Thread(target=self._send) for _ in range(CLIENTS)]

    def __enter__(self) -> Load:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join()

    def _send(self) -> None:
        with httpx.Client(base_url=self.url, headers=_XML, timeout=60) as client:
            while not self._stop.is_set():
                with self._lock:
                    content = next(tracker_messages(1, start=next(self._numbers)))
                    now = time.monotonic()
                    wait = 0.0
                    if self.rate:
                        self._due = max(self._due, now - 1) + 1 / self.rate
                        wait = self._due - now
                if wait > 0:
                    time.sleep(wait)
                with suppress(httpx.TransportError):
                    client.post("/messages", content=content).raise_for_status()
                    with self._lock:
                        self.sent += 1


def samples(load: Load, minutes: float) -> Iterator[Sample]:
    """The memory, taken every ten seconds; a question is asked each time."""
    begun, before = time.monotonic(), load.sent
    this = psutil.Process()
    with httpx.Client(base_url=load.url, timeout=60) as client:
        while (passed := time.monotonic() - begun) < minutes * 60:
            below = this.children(recursive=True)
            postgres = {each.pid for each in _postgres()}
            yield Sample(
                passed,
                load.sent - before,
                sum(_private(each) for each in below if each.pid not in postgres),
                sum(_private(each) for each in _postgres()),
            )
            client.post("/sparql", content=_QUESTION, headers=_SPARQL).raise_for_status()
            time.sleep(_EVERY)


def _postgres() -> list[psutil.Process]:
    # It is no child of the server: it lives on when the server is killed.
    return [each for each in psutil.process_iter() if _name(each) == "postgres"]


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        name: str = process.name()
        return name
    return ""


def _private(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        return float(process.memory_full_info().uss) / 1e6
    return 0.0


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="sensorstream-bench-") as name:
        Path(name).chmod(0o755)
        with serving(Path(name) / "work") as url, Load(url) as load:
            httpx.post(
                f"{url}/queries", params={"name": "far"}, content=_QUERY, timeout=30
            ).raise_for_status()
            time.sleep(_FULL_LOAD)
            load.rate = load.sent / _FULL_LOAD / 2
            print(f"full load {2 * load.rate:.0f} messages/s, from now on {load.rate:.0f}")
            print(f"{'seconds':>10}{'messages':>12}{'server MB':>12}{'PostgreSQL MB':>16}")
            for each in samples(load, options.minutes):
                print(
                    f"{each.seconds:10.0f}{each.messages:12}{each.server:12.1f}"
                    f"{each.postgres:16.1f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
