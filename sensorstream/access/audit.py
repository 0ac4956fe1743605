"""One line of the audit log: who changed what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Change:
    """A request that was to change something, and the status of its answer.

    ``kind`` and ``who`` are those of an :class:`.Identity`; ``at`` is wall time, aware. ``path``
    is without the query string. A command on the deployment itself has the method "command", and
    the status 0. So has what tells of refused requests that are not kept one by one, "refused".
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
