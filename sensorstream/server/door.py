"""The door: the one callable that every request comes through. It asks the checks of a request in
order (:class:`.KnownSites`, the limit of its body, :class:`.Guard`), each of them a function over
it; then the routes answer. A plain message comes in without them.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import zlib
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Final, TypeAlias

from anyio import move_on_after
from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from sensorstream.app.application import Application
from sensorstream.app.questions.mirrored_window import ANSWERED_OF, StoredBatch
from sensorstream.errors import SensorStreamError
from sensorstream.logs import concerning, trace_facts
from sensorstream.server.access_rules import OPERATIONS, Guard, named
from sensorstream.server.addresses import (
    EVERY,
    KnownSites,
    SharedAnswers,
    check_origins,
    with_mapped,
)
from sensorstream.server.problems import http_problem, refusal, respond, unexpected
from sensorstream.server.rest.messages_routes import take

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
                    self._members += 1
                    if self._members > _MEMBERS:
                        told = f"the body has over {_MEMBERS} gzip files: expected one"
                        raise HTTPException(400, told)
                    self._member = zlib.decompressobj(_GZIP)
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


def is_compressed(scope: Scope) -> bool:
    """Whether a body has a content coding: gzip.

    Raises:
        HTTPException: it has one that is not understood.
    """
    told = ", ".join(Headers(scope=scope).getlist("content-encoding")).strip().lower()
    if told not in ("", "identity", "gzip", "x-gzip"):
        accepted = {"Accept-Encoding": "gzip"}  # RFC 9110, section 12.5.3
        raise HTTPException(415, f"Content-Encoding '{told}': expected gzip, or none", accepted)
    return told.endswith("gzip")


_CLOSE: Final = {"connection": "close"}
_LINGER_SECONDS: Final = 5.0
_LINGER_BYTES: Final = 64 * 1024 * 1024

HEADER: Final = "X-Request-Id"
BATCH: Final = "SensorStream-Batch"
"""The header of an answer that is about what engines on Spark hold: the last entry of the batch,
and when it was stored.
"""
_FIELD: Final = HEADER.lower().encode()
# An answer is what its media type says, nothing in it runs, and no page shows it in a frame.
_TO_BROWSERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_VALID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_END: Final = {"type": "http.response.body", "body": b"", "more_body": False}


class _Visit:
    """The body of one request, within its limit, and its answer, with its name. HEAD is asked as
    GET, and gets the header alone: an answer without an end, such as an event stream, learns that
    its client has left.
    """

    def __init__(self, receive: Receive, send: Send, name: bytes, *, head: bool) -> None:
        self._receive = receive
        self._send = send
        self._name = name
        self._head = head
        self._ended = self._over = False
        self._inflating: Inflating | None = None
        self._limit = self._sent = self._read = 0
        self.batches: list[StoredBatch] = []
        self.status = 0  # of an answer that never began

    def limit(self, scope: Scope, limit: int) -> Scope:
        """Let the body have so many bytes: as they come, and decompressed. Returns the request
        without the coding of its body.

        Raises:
            HTTPException: it announces more, or a coding that is not understood.
        """
        self._limit = limit
        fields = dict(reversed(scope["headers"]))
        if b"content-encoding" in fields and is_compressed(scope):
            self._inflating = Inflating()
            gone = (b"content-encoding", b"content-length")
            left = [each for each in scope["headers"] if each[0].lower() not in gone]
            scope = {**scope, "headers": left}
        announced = fields.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > limit:
            raise self._too_large()
        return scope

    async def receive(self) -> Message:
        if self._ended:
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        body = message.get("body", b"")
        self._sent += len(body)
        if self._inflating is not None:
            body = self._inflating.feed(body, self._limit + 1 - self._read)
            message = {**message, "body": body}
        self._read += len(body)
        if max(self._sent, self._read) > self._limit:
            raise self._too_large()
        if self._inflating is not None and not message.get("more_body"):
            self._inflating.end()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = message.get("headers", ())
            said = {each[0].lower() for each in own}
            more = [(_FIELD, self._name), *(e for e in _TO_BROWSERS if e[0] not in said)]
            if self.batches:
                more.append((BATCH.lower().encode(), str(self.batches[0]).encode()))
            await self._send({**message, "headers": [*own, *more]})
            if self._head:
                self._ended = True
                await self._send(_END)
        elif self._over and not message.get("more_body"):
            await self._send({**message, "more_body": True})
            await self._throw_away()
            await self._send(_END)
        elif not self._ended:
            await self._send(message)

    def _too_large(self) -> HTTPException:
        self._over = True
        return HTTPException(413, f"The body may hold {self._limit} bytes.", dict(_CLOSE))

    async def _throw_away(self) -> None:
        """Read on for a while before the connection closes: closing it while the client still sends
        would reset it, and the client might lose the answer (RFC 9112, section 9.6).
        """
        thrown = 0
        with move_on_after(_LINGER_SECONDS):
            while thrown < _LINGER_BYTES:
                message = await self._receive()
                if not message.get("more_body"):
                    return
                thrown += len(message["body"])


_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_OTHER: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


class _Answers:
    """The metrics of answers. A path that is no operation, and an unusual method, count as "other":
    a client must not be able to make metrics.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
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

    def begin(self) -> float:
        """Count a request that begins; returns the time."""
        self._running += 1
        return perf_counter()

    def end(self, method: str, path: str, status: int, begun: float) -> None:
        """Count the end of its answer, also that of an event stream."""
        self._running -= 1
        method = method if method in _METHODS else _OTHER
        known = method, OPERATIONS.find(path)[0] or _OTHER, status
        child = self._of.get(known)
        if child is None:
            child = self._of[known] = self._seconds.labels(*known)
        child.observe(perf_counter() - begun)


_ENCODED: Final = (b"/queries/", b"/individuals/")
"""Paths that stay percent-encoded: their names may be IRIs with slashes."""
_EXPOSED: Final = ("Location", "Retry-After", "SensorStream-Origin", "ETag", HEADER, BATCH)
_SOURCE: Final = re.compile(rb"(?:source=([\w.-]{1,200}))?")
_UNUSUAL: Final = frozenset(
    {b"content-encoding", b"transfer-encoding", b"expect", b"upgrade", b"origin"}
)
_FORWARDED: Final = b"x-forwarded-for"
_LOG: Final = logging.getLogger(__name__)
Header: TypeAlias = tuple[bytes, bytes]


class Door:
    """ASGI application around the routes (:meth:`around`), and the way of plain messages
    (:meth:`plain`). A batch may hold 16 messages of the largest size; a SOAP envelope holds one
    such message, escaped. ``host`` is the address that the server listens on.

    The name of a request is the client's ``X-Request-Id``, or a new one without a valid one (up to
    64 letters, digits and ``._-``). The answer and all lines of the log about the request have it.
    """

    def __init__(self, application: Application, host: str) -> None:
        told = application.settings.server
        largest = told.max_message_bytes
        # In an envelope "&" becomes "&quot;" at worst.
        batch, envelope = 16 * largest, 6 * largest + 65_536
        self._largest = largest
        self._limits = {
            **dict.fromkeys(("/messages/batch", "/ontology", "/rules"), batch),
            **dict.fromkeys(("/trials", "/soap"), envelope),
        }
        self._application = application
        self._answers = _Answers(application.metrics)
        self._traced = application.traces is not None
        origins = check_origins(told.origins)
        readers = check_origins(told.read_origins, "server.read_origins", EVERY)
        self._sites = KnownSites(host, told.names, origins, readers)
        self._guard = Guard(application.access)
        # uvicorn's reading of who is behind a proxy, of which only the routes have a use otherwise.
        trusted = with_mapped(application.settings.http.proxies)
        self._proxies = ProxyHeadersMiddleware(self, trusted).trusted_hosts  # type: ignore[arg-type]
        shared = bool(origins or readers)
        self._within = (
            SharedAnswers(self._let_in, origins, readers, _EXPOSED) if shared else self._let_in
        )
        self._routes: ASGIApp = respond(http_problem(404))
        # They are no secret; the system's random bits for each would cost a change of threads.
        self._start = secrets.token_hex(4)
        self._count = itertools.count()

    def around(self, routes: ASGIApp) -> ASGIApp:
        """Stand before the routes."""
        self._routes = routes
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path, raw = scope["method"], scope["path"], scope.get("raw_path", b"")
        if raw.startswith(_ENCODED):
            path = raw.partition(b"?")[0].decode("ascii", "replace")
        facts = self.facts(dict(reversed(scope["headers"])))
        head = method == "HEAD"
        visit = _Visit(receive, send, facts["request_id"].encode(), head=head)
        if not self._application.here:
            ANSWERED_OF.set(visit.batches)
        begun = self._answers.begin()
        try:
            with concerning(**facts):
                problem = self._sites.problem(scope)
                app = self._within if problem is None else respond(problem)
                more = {"path": path, "method": "GET" if head else method, "visit": visit}
                await app({**scope, **more}, visit.receive, visit.send)
        finally:
            self._answers.end(method, path, visit.status, begun)

    def facts(self, fields: Mapping[bytes, bytes]) -> dict[str, str]:
        """The name of a request, and of its span if there are traces, for the log."""
        name = fields.get(_FIELD, b"")
        new = not _VALID.fullmatch(name)
        told = f"{self._start}{next(self._count) & 0xFFFFFFFF:08x}" if new else name.decode()
        facts = {"request_id": told}
        if self._traced:
            facts |= trace_facts(fields.get(b"traceparent", b"").decode("latin-1"))
        return facts

    def plain(
        self, method: bytes, url: bytes, headers: Sequence[Header], client: tuple[str, int] | None
    ) -> Scope | None:
        """The message that the header of a request announces, if nothing about it is unusual and
        every check lets it in; None: it goes the way of all requests, on which it may be refused.
        """
        path, _, query = url.partition(b"?")
        found, fields = _SOURCE.fullmatch(query), dict(headers)
        if (
            (method, path) != (b"POST", b"/messages")
            or found is None
            or len(fields) < len(headers)
            or not _UNUSUAL.isdisjoint(fields)
            or not (length := fields.get(b"content-length", b"")).isdigit()
            or int(length) > self._largest
            or not self._sites.is_ours(fields.get(b"host", b"").decode("latin-1"))
            or (user := self._guard.sender(fields.get(b"authorization"))) is None
        ):
            return None
        if client is not None and client[0] in self._proxies and _FORWARDED in fields:
            told = self._proxies.get_trusted_client_address(fields[_FORWARDED].decode("latin-1"))
            client = told if told[0] else client
        source, facts = (found[1] or b"rest").decode(), self.facts(fields)
        message = {"type": "http", "headers": headers, "client": client, "user": user}
        return {**message, "source": source, "facts": facts, "begun": self._answers.begin()}

    def leave(self, message: Scope) -> None:
        """Count a plain message whose client has left before its body was here."""
        self._answers.end("POST", "/messages", 0, message["begun"])

    async def take(self, message: Scope, body: bytes) -> tuple[int, Sequence[Header], bytes]:
        """Take a plain message in; returns status, header and body of the answer."""
        facts = message["facts"]
        with concerning(**facts, **named(message["user"])):
            try:
                response = await take(self._application, Request(message), message["source"], body)
            except (SensorStreamError, HTTPException) as error:
                response = refusal(error)
            except Exception:
                _LOG.exception("internal error: a message could not be taken in")
                response = respond(unexpected(), _CLOSE)
        self._answers.end("POST", "/messages", response.status_code, message["begun"])
        header = (*response.raw_headers, (_FIELD, facts["request_id"].encode()), *_TO_BROWSERS)
        return response.status_code, header, bytes(response.body)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: _Visit = scope["visit"]
        try:
            scope = visit.limit(scope, self._limits.get(scope["path"], self._largest))
        except HTTPException as error:
            await refusal(error)(scope, receive, send)
        else:
            await self._guard.let_in(self._routes, scope, receive, send)
