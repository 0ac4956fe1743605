"""What hostile clients cost the others: ``python -m benchmarks.hostile``.

One client sends messages to a server made by ``init``, one after the other: at first alone, then
beside each hostile client in turn, which runs in a process of its own. Printed are the
milliseconds of a message, and how many times those of the quiet server the slowest hundredth takes
(the aim: at most five times).
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from sensorstream.cli.simulation.tracker_messages import tracker_messages

_XML: Final = {"content-type": "application/xml"}
_SPARQL: Final = {"content-type": "application/sparql-query"}
_ENDLESS: Final = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
_ENOUGH: Final = 200
"""Messages of which there is a slowest hundredth."""
_STEP: Final = 1.0
"""Seconds between two bytes of a slow client."""


def endless_questions(url: str) -> None:
    """Eight clients ask the window what has no end."""
    _many(8, lambda: httpx.post(f"{url}/sparql", content=_ENDLESS, headers=_SPARQL, timeout=60))


def deep_questions(url: str) -> None:
    """Questions that are nested thousands of times."""
    text = "ASK " + "{" * 3000 + "}" * 3000
    _many(4, lambda: httpx.post(f"{url}/sparql", content=text, headers=_SPARQL, timeout=60))


def sleeping_sql(url: str) -> None:
    """Fifty clients let PostgreSQL sleep."""
    body = {"query": "select pg_sleep(20)"}
    _many(50, lambda: httpx.post(f"{url}/sql", json=body, timeout=60))


def large_sql(url: str) -> None:
    """Four clients sort what does not fit the memory."""
    body = {"query": "select md5(n::text) from generate_series(1, 30000000) n order by 1"}
    _many(4, lambda: httpx.post(f"{url}/sql", json=body, timeout=60))


def large_answers(url: str) -> None:
    """Four clients ask for rows of a hundred megabytes."""
    body = {"query": "select repeat('x', 100000000) from generate_series(1, 256)"}
    _many(4, lambda: httpx.post(f"{url}/sql", json=body, timeout=60))


def idle_sockets(url: str) -> None:
    """Connections that say nothing, as many as can be had."""
    kept = [_connected(url) for _ in range(1500)]
    time.sleep(3600)
    del kept


def slow_headers(url: str) -> None:
    """Three hundred requests whose headers come byte by byte."""
    _drip(url, itertools.cycle(b"X-A: b\r\n"), b"POST /messages HTTP/1.1\r\nHost: localhost\r\n")


def slow_bodies(url: str) -> None:
    """Three hundred messages whose bodies come byte by byte."""
    head = (
        b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/xml\r\n"
        b"Content-Length: 100000\r\n\r\n"
    )
    _drip(url, itertools.cycle(b"<"), head)


def large_batches(url: str) -> None:
    """Three clients send batches of 5000 messages."""
    numbers = itertools.count(10_000_000, 5000)

    def batch() -> None:
        texts = [each.decode() for each in tracker_messages(5000, start=next(numbers))]
        httpx.post(f"{url}/messages/batch", json=texts, timeout=300)

    _many(3, batch)


def large_messages(url: str) -> None:
    """One client sends messages of almost a megabyte, full of persons."""
    person = "<person id='%d' certainty='90'><location2d x='1' y='2'/></person>"
    numbers = itertools.count(20_000_000)

    def message() -> None:
        people = "".join(person % next(numbers) for _ in range(12_000))
        content = (
            "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='9000000'/>"
            f"{people}</Tracker></Event></Message>"
        )
        httpx.post(f"{url}/messages", content=content, headers=_XML, timeout=300)

    _many(1, message)


def broken_requests(url: str) -> None:
    """Bodies that no reader likes."""
    deep = "[" * 100_000
    number = '{"query": "select 1", "limit": ' + "9" * 5000 + "}"
    bodies = itertools.cycle([deep, number, "\x00", "{", "NaN"])
    json = {"content-type": "application/json"}
    _many(4, lambda: httpx.post(f"{url}/sql", content=next(bodies), headers=json, timeout=60))


def regular_expressions(url: str) -> None:
    """A continuous query whose expression takes exponential time in most engines."""
    text = (
        "PREFIX : <http://sensorstream.example/tracking#> SELECT ?p "
        'WHERE { ?p :hasName ?n FILTER(REGEX(CONCAT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", '
        'STR(?n)), "^(a+)+$")) }'
    )
    for number in itertools.count():
        with suppress(httpx.HTTPError):
            name = {"name": f"bad{number}"}
            httpx.post(f"{url}/queries", params=name, content=text, timeout=60)
        time.sleep(1)


def costly_queries(url: str) -> None:
    """Continuous queries within their limits, each of which costs every message time."""
    prefix = "PREFIX : <http://sensorstream.example/tracking#> "
    texts = (
        "SELECT (GROUP_CONCAT(?n) AS ?all) WHERE { ?p :hasName ?n . ?q :hasXLocation ?x }",
        "SELECT ?p ?q WHERE { ?p :hasXLocation ?x . ?q :hasYLocation ?y }",
    )
    numbers = itertools.count()

    def register() -> None:
        number = next(numbers)
        name = {"name": f"costly{number % 8}"}
        # No two share their operators.
        text = prefix + texts[number % 2].replace("?q", f"?q{number}")
        httpx.post(f"{url}/queries", params=name, content=text, timeout=60)

    _many(2, register)


HOSTILE: Final[Mapping[str, Callable[[str], None]]] = {
    each.__name__: each
    for each in (
        endless_questions,
        deep_questions,
        sleeping_sql,
        large_sql,
        large_answers,
        idle_sockets,
        slow_headers,
        slow_bodies,
        large_batches,
        large_messages,
        costly_queries,
        broken_requests,
        regular_expressions,
    )
}


def _many(clients: int, request: Callable[[], object]) -> None:
    def go_on() -> None:
        while True:
            with suppress(httpx.HTTPError):
                request()

    with ThreadPoolExecutor(clients) as pool:
        for _ in range(clients):
            pool.submit(go_on)


def _connected(url: str) -> socket.socket | None:
    parts = httpx.URL(url)
    with suppress(OSError):
        return socket.create_connection((parts.host, parts.port or 80), timeout=1)
    return None


def _drip(url: str, signs: Iterator[int], head: bytes) -> None:
    open_ones: list[socket.socket] = []
    while True:
        while len(open_ones) < 300 and (one := _connected(url)) is not None:
            with suppress(OSError):
                one.sendall(head)
                open_ones.append(one)
        sign = bytes([next(signs)])
        for each in list(open_ones):
            try:
                each.sendall(sign)
            except OSError:
                open_ones.remove(each)
        time.sleep(_STEP)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server made by ``init``; gives its URL."""
    command = [sys.executable, "-m", "sensorstream"]
    subprocess.run([*command, "init", str(folder)], check=True, capture_output=True)
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(
            [*command, "serve", "-c", str(folder / "sensorstream.toml"), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        try:
            yield server.stdout.readline().removeprefix("listening on ").strip()
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                print("the server did not end within 30 s")
                server.kill()


@contextmanager
def beside(name: str, url: str) -> Iterator[None]:
    """Run a hostile client in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.hostile", "--be", name, "--url", url]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def ask(url: str, seconds: float, numbers: Iterator[int]) -> tuple[list[float], int]:
    """The milliseconds of each message, sorted; and how many were not accepted.

    Of a few messages the slowest hundredth is the slowest one, so it goes on until there are
    enough, but for no more than five times as long.
    """
    took: list[float] = []
    failed = 0
    begun_at = time.monotonic()
    while (gone := time.monotonic() - begun_at) < seconds or (
        len(took) < _ENOUGH and gone < 5 * seconds
    ):
        begun = time.perf_counter()
        try:
            # A new connection each: the server must take new ones, too.
            failed += _send(url, numbers, timeout=30).status_code != 200
        except httpx.HTTPError:
            failed += 1
        took.append((time.perf_counter() - begun) * 1000)
    return sorted(took), failed


def _send(url: str, numbers: Iterator[int], timeout: float) -> httpx.Response:
    content = next(tracker_messages(1, start=next(numbers)))
    return httpx.post(f"{url}/messages", content=content, headers=_XML, timeout=timeout)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; or be one of the hostile clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="beside each hostile client")
    parser.add_argument("--only", nargs="+", choices=list(HOSTILE), default=list(HOSTILE))
    parser.add_argument("--be", choices=list(HOSTILE), help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.be:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536), most))
        HOSTILE[options.be](options.url)
        return 0
    numbers = itertools.count(1)
    print(f"{'beside':24}{'messages':>10}{'failed':>8}{'median ms':>12}{'p99 ms':>10}{'times':>8}")
    with TemporaryDirectory(prefix="sensorstream-bench-") as name:
        Path(name).chmod(0o755)
        with serving(Path(name) / "work") as url:
            ask(url, 3, numbers)
            quiet = _line("nobody", *ask(url, options.seconds, numbers), None)
            for each in options.only:
                with beside(each, url):
                    time.sleep(2)
                    _line(each, *ask(url, options.seconds, numbers), quiet)
                time.sleep(2)
                # What it left in the engine does not count for the next one.
                _send(url, numbers, timeout=300)
            _line("nobody, at the end", *ask(url, options.seconds, numbers), quiet)
    return 0


def _line(name: str, took: Sequence[float], failed: int, quiet: float | None) -> float:
    high = took[int(len(took) * 0.99)]
    times = "" if quiet is None else f"{high / quiet:8.1f}"
    print(
        f"{name:24}{len(took):10}{failed:8}{took[len(took) // 2]:12.1f}{high:10.1f}{times}",
        flush=True,
    )
    return high


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
