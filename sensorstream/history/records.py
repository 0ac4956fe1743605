"""What the engine's work leaves behind, on its way into the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sensorstream.engine.outcome import Status
from sensorstream.model.events import Alert, Departure, Message, Superseded


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A message in the journal; ``seq`` counts from 1 without gaps and never comes twice.

    ``status`` is known once the effects are stored; None before.
    """

    seq: int
    message: Message
    received_at: datetime
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """What became of a message; ``reason`` says why it was not accepted."""

    seq: int
    status: Status
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """All that a group of consecutive messages did; stored in one transaction.

    ``watermark`` is the group's last sequence number, and ``statuses`` has one entry for every
    message of the group. ``raised_at`` is wall time, for the alerts.
    """

    watermark: int
    departures: tuple[Departure, ...]
    superseded: tuple[Superseded, ...]
    alerts: tuple[Alert, ...]
    statuses: tuple[MessageStatus, ...]
    raised_at: datetime
