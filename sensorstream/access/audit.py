"""The audit log of changes; of many refused requests it has the first ones, and a count."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from threading import Lock
from typing import Final, TypeAlias

from sensorstream.model.frozen import frozen


@frozen
class AuditedChange:
    """A request for a change, and the status of its answer.

    ``kind`` and ``who`` are those of an :class:`.Identity`; ``at`` is wall time, aware. ``path`` is
    without the query string. A command on the deployment itself has the method "command" and the
    status 0. A count of refused requests that are not kept one by one has the method "refused" and
    the status 0.
    """

    at: datetime
    kind: str
    who: str
    address: str
    method: str
    path: str
    status: int
    seq: int = 0
    """Its number in the log, from 1."""


_FIRST: Final = 60
"""Refused requests of a client that are kept one by one in a minute."""
_MOST: Final = 100
"""Clients that are counted separately in a minute: the others count as one."""
_MINUTE: Final = timedelta(minutes=1)

_Client: TypeAlias = tuple[str, str, str]
_OTHERS: Final[_Client] = ("anonymous", "others", "")


class Refusals:
    """A count of refused requests, which anyone can send at no cost. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: datetime | None = None
        self._counts: Counter[_Client] = Counter()

    def admits(self, change: AuditedChange) -> bool:
        """Whether a change gets a line of its own: it was not refused, or few were before."""
        if not 400 <= change.status < 500:
            return True
        client = (change.kind, change.who, change.address)
        with self._lock:
            self._since = self._since or change.at
            if client not in self._counts and len(self._counts) >= _MOST:
                client = _OTHERS
            self._counts[client] += 1
            return self._counts[client] <= _FIRST

    def left_out(self, now: datetime, *, last: bool = False) -> list[AuditedChange]:
        """The lines that count the other refused requests, each minute and at the ``last``."""
        with self._lock:
            since = self._since
            if since is None or not (last or abs(now - since) >= _MINUTE):
                return []
            counts, self._counts, self._since = self._counts, Counter(), None
        return [
            AuditedChange(
                now, *client, "refused", f"{count - _FIRST} more since {since:%H:%M:%S}", 0
            )
            for client, count in counts.items()
            if count > _FIRST
        ]
