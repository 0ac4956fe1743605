"""The outbox as the dispatcher sees it.

Deliveries are written in the transaction that commits their alert (transactional outbox), so
an alert that is kept is also delivered, at least once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sensorstream.alerts.records import Delivery


class Outbox(Protocol):
    """Deliveries waiting for their time. Every method may be called from any thread."""

    def due(self, now: datetime, limit: int) -> Sequence[Delivery]:
        """At most ``limit`` pending deliveries whose time has come, the longest due first."""

    def next_due(self) -> datetime | None:
        """When the next pending delivery is due; None when none is pending."""

    def delivered(self, delivery_id: int) -> None:
        """The receiver has it."""

    def failed(self, delivery_id: int, error: str, next_attempt_at: datetime | None) -> None:
        """An attempt failed: count it and try again then, or never (None: a dead letter)."""
