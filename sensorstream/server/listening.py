"""The HTTP server: uvicorn with our limits, on a socket that is bound already."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from ssl import SSLContext
from typing import Any, Final

import uvicorn
from prometheus_client import Gauge

from sensorstream.app.application import Application
from sensorstream.server.connections import Connections
from sensorstream.server.handshakes import Handshake
from sensorstream.server.main import create_app
from sensorstream.server.protocol import Guarded

_IDLE: Final = 75
"""Seconds that an unused connection stays open: longer than the minute between two reports."""
_FAREWELL: Final = 10
"""Seconds that running requests get when the server stops."""
_TICKS: Final = 10
"""uvicorn ticks ten times a second."""


class _Config(uvicorn.Config):
    """uvicorn's, with the connections for their protocol."""

    connections: Connections


class Server(uvicorn.Server):
    """Serves one application; ends its questions and event streams when it stops.

    ``host`` is the address of the socket; by default server.host of the settings. With ``tls`` it
    serves HTTPS alone.
    """

    def __init__(
        self,
        application: Application,
        host: str | None = None,
        tls: SSLContext | None = None,
        *,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        connections = Connections(application.settings.limits)
        config = _Config(
            create_app(application, host),
            # uvloop reads at once what start_tls must read: see :mod:`.handshakes`.
            loop="uvloop" if tls is None else "asyncio",
            http=_spoken(tls, connections),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=logging.getLogger("uvicorn.access").isEnabledFor(logging.INFO),
            server_header=False,
            timeout_graceful_shutdown=_FAREWELL,
            timeout_keep_alive=_IDLE,
        )
        config.connections = connections
        super().__init__(config)
        self._application = application
        self._connections = config.connections
        told = "Open connections of clients."
        open_now = Gauge("sensorstream_http_connections", told, registry=application.metrics)
        open_now.set_function(config.connections.__len__)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """End the connections that take too long, once a second."""
        if counter % _TICKS == 0:
            self._connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End questions and event streams, let running requests end, stop listening."""
        self._application.running.close()
        self._application.alert_feed.close()
        self._application.queries.feed.close()
        await super().shutdown(sockets)


def _spoken(tls: SSLContext | None, connections: Connections) -> type[asyncio.Protocol]:
    """What is spoken on a new connection: HTTP, or TLS first.

    uvicorn does not get the context: see :mod:`.handshakes`.
    """
    if tls is None:
        return Guarded
    context = tls

    class Secured(Handshake):
        def __init__(self, **given: Any) -> None:
            super().__init__(context, connections, partial(Guarded, **given))

    return Secured
