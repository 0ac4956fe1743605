"""A real HTTP server: over an application in memory, or with a database of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from ssl import SSLContext

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.kb.graph_index import Origin
from sensorstream.model.terms import IRI, Literal
from sensorstream.server.listening import Server
from sensorstream.settings.settings import LimitSettings
from tests.forked import commands_are_forks as commands_are_forks
from tests.server.memory import MemoryApplication
from tests.server.resources import NOW
from tests.server.tracking import Deployment


@dataclass(frozen=True)
class Served:
    """A server that listens: its application and a client of it."""

    url: str
    application: MemoryApplication
    client: httpx.Client


@pytest.fixture(scope="session")
def listen() -> Callable[..., Iterator[str]]:
    """Serve an application from a thread by uvicorn, on a free port; with TLS if there is any.

    With ``every`` it listens on all addresses, of IPv4 and of IPv6.
    """

    def run(
        application: Application, tls: SSLContext | None = None, *, every: bool = False
    ) -> Iterator[str]:
        server = Server(application, tls=tls)
        with (
            socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            if every
            else socket.create_server(("127.0.0.1", 0)) as listener
        ):
            thread = threading.Thread(target=server.run, args=([listener],))
            thread.start()
            deadline = time.monotonic() + 60
            while not server.started:
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.005)
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True
            thread.join()

    return run


@pytest.fixture(scope="session")
def in_memory() -> Callable[[], Application]:
    """Makes applications in memory."""
    return MemoryApplication


@pytest.fixture(scope="session")
def served(listen: Callable[[Application], Iterator[str]]) -> Iterator[Served]:
    application = MemoryApplication()
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Served(url, application, client)
    application.cache.close()


@pytest.fixture
def small(listen: Callable[[Application], Iterator[str]]) -> Iterator[Served]:
    """A server that answers one question to the cache at a time."""
    application = MemoryApplication()
    application.settings = replace(application.settings, limits=LimitSettings(questions=1))
    things = [(IRI(f"urn:s{n}"), IRI("urn:p"), Literal(f"{n}")) for n in range(300)]
    application.kb.add(Origin.WINDOW, things)
    for url in listen(application):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield Served(url, application, client)
    application.cache.close()


@pytest.fixture
def application(served: Served) -> Iterator[MemoryApplication]:
    """The application behind the server; what a test changes of its state is put back."""
    parts = (served.application, served.application.asking, served.application.health)
    before = [dict(vars(each)) for each in parts]
    yield served.application
    for each, kept in zip(parts, before, strict=True):
        vars(each).update(kept)


@pytest.fixture
def client(served: Served) -> httpx.Client:
    return served.client


@pytest.fixture
def odd_table() -> SqlResult:
    """Every kind of value a database gives."""
    return SqlResult(
        ("a", "b", "c", "d", "e", "f", "g", "h"),
        (
            (1, 2.5, Decimal("3"), Decimal("3.25"), NOW, None, b"<x/>", True),
            (1, float("nan"), Decimal("NaN"), [NOW], NOW.date(), {"k": 1}, b"\xff", "ü"),
        ),
        truncated=True,
    )


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory,
    tracking_database: Callable[[], str],
    listen: Callable[[Application], Iterator[str]],
) -> Iterator[Deployment]:
    """The tracking deployment, with a database of its own."""
    found = Deployment(tmp_path_factory.mktemp("deployment"), tracking_database(), listen)
    found.start()
    yield found
    found.stop()
