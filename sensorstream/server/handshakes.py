"""TLS on accepted connections: one that has not finished its handshake counts, too.

An event loop that is told to serve TLS hides a connection until its handshake is over: clients that
never begin one would take all open files without being counted. This needs a loop on which
``pause_reading`` counts from the beginning of a connection: asyncio's, not uvloop.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from sensorstream.server.connections import Connections, peer_of

_MOST_EARLY: Final = 65_536
"""Bytes that may come between the end of the handshake and the beginning of HTTP."""


class Handshake(asyncio.Protocol):
    """A connection until its handshake is over; then it is that of ``made``.

    It gives its place to another connection, or ends when it takes longer than a request's header.
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
        if self._connections.enter(self, peer_of(transport)).stays:
            # What comes is for the handshake, which begins when the loop comes to it.
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
        """End it if it has taken too long."""
        if now > self._until:
            self.give_way()

    def give_way(self) -> None:
        """Close it."""
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
