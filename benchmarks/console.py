"""What open pages cost the server: ``python -m benchmarks.console``.

A client sends 500 messages a second to a server made by ``init``, in turns while nobody looks and
while a browser without a window shows five pages: the overview, the messages, a continuous query,
the individuals and the alerts. Printed are the messages taken in a second, the milliseconds of the
slowest hundredth of the requests (of 25 messages each), the processor's time of the server for a
thousand messages, the seconds until another page stands, and the memory of the server, of the
pages' process and of the browser. It needs Chromium with its driver.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote, urlsplit

import psutil
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from benchmarks.hostile import serving
from sensorstream import Client
from sensorstream.cli.simulation.tracker_messages import tracker_messages

_RATE: Final = 500
_TOGETHER: Final = 25
_QUERY: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <urn:x:people> AS
SELECT RSTREAM (COUNT(?p) AS ?people) { ?p :hasXLocation ?x }"""
_PAGES: Final = (
    *("/", "/messages", f"/query?name={quote('urn:x:people', safe='')}"),
    *("/individuals", "/alerts"),
)
_ANOTHER: Final = "/rules"
_OPTIONS: Final = ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,850")
_SETTLED: Final = 10.0
"""Seconds before something is measured."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: messages a second, milliseconds, seconds for a thousand messages."""

    rate: float
    slow: float
    cpu: float


def send(client: Client, server: psutil.Process, seconds: float, numbers: Iterator[int]) -> Turn:
    """Send at the rate, or as fast as the server takes messages in."""
    took: list[float] = []
    sent, before, begun = 0, _spent(server), time.perf_counter()
    while (gone := time.perf_counter() - begun) < seconds:
        ahead = sent / _RATE - gone
        if ahead > 0:
            time.sleep(ahead)
        start = next(numbers) * _TOGETHER
        batch = [each.decode() for each in tracker_messages(_TOGETHER, start=start)]
        asked = time.perf_counter()
        client.send_batch(batch)
        took.append((time.perf_counter() - asked) * 1000)
        sent += _TOGETHER
    gone = time.perf_counter() - begun
    took.sort()
    return Turn(sent / gone, took[int(len(took) * 0.99)], (_spent(server) - before) * 1000 / sent)


def _spent(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


@contextmanager
def looking(url: str) -> Iterator[webdriver.Chrome]:
    """A browser that shows the pages, each in a window of its own, so that all are seen."""
    options = webdriver.ChromeOptions()
    for each in _OPTIONS:
        options.add_argument(each)
    browser = webdriver.Chrome(options=options)
    try:
        for number, path in enumerate(_PAGES):
            if number:
                browser.switch_to.new_window("window")
            stands(browser, f"{url}/console{path}")
        yield browser
    finally:
        browser.quit()


def stands(browser: webdriver.Chrome, address: str) -> float:
    """Open a page; the seconds until its heading stands there."""
    begun = time.perf_counter()
    browser.get(address)
    WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "main h1"))
    return time.perf_counter() - begun


def memory(server: psutil.Process, browser: webdriver.Chrome | None) -> str:
    """Megabytes of the server, the pages' process, and the browser with all of its processes."""
    pages = [each for each in server.children(recursive=True) if _is_pages(each)]
    parts = {"server": [server], "pages": pages, "browser": []}
    if browser is not None:
        driver = psutil.Process(browser.service.process.pid)
        parts["browser"] = driver.children(recursive=True)
    return ", ".join(f"{name} {sum(map(_size, parts[name])) / 1e6:.0f} MB" for name in parts)


def _is_pages(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "sensorstream.console.page_process" in process.cmdline()
    return False


def _size(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def _server(url: str) -> psutil.Process:
    port = urlsplit(url).port
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any(c.laddr.port == port for c in each.net_connections() if c.status == "LISTEN"):
                return each
    raise LookupError(f"no process listens on port {port}")


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=2)
    options = parser.parse_args(arguments)
    numbers = itertools.count(1)
    rates: dict[str, list[float]] = {"nobody": [], "five pages": []}
    with TemporaryDirectory(prefix="sensorstream-bench-") as name:
        Path(name).chmod(0o755)
        with serving(Path(name) / "work") as url, Client(url) as client:
            server = _server(url)
            client.register(_QUERY)
            send(client, server, _SETTLED, numbers)
            for _ in range(options.turns):
                turn = send(client, server, options.seconds, numbers)
                rates["nobody"].append(turn.rate)
                _tell("nobody", turn, memory(server, None))
                with looking(url) as browser:
                    send(client, server, _SETTLED, numbers)
                    print(f"at the start: {memory(server, browser)}", flush=True)
                    turn = send(client, server, options.seconds, numbers)
                    rates["five pages"].append(turn.rate)
                    _tell("five pages", turn, memory(server, browser))
                    browser.switch_to.new_window("window")
                    seconds = stands(browser, f"{url}/console{_ANOTHER}")
                    print(f"another page stands after {seconds:.2f} s", flush=True)
    nobody, pages = (sum(each) / len(each) for each in rates.values())
    print(f"messages a second with five pages / with nobody: {pages / nobody:.3f}")
    return 0


def _tell(name: str, turn: Turn, told: str) -> None:
    print(
        f"{name:12}{turn.rate:8.1f} messages/s  p99 {turn.slow:7.1f} ms  "
        f"{turn.cpu:6.2f} s of processor for 1,000 messages  {told}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
