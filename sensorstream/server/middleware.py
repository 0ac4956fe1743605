"""Middleware of every request: a limit of its body, a name, HEAD, and the time it takes."""

from __future__ import annotations

import itertools
import re
import secrets
import zlib
from collections.abc import Mapping
from time import perf_counter
from typing import Final

from anyio import move_on_after
from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.app.questions.mirrored_window import ANSWERED_OF, StoredBatch
from sensorstream.logs import concerning, trace_facts
from sensorstream.server.access_rules import OPERATIONS
from sensorstream.server.problems import http_problem, respond

ACCEPTED: Final = {"Accept-Encoding": "gzip"}
"""The header that tells a client which codings are understood (RFC 9110, section 12.5.3)."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_MEMBERS: Final = 64
"""The most members of a gzip file: the rest of a piece is copied for each."""


class Inflating:
    """Decompression of a body, piece by piece, never more of it than is asked for."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._members = 1
        self._fed = False

    def feed(self, piece: bytes, most: int) -> bytes:
        """Decompress a piece, up to ``most`` bytes.

        Raises:
            HTTPException: it is not gzip.
        """
        found = b""
        self._fed = self._fed or bool(piece)
        try:
            while piece and len(found) < most:
                if self._member.eof:
                    self._next_member()
                found += self._member.decompress(piece, most - len(found))
                piece = self._member.unused_data
        except zlib.error as error:
            raise HTTPException(
                400, f"the body is not gzip, as Content-Encoding says: {error}"
            ) from None
        return found

    def end(self) -> None:
        """Check that the body is whole.

        Raises:
            HTTPException: it is not.
        """
        if self._fed and not self._member.eof:
            raise HTTPException(400, "the body breaks off: expected the rest of the gzip file")

    def _next_member(self) -> None:
        self._members += 1
        if self._members > _MEMBERS:
            raise HTTPException(400, f"the body has over {_MEMBERS} gzip files: expected one")
        self._member = zlib.decompressobj(_GZIP)


def coding_of(scope: Scope) -> str:
    """The content coding of a request's body; "": it has none.

    Raises:
        HTTPException: it is not understood.
    """
    told = ", ".join(Headers(scope=scope).getlist("content-encoding")).strip().lower()
    if told in ("", "identity"):
        return ""
    if told in ("gzip", "x-gzip"):
        return "gzip"
    raise HTTPException(415, f"Content-Encoding '{told}': expected gzip, or none", ACCEPTED)


def without_coding(scope: Scope) -> Scope:
    """The same request, with the headers of a body that was sent as it is."""
    gone = (b"content-encoding", b"content-length")
    return {**scope, "headers": [each for each in scope["headers"] if each[0].lower() not in gone]}


_CONNECTION_CLOSE: Final = {"connection": "close"}
_LINGER_SECONDS: Final = 5.0
_LINGER_BYTES: Final = 64 * 1024 * 1024


class BodyLimit:
    """ASGI middleware: answers 413 as soon as a body, or its declared length, is too large.
    ``limits`` are bytes by path; ``default`` is the limit of every other path. A body in gzip is
    decompressed, and both its lengths are limited.
    """

    def __init__(self, app: ASGIApp, default: int, limits: Mapping[str, int]) -> None:
        self._app = app
        self._default = default
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._limits.get(scope["path"], self._default)
        told = f"The body may hold {limit} bytes."
        try:
            fields = dict(reversed(scope["headers"]))
            coded = b"content-encoding" in fields and coding_of(scope)
            inflating = Inflating() if coded else None
        except HTTPException as error:
            problem = http_problem(error.status_code, error.detail)
            await respond(problem, error.headers)(scope, receive, send)
            return
        announced = fields.get(b"content-length", b"0")
        over = announced.isdigit() and int(announced) > limit
        sent = read = 0

        async def limited() -> Message:
            nonlocal sent, read, over
            message = await receive()
            body = message.get("body", b"")
            sent += len(body)
            of_body = message["type"] == "http.request"
            if inflating is not None and of_body:
                body = inflating.feed(body, limit + 1 - read)
                message = {**message, "body": body}
            read += len(body)
            if max(sent, read) > limit:
                over = True
                raise HTTPException(413, told, dict(_CONNECTION_CLOSE))
            if inflating is not None and of_body and not message.get("more_body"):
                inflating.end()
            return message

        async def patient(message: Message) -> None:
            if over and message["type"] == "http.response.body" and not message.get("more_body"):
                await send({**message, "more_body": True})
                await _throw_away(receive)
                message = {"type": "http.response.body"}
            await send(message)

        if over:
            response = respond(http_problem(413, told), _CONNECTION_CLOSE)
            await response(scope, receive, patient)
        else:
            plain_scope = scope if inflating is None else without_coding(scope)
            await self._app(plain_scope, limited, patient)


async def _throw_away(receive: Receive) -> None:
    """Read on for a while before the connection closes: closing it while the client still sends
    would reset it, and the client might lose the answer (RFC 9112, section 9.6).
    """
    thrown = 0
    with move_on_after(_LINGER_SECONDS):
        while thrown < _LINGER_BYTES:
            message = await receive()
            if not message.get("more_body"):
                return
            thrown += len(message["body"])


HEADER: Final = "X-Request-Id"
_FIELD: Final = HEADER.lower().encode()
# An answer is what its media type says, nothing in it runs, and no page shows it in a frame.
_TO_BROWSERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_VALID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Named:
    """ASGI middleware: the name is the client's ``X-Request-Id``, or a new one without a valid one
    (up to 64 letters, digits and ``._-``). The answer and all lines of the log about the request
    have it. ``traced``: a ``traceparent`` of the request is heeded, too.
    """

    def __init__(self, app: ASGIApp, *, traced: bool = False) -> None:
        self._app = app
        self._traced = traced
        # They are no secret; the system's random bits for each would cost a change of threads.
        self._start = secrets.token_hex(4)
        self._count = itertools.count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = next((value for name, value in scope["headers"] if name == _FIELD), b"")
        new = not _VALID.fullmatch(given)
        name = f"{self._start}{next(self._count) & 0xFFFFFFFF:08x}".encode() if new else given

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", ())
                said = {each[0].lower() for each in own}
                more = [each for each in _TO_BROWSERS if each[0] not in said]
                message = {**message, "headers": [*own, (_FIELD, name), *more]}
            await send(message)

        facts = {"request_id": name.decode()}
        if self._traced:
            told = dict(scope["headers"]).get(b"traceparent", b"")
            facts |= trace_facts(told.decode("latin-1"))
        with concerning(**facts):
            await self._app(scope, receive, named)


BATCH: Final = "SensorStream-Batch"


class OfBatch:
    """ASGI middleware: the header ``SensorStream-Batch`` of an answer that is about what engines on
    Spark hold: the last entry of the batch, and when it was stored.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        batches: list[StoredBatch] = []

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start" and batches:
                own = message.get("headers", ())
                text = str(batches[0]).encode()
                message = {**message, "headers": [*own, (BATCH.lower().encode(), text)]}
            await send(message)

        token = ANSWERED_OF.set(batches)
        try:
            await self._app(scope, receive, told)
        finally:
            ANSWERED_OF.reset(token)


class Heads:
    """ASGI middleware: asks as GET, and ends the answer after its header. An answer without an end,
    such as an event stream, learns that its client has left.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
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


class TimedAnswers:
    """ASGI middleware: observes each answer when it has ended, that of an event stream, too. A path
    that is no operation, and an unusual method, count as "other": a client must not be able to make
    metrics.
    """

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        told = "Time from a request's header to the end of its answer; status 0: none began."
        self._seconds = Histogram(
            "sensorstream_http_request_seconds",
            told,
            ["method", "path", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        told = "Requests that are being answered, event streams included."
        # All requests are in one thread: a number of our own needs no lock.
        self._running = 0
        running = Gauge("sensorstream_http_requests_running", told, registry=registry)
        running.set_function(lambda: self._running)
        self._of: dict[tuple[str, str, int], Histogram] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
