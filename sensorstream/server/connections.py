"""The open connections: how many there may be, and how long each may take for a request.

One sweep a second looks at all of them; no connection has a timer of its own.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sensorstream.server.addresses import client_of, is_in
from sensorstream.settings import LimitSettings, Network

_RESERVE: Final = 256
"""Open files that are not for connections: the database's, the reasoner's, logs, deliveries."""
_MOST: Final = 10_000
"""Connections at most by default, however many files may be open."""
_SPARE: Final = 32
"""Connections over the limit on which only health is answered."""


class Connection(Protocol):
    """What is kept here; see :class:`.protocol.Guarded`."""

    def check(self, now: float) -> None:
        """End it if it has taken too long; ``now`` is the event loop's time."""

    def give_way(self) -> None:
        """Close it: it has no request, and another one needs the place."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a new connection may stay; if not ``whole``, only to ask for health."""

    stays: bool
    whole: bool


class _Places:
    """Some connections, with their clients, and which of them wait for a request."""

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
    """All connections of a server. Used by the event loop only.

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

    def enter(self, connection: Connection, peer: str) -> Admission:
        """A new connection from an address, which waits for its first request."""
        client, shares = client_of(peer), not is_in(peer, self._proxies)
        if self._room(self._places, self._limit, client if shares else None):
            self._places.add(connection, client)
            return Admission(stays=True, whole=True)
        if self._room(self._spare, _SPARE, client if shares else None):
            self._spare.add(connection, client)
            return Admission(stays=True, whole=False)
        return Admission(stays=False, whole=False)

    def begins(self, connection: Connection) -> None:
        """It has sent the header of a request."""
        self._places.begins(connection)
        self._spare.begins(connection)

    def waits(self, connection: Connection) -> None:
        """Its request is answered."""
        self._places.waits(connection)
        self._spare.waits(connection)

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        self._places.remove(connection)
        self._spare.remove(connection)

    def sweep(self, now: float) -> None:
        """End what has taken too long."""
        for each in (*self._places, *self._spare):
            each.check(now)

    def _room(self, places: _Places, limit: int, client: str | None) -> bool:
        """Whether there is a place for one more; closes one that waits, if that makes room.

        ``client`` None has no share.
        """
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
    """As many connections as the open files of the process allow, less a reserve."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MOST
    return max(1, min(_MOST, files - min(_RESERVE, files // 2)))
