"""Time and number of requests, by method, path of the operation, and status."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.server.access import OPERATIONS

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_OTHER: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


class Timed:
    """ASGI middleware: observes each answer when it has ended, that of an event stream, too.

    A path that is no operation, and an unusual method, count as "other": a client must not be able
    to make metrics.
    """

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        told = "Time from the header of a request to the end of its answer."
        self._seconds = Histogram(
            "sensorstream_http_request_seconds",
            told,
            ["method", "path", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        told = "Requests that are being answered."
        # All requests are in one thread: a number of our own needs no lock.
        self._running = 0
        running = Gauge("sensorstream_http_requests_running", told, registry=registry)
        running.set_function(lambda: self._running)
        self._of: dict[tuple[str, str, int], Histogram] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0  # of an answer that never began

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        begun = perf_counter()
        self._running += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._running -= 1
            self._observe(scope, status, perf_counter() - begun)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        known = method, OPERATIONS.find(scope["path"])[0] or _OTHER, status
        child = self._of.get(known)
        if child is None:
            child = self._of[known] = self._seconds.labels(*known)
        child.observe(seconds)
