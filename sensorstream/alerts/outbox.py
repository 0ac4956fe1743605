"""The outbox as the dispatcher sees it.

Deliveries are written in the transaction that commits their alert or report (transactional
outbox), so each committed alert or report is delivered, at least once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from sensorstream.alerts.records import Delivery


class Outbox(Protocol):
    """Deliveries waiting for their time. Every method may be called from any thread.

    All of them raise :class:`sensorstream.errors.HistoryError` when the store cannot be reached.
    """

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> Sequence[Delivery]:
        """At most ``limit`` pending deliveries that are due, the oldest first.

        ``excluding`` are ids of webhooks to leave out: those already being delivered to.
        """

    def delivered(self, delivery_id: int) -> None:
        """Mark a delivery as received."""

    def failed(self, delivery_id: int, error: str, next_attempt_at: datetime | None) -> None:
        """Count a failed attempt and set the time of the next one (None: no more attempts)."""
