"""The outbox as the dispatcher sees it.

Deliveries are written in the transaction that commits their alert or report (transactional
outbox), so what is committed is also delivered, at least once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from sensorstream.alerts.records import Delivery


class Outbox(Protocol):
    """Deliveries waiting for their time. Every method may be called from any thread.

    All of them raise :class:`sensorstream.errors.HistoryError` when the store is away.
    """

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> Sequence[Delivery]:
        """At most ``limit`` pending deliveries whose time has come, the longest due first.

        ``excluding`` are ids of webhooks to leave out: those already being delivered to.
        """

    def delivered(self, delivery_id: int) -> None:
        """The receiver has it."""

    def failed(self, delivery_id: int, error: str, next_attempt_at: datetime | None) -> None:
        """An attempt failed: count it and try again then, or never (None: a dead letter)."""
