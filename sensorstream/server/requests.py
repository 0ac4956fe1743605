"""What every request gets: a name, in its answer and in all lines of the log that concern it.

And what every answer says to browsers: that it is what its media type says, that nothing in it
runs, and that no page shows it in a frame.
"""

from __future__ import annotations

import itertools
import re
import secrets
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.logs import concerning
from sensorstream.server.access import OPERATIONS

HEADER: Final = "X-Request-Id"
_FIELD: Final = HEADER.lower().encode()
_TO_BROWSERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_VALID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Named:
    """ASGI middleware: the name is the client's ``X-Request-Id``, or a new one if it has none that
    is valid (up to 64 letters, digits and ``._-``).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # They are no secret. The system's random bits for each would cost a change of threads.
        self._start = secrets.token_hex(4)
        self._count = itertools.count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _FIELD), b"")
        name = given if _VALID.fullmatch(given) else self._new_name()

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                said = {each[0].lower() for each in own}
                more = [each for each in _TO_BROWSERS if each[0] not in said]
                message = {**message, "headers": [*own, (_FIELD, name), *more]}
            await send(message)

        with concerning(request_id=name.decode()):
            await self._app(scope, receive, named)

    def _new_name(self) -> bytes:
        return f"{self._start}{next(self._count) & 0xFFFFFFFF:08x}".encode()


class Heads:
    """ASGI middleware: asks as GET, and ends the answer after its header.

    An answer that has no end, such as an event stream, is told that its client has left.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = False

        async def only_head(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                answered = True

        async def leaving() -> Message:
            return {"type": "http.disconnect"} if answered else await receive()

        await self._app({**scope, "method": "GET"}, leaving, only_head)


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
