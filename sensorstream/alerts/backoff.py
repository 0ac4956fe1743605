"""When a failed delivery is tried again."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Final

SCHEDULE: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""The waits Standard Webhooks recommends ("Deliverability and reliability")."""

_SPREAD: Final = 0.1


def wait_after(attempts: int, identity: str) -> timedelta:
    """The wait after the ``attempts``-th failed attempt (from 1), the last one repeating.

    Up to a tenth is added, different for each ``identity``, so that a receiver that comes back does
    not get all deliveries at the same moment. The addition is a hash, not a random number, so tests
    and readers of a log can compute it.
    """
    wait = SCHEDULE[min(attempts, len(SCHEDULE)) - 1]
    digest = hashlib.sha256(f"{identity}/{attempts}".encode()).digest()
    return wait * (1 + _SPREAD * int.from_bytes(digest[:4]) / 2**32)
