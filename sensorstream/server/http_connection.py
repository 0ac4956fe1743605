"""HTTP/1.1 on one connection, with limits of time and size; and the number of connections.

One sweep a second looks at all of them; no connection has a timer of its own.

Sources: RFC 9112, sections 6.3 (length of a body), 9.6 (closing); RFC 6585, section 5 (431).
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Final, Protocol

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from sensorstream.server.addresses import client_of, is_in
from sensorstream.server.door import Door
from sensorstream.server.problems import MEDIA_TYPE, Problem, http_problem
from sensorstream.settings.settings import LimitSettings, Network

_RESERVE: Final = 256
"""Open files that are not for connections: the database's, the reasoner's, logs, deliveries."""
_MOST: Final = 10_000
"""Connections by default, however many files may be open."""
_SPARE: Final = 32
"""More connections, on which only /healthz, /readyz and /metrics are answered."""


class Connection(Protocol):
    """The part of :class:`Guarded` that is used here."""

    def check(self, now: float) -> None:
        """End it if it has taken too long; ``now`` is the event loop's time."""

    def give_way(self) -> None:
        """Close it: it has no request, and another one needs the place."""


class _Places:
    """A set of connections, with their clients, and which of them wait for a request."""

    def __init__(self) -> None:
        self._client_of: dict[Connection, str] = {}
        self._taken = Counter[str]()
        # In the order in which they began to wait; those of each client, too.
        self._waiting: dict[Connection, None] = {}
        self._waiting_of: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        return len(self._client_of)

    def __iter__(self) -> Iterator[Connection]:
        return iter(tuple(self._client_of))

    def of(self, client: str) -> int:
        return self._taken[client]

    def longest_waiting(self, client: str | None = None) -> Connection | None:
        waiting = self._waiting if client is None else self._waiting_of.get(client, {})
        return next(iter(waiting), None)

    def add(self, connection: Connection, client: str) -> None:
        self._client_of[connection] = client
        self._taken[client] += 1
        self._waiting_of.setdefault(client, {})
        self.waits(connection)

    def waits(self, connection: Connection) -> None:
        if (client := self._client_of.get(connection)) is not None:
            self._waiting[connection] = self._waiting_of[client][connection] = None

    def begins(self, connection: Connection) -> None:
        if (client := self._client_of.get(connection)) is not None:
            self._waiting.pop(connection, None)
            self._waiting_of[client].pop(connection, None)

    def remove(self, connection: Connection) -> None:
        self.begins(connection)
        if (client := self._client_of.pop(connection, None)) is not None:
            self._taken[client] -= 1
            if not self._taken[client]:
                del self._taken[client], self._waiting_of[client]


class Connections:
    """The connections of a server. Used by the event loop only.

    A client, that is an address, may have as many places as are left: alone half of them, of two
    each a third. At its share, or when all places are taken, the connection that has waited longest
    without a request gives its place to the new one: one of the same client, or of any. Where all
    have requests, a few more may ask for health, and the others are refused.
    """

    def __init__(self, limits: LimitSettings, proxies: Sequence[Network] = ()) -> None:
        """``proxies`` have no share: their connections are those of many clients."""
        self.header_seconds = limits.header_seconds
        self.body_seconds = limits.body_seconds
        self._limit = limits.connections or default_limit()
        self._proxies = proxies
        self._places = _Places()
        self._spare = _Places()

    def __len__(self) -> int:
        return len(self._places) + len(self._spare)

    def enter(self, connection: Connection, peer: str) -> tuple[bool, bool]:
        """A new connection from an address, which waits for its first request. Returns whether it
        may stay, and whether it may ask for more than health.
        """
        client, shares = client_of(peer), not is_in(peer, self._proxies)
        for places, limit in ((self._places, self._limit), (self._spare, _SPARE)):
            if self._room(places, limit, client if shares else None):
                places.add(connection, client)
                return True, places is self._places
        return False, False

    def begins(self, connection: Connection) -> None:
        """Record that a connection has sent the header of a request."""
        self._places.begins(connection)
        self._spare.begins(connection)

    def waits(self, connection: Connection) -> None:
        """Record that the request of a connection is answered."""
        self._places.waits(connection)
        self._spare.waits(connection)

    def leave(self, connection: Connection) -> None:
        """Remove a connection that is closed."""
        self._places.remove(connection)
        self._spare.remove(connection)

    def sweep(self, now: float) -> None:
        """End the connections that have taken too long."""
        for each in (*self._places, *self._spare):
            each.check(now)

    def _room(self, places: _Places, limit: int, client: str | None) -> bool:
        """Whether there is a place for one more; closes one that waits, if that makes room."""
        left = limit - len(places)
        if client is not None and places.of(client) >= max(left, 1):
            longest = places.longest_waiting(client)
        elif left > 0:
            return True
        else:
            longest = places.longest_waiting()
        if longest is None:
            return False
        self.leave(longest)
        longest.give_way()
        return True


def peer_of(transport: asyncio.BaseTransport) -> str:
    """The address at the other end of a connection."""
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if peer else ""


def default_limit() -> int:
    """The number of connections that the open files of the process allow, less a reserve."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(1, min(_MOST, files - min(_RESERVE, files // 2)))
    return _MOST if files == resource.RLIM_INFINITY else most


HEALTH: Final = frozenset({b"/healthz", b"/readyz", b"/metrics"})
"""The paths that are answered on connections over the limit, too."""
_HEAD_BYTES: Final = 65_536
"""Bytes of the request line and all header fields together (431)."""
_HEADERS: Final = 256
"""Fields of a header (431)."""
_AHEAD: Final = 100
"""Requests that wait on a connection for the answer of the first one (400)."""
_LEAST_RATE: Final = 10_240
"""Bytes a second that a body must have on average, once its time is over."""
_FRAMING: Final = 8
"""Bytes of chunk sizes and line ends for each byte of a body: one byte a chunk needs six."""
_LINGER: Final = 5.0
"""Seconds that the rest of a refused request is read, so that its sender gets the answer."""
_WRITE_SECONDS: Final = 60.0
"""Seconds in which a client must take something of its answer."""
_RETRY_AFTER: Final = 1


class _Phase(Enum):
    WAITING = auto()
    """For the next request."""
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    """The request is here whole."""
    LINGER = auto()
    """What still comes of an answered or refused request is thrown away."""


class _Delivery:
    """A plain message on its connection, in the place of a cycle of ASGI."""

    message_event = asyncio.Event()
    """Nobody waits for it."""

    def __init__(self, message: Scope) -> None:
        self.message = message
        self.pieces: list[bytes] = []
        self.keep_alive = self.more_body = True
        self.disconnected = self.response_started = self.response_complete = False


class Guarded(HttpToolsProtocol):
    """A connection that ends when its client is too slow, or sends what it may not. Plain messages
    go to the door at once, all other requests to the ASGI application.
    """

    cycle: Any  # RequestResponseCycle | _Delivery

    def __init__(self, config: Any, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._connections: Connections = config.connections
        self._door: Door | None = config.door
        # Not whether the logger has a handler, as uvicorn asks: no line below its level is made.
        self.access_log = config.access_log
        self._phase = _Phase.HEAD
        self._since = 0.0
        self._raw = 0  # bytes received in this phase
        self._body = 0  # bytes of the body received
        self._head = 0  # bytes of header fields
        self._whole = True
        self._refused = False
        self._stalled: float | None = None
        self._running: RequestResponseCycle | _Delivery | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        stays, self._whole = self._connections.enter(self, peer_of(transport))
        if not stays:
            self._refuse(_busy())

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.leave(self)
        self._disconnect()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._refused:
            return
        if self._phase is _Phase.WAITING:
            self._enter(_Phase.HEAD)
        self._raw += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Only HTTP/1.1 is spoken here. The parser stops at an upgrade, so no other request can
            # follow on this connection.
            if self.cycle is not None:
                self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            cause = error.__context__
            problem = cause.problem if isinstance(cause, _Refused) else None
            self._refuse(problem or http_problem(400, f"not a valid HTTP request: {error}"))
            return
        if self._phase is _Phase.HEAD and self._raw > _HEAD_BYTES:
            self._refuse(_too_large())
        elif self._phase is _Phase.BODY and self._raw > _HEAD_BYTES + _FRAMING * self._body:
            self._refuse(http_problem(400, "the body is mostly framing: send larger chunks"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        if self._phase is not _Phase.HEAD:
            self._enter(_Phase.HEAD)
        self._raw = 1  # The line ends before a request are none of it.

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if len(self.headers) >= _HEADERS:
            raise _Refused(http_problem(431, f"a request may have {_HEADERS} header fields"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        if b"%00" in self.url:
            raise _Refused(http_problem(400, "the address has the character NUL (%00)"))
        if len(self.pipeline) >= _AHEAD:
            raise _Refused(http_problem(400, f"{_AHEAD} requests wait on this connection already"))
        self._connections.begins(self)
        self._body = 0
        self._enter(_Phase.BODY)
        free = self._whole and (self.cycle is None or self.cycle.response_complete)
        stays = self.parser.should_keep_alive() and self.parser.get_http_version() == "1.1"
        if self._door is not None and free and stays and not self.access_log:
            method = self.parser.get_method()
            message = self._door.plain(method, self.url, self.headers, self.client)
            if message is not None:
                self.cycle = self._running = _Delivery(message)
                return
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if not self._whole and cycle.scope["raw_path"] not in HEALTH:
            self._refuse(_busy())
            return
        if not self._whole:
            cycle.keep_alive = False
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if isinstance(self.cycle, _Delivery):
            self.cycle.pieces.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        cycle = self.cycle
        if cycle.response_complete:
            self._wait()
            return
        self._enter(_Phase.ANSWER)
        if isinstance(cycle, _Delivery) and self._door is not None:
            task = self.loop.create_task(self._deliver(cycle, self._door))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

    async def _deliver(self, cycle: _Delivery, door: Door) -> None:
        """Let the door take a plain message in, and answer."""
        status, header, body = await door.take(cycle.message, b"".join(cycle.pieces))
        if cycle.disconnected or self.transport.is_closing():
            return
        fields = [*self.server_state.default_headers, *header]
        if status == 500:
            cycle.keep_alive = False
        elif not cycle.keep_alive:
            fields.append((b"connection", b"close"))
        lines = [b"%b: %b\r\n" % each for each in fields]
        self.transport.write(b"".join((STATUS_LINE[status], *lines, b"\r\n", body)))
        cycle.response_started = cycle.response_complete = True
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._running is not self.cycle or self.transport.is_closing():
            return
        if self._phase is _Phase.ANSWER:
            self._wait()
        elif self._phase is _Phase.BODY:
            # Answered before the end of the request.
            self._enter(_Phase.LINGER)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled = None

    def check(self, now: float) -> None:
        spent = now - self._since
        if self._stalled is not None and now - self._stalled > _WRITE_SECONDS:
            self.transport.abort()
        elif self._phase is _Phase.HEAD and spent > self._connections.header_seconds:
            if self._raw:
                self._refuse(http_problem(408, "the header of the request took too long"))
            else:
                self.transport.close()
        elif self._phase is _Phase.BODY and self.flow.read_paused:
            self._since = now  # The server is slow, not the client.
        elif self._phase is _Phase.BODY:
            late = spent - self._connections.body_seconds
            if late > 0 and self._body < late * _LEAST_RATE:
                self._refuse(http_problem(408, "the body of the request took too long"))
        elif self._phase is _Phase.LINGER and spent > _LINGER:
            self.transport.abort()
        elif self._phase is _Phase.WAITING and spent > self.timeout_keep_alive:
            self.transport.close()

    def give_way(self) -> None:
        """Close the connection: it has no request, and another one needs the place."""
        self._refused = True
        self.transport.close()

    def _enter(self, phase: _Phase) -> None:
        if self._refused:
            return
        self._phase = phase
        self._since = self.loop.time()
        self._raw = 0

    def _wait(self) -> None:
        self._enter(_Phase.WAITING)
        self._connections.waits(self)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > _HEAD_BYTES:
            raise _Refused(_too_large())

    def _disconnect(self) -> None:
        """Tell every request of this connection, also those that wait, that the client is away."""
        for cycle in (self._running, *(each for each, _ in self.pipeline)):
            if cycle is None or cycle.response_complete or cycle.disconnected:
                continue
            cycle.disconnected = True
            cycle.message_event.set()
            if isinstance(cycle, _Delivery) and cycle.more_body and self._door is not None:
                self._door.leave(cycle.message)

    def _refuse(self, problem: Problem) -> None:
        """Answer, read on for a while so that the client gets the answer, then close."""
        running = self._running
        if running is not None and running.response_started and not running.response_complete:
            self.transport.abort()
            return
        waiting = running is not None and not running.response_complete
        self._disconnect()
        self._enter(_Phase.LINGER)
        self._refused = True
        if waiting and running is not self.cycle:
            self.transport.close()  # The answer would be taken for that of an earlier request.
            return
        self.transport.write(_bytes(problem))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()


class _Refused(Exception):
    """The end of the parsing of a request that is refused."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _too_large() -> Problem:
    return http_problem(431, f"the header of a request may hold {_HEAD_BYTES} bytes")


def _busy() -> Problem:
    return http_problem(503, "as many connections are open as may be: try again later")


def _bytes(problem: Problem) -> bytes:
    body = json.dumps(problem.document()).encode()
    lines = [
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}",
        f"content-type: {MEDIA_TYPE}",
        f"content-length: {len(body)}",
        "connection: close",
    ]
    if problem.status == 503:
        lines.append(f"retry-after: {_RETRY_AFTER}")
    return "\r\n".join((*lines, "", "")).encode() + body
