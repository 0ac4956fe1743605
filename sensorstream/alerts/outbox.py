"""The outbox as the dispatcher sees it.

Deliveries are written in the transaction that commits their alert or report (transactional
outbox), so each committed alert or report is delivered, at least once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.records import Backlog, Delivery


class Outbox(Protocol):
    """Deliveries waiting for their time. Every method may be called from any thread.

    All of them raise :class:`sensorstream.errors.HistoryError` when the store cannot be reached.
    """

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> Sequence[Delivery]:
        """At most ``limit`` pending deliveries that are due, some of each receiver.

        Those of one receiver are in order, the oldest first. ``excluding`` are ids of receivers to
        leave out: those already being delivered to. Receivers that are disabled are left out, too.
        """

    def latest(self) -> datetime | None:
        """The latest time at which one that waits for its first attempt was added."""

    def move_back(self, now: datetime, by: timedelta) -> None:
        """The clock was set back by ``by``, to ``now``: what was to wait from then on waits as long
        as it was to."""

    def delivered(self, came: Mapping[int, Attempt]) -> None:
        """Mark deliveries, by their ids, as received."""

    def failed(
        self, delivery_id: int, attempt: Attempt, next_attempt_at: datetime | None
    ) -> datetime:
        """Count a failed attempt and set the time of the next one (None: no more attempts).

        Returns:
            Since when all attempts to reach the receiver have failed.
        """

    def put_off(self, delivery_id: int, attempt: Attempt) -> datetime:
        """Note an attempt that found the receiver away: it counts for the receiver alone.

        Returns:
            As :meth:`failed`.
        """

    def disable(self, receiver: str, now: datetime) -> None:
        """Deliver to a receiver no more, until it is enabled."""

    def prune(self, now: datetime) -> None:
        """Forget delivered ones that are too old, or too many."""

    def backlog(self) -> Sequence[Backlog]:
        """The state of each receiver and what waits for it."""
