"""The open connections: how many there may be, and how long each may take for a request.

One sweep a second looks at all of them; no connection has a timer of its own.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final, Protocol

from sensorstream.settings import LimitSettings

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


class Connections:
    """All connections of a server. Used by the event loop only.

    When all places are taken, the connection that has waited longest without a request gives its
    place to the new one. When all have requests, a few more may ask for health, and the others are
    refused.
    """

    def __init__(self, limits: LimitSettings) -> None:
        self.header_seconds = limits.header_seconds
        self.body_seconds = limits.body_seconds
        self._limit = limits.connections or default_limit()
        self._open: set[Connection] = set()
        # In the order in which they began to wait.
        self._waiting: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: Connection) -> Admission:
        """A new connection, which waits for its first request."""
        if len(self._open) >= self._limit and self._waiting:
            longest = next(iter(self._waiting))
            self.leave(longest)
            longest.give_way()
        whole = len(self._open) < self._limit
        if not whole and len(self._open) >= self._limit + _SPARE:
            return Admission(stays=False, whole=False)
        self._open.add(connection)
        self._waiting[connection] = None
        return Admission(stays=True, whole=whole)

    def begins(self, connection: Connection) -> None:
        """It has sent the header of a request."""
        self._waiting.pop(connection, None)

    def waits(self, connection: Connection) -> None:
        """Its request is answered."""
        if connection in self._open:
            self._waiting[connection] = None

    def leave(self, connection: Connection) -> None:
        """It is closed."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def sweep(self, now: float) -> None:
        """End what has taken too long."""
        for each in tuple(self._open):
            each.check(now)


def default_limit() -> int:
    """As many connections as the open files of the process allow, less a reserve."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MOST
    return max(1, min(_MOST, files - min(_RESERVE, files // 2)))
