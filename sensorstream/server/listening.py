"""The HTTP server: uvicorn with our limits, on a socket that is bound already."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from ssl import SSLContext
from threading import Event, Thread
from typing import Any, Final

import uvicorn
from prometheus_client import Gauge
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.app.application import Application
from sensorstream.server.addresses import check_tiles, with_mapped
from sensorstream.server.console_proxy import ConsoleProcess, console
from sensorstream.server.door import Door
from sensorstream.server.http_connection import Connections, Guarded, peer_of
from sensorstream.server.problems import http_problem, respond
from sensorstream.server.web_application import create_app
from sensorstream.settings.settings import LimitSettings, Network
from sensorstream.settings.settings_file import GivenSetting

_RETRY_AFTER: Final = {"Retry-After": "5"}


def starting(ailment: Callable[[], str], doing: Callable[[], str]) -> ASGIApp:
    """ASGI application during the start: ``/healthz`` says that it lives, ``/readyz`` what the
    start does, and all else to come again.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path, done = scope["path"], doing()
        if path == "/healthz":
            wrong = ailment()
            alive = JSONResponse({"status": "alive", "held": 0})
            response = respond(http_problem(503, wrong)) if wrong else alive
        else:
            part = {"ready": False, "detail": done, "age": 0.0}
            more = {"parts": {"start": part}} if path == "/readyz" else {}
            told = http_problem(503, f"the server starts: {done}")
            response = respond(told, _RETRY_AFTER, more)
        await response(scope, receive, send)

    return answer


# An event loop that is told to serve TLS hides a connection until its handshake is over: clients
# that never begin one would take all open files without being counted. This needs a loop on which
# ``pause_reading`` counts from the beginning of a connection: asyncio's, not uvloop.

_MOST_EARLY: Final = 65_536
"""Bytes that may come between the end of the handshake and the beginning of HTTP."""


class Handshake(asyncio.Protocol):
    """A connection until its handshake is over; then it is that of ``made``. It gives its place to
    another connection, or ends when it takes longer than a request's header.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        connections: Connections,
        made: Callable[[], asyncio.Protocol],
    ) -> None:
        self._context = context
        self._connections = connections
        self._made = made
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + connections.header_seconds
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._early = b""
        self._ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        stays, _ = self._connections.enter(self, peer_of(transport))
        if stays:
            # The bytes are for the handshake, which begins when the loop comes to it.
            transport.pause_reading()
            self._task = self._loop.create_task(self._shake(transport))
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        # What the client sent right behind its handshake.
        self._early += data
        if len(self._early) > _MOST_EARLY:
            self.give_way()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._connections.leave(self)

    def check(self, now: float) -> None:
        if now > self._until:
            self.give_way()

    def give_way(self) -> None:
        self._ended = True
        self._connections.leave(self)
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _shake(self, transport: asyncio.Transport) -> None:
        try:
            secure = await self._loop.start_tls(transport, self, self._context, server_side=True)
        except OSError:  # of which ssl.SSLError is one: not TLS, or not one of ours
            secure = None
        finally:
            self._connections.leave(self)
        if secure is None or self._ended:
            transport.abort()
            return
        protocol = self._made()
        secure.set_protocol(protocol)
        protocol.connection_made(secure)
        if self._early:
            protocol.data_received(self._early)


_IDLE: Final = 75
"""Seconds that an unused connection stays open: longer than the minute between two reports."""
_FAREWELL: Final = 10
"""Seconds that running requests get when the server stops."""
_SOON: Final = 1.0
"""Seconds after which a start is answered for."""
_TICKS: Final = 10
"""uvicorn ticks ten times a second."""


class _Config(uvicorn.Config):
    """The configuration of uvicorn, with what our protocol needs."""

    connections: Connections
    door: Door | None


class _Listening(uvicorn.Server):
    """A server of an ASGI application on sockets, with limits of time and number of connections."""

    def __init__(
        self,
        app: ASGIApp,
        limits: LimitSettings,
        tls: SSLContext | None,
        proxies: Sequence[Network] = (),
        door: Door | None = None,
    ) -> None:
        connections = Connections(limits, proxies)
        config = _Config(
            app,
            # uvloop reads at once what start_tls must read: see :class:`Handshake`.
            loop="uvloop" if tls is None else "asyncio",
            http=_spoken(tls, connections),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=logging.getLogger("uvicorn.access").isEnabledFor(logging.INFO),
            server_header=False,
            # uvicorn's default lets every program of this machine choose its address.
            proxy_headers=bool(proxies),
            forwarded_allow_ips=with_mapped(proxies),
            timeout_graceful_shutdown=_FAREWELL,
            timeout_keep_alive=_IDLE,
        )
        config.connections, config.door = connections, door
        super().__init__(config)
        self.connections = connections

    async def on_tick(self, counter: int) -> bool:
        """End the connections that take too long, once a second."""
        if counter % _TICKS == 0:
            self.connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)


class Server(_Listening):
    """A server of one application; it ends its questions and event streams when it stops.

    ``host`` is the address of the socket; by default server.host of the settings. With ``tls`` it
    serves HTTPS alone; ``given`` says where the settings come from.
    """

    def __init__(
        self,
        application: Application,
        host: str | None = None,
        tls: SSLContext | None = None,
        *,
        on_ready: Callable[[], None] = lambda: None,
        given: Sequence[GivenSetting] = (),
    ) -> None:
        settings = application.settings
        ground = settings.server
        self._console = ConsoleProcess(check_tiles(ground.map_tiles), ground.map_credit)
        app = create_app(application, host, console(self._console), given)
        super().__init__(app, settings.limits, tls, settings.http.proxies, app.state.door)
        self._application = application
        told = "Open connections of clients."
        open_now = Gauge("sensorstream_http_connections", told, registry=application.metrics)
        open_now.set_function(self.connections.__len__)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Of the pages: plain HTTP, in their folder.
        state, folder = self.lifespan.state, str(self._console.interface)
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Guarded(self.config, server_state=self.server_state, app_state=state), folder
        )
        self.servers.append(server)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End questions and event streams, let running requests end, stop listening."""
        self._application.running.close()
        self._application.alert_feed.close()
        self._application.queries.feed.close()
        # First, since the end would wait for requests of open pages.
        self._console.close()
        await super().shutdown(sockets)


class StartingServer:
    """A server that answers on a server's socket while that starts: alive, but not ready. It is a
    context manager.

    Only a start that lasts listens so early; on leaving the socket is left to the server, with the
    connections that nobody has accepted yet. ``ailment`` and ``doing`` are asked at each request.
    """

    def __init__(
        self,
        listener: socket.socket,
        limits: LimitSettings,
        tls: SSLContext | None,
        *,
        ailment: Callable[[], str],
        doing: Callable[[], str],
        after: float = _SOON,
    ) -> None:
        self._listener = listener
        self._server = _Listening(starting(ailment, doing), limits, tls)
        self._over = Event()
        self._after = after
        self._thread = Thread(target=self._run, name="starting", daemon=True)

    def __enter__(self) -> StartingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        if not self._over.wait(self._after):
            # The copy is closed; the socket goes on to listen.
            with self._listener.dup() as copy:
                self._server.run([copy])


def _spoken(tls: SSLContext | None, connections: Connections) -> type[asyncio.Protocol]:
    """The protocol of a new connection: HTTP, or TLS first, by :class:`Handshake`, not uvicorn."""
    if tls is None:
        return Guarded
    context = tls

    class Secured(Handshake):
        def __init__(self, **given: Any) -> None:
            super().__init__(context, connections, partial(Guarded, **given))

    return Secured
