"""The journal's rows, and what the engine's work leaves behind, on its way into a store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sensorstream.engine.outcome import Status
from sensorstream.engine.queries import QueryReport
from sensorstream.errors import Contradiction
from sensorstream.model.events import Alert, Departure, Message, Superseded


@dataclass(frozen=True, slots=True)
class Record:
    """An entry as it stands in the journal; ``seq`` counts from 1 without gaps.

    ``message`` has the entry's id, content, source and time of arrival. ``kind`` is the name of
    its class. ``status`` is known once the effects are stored; None before. ``degraded`` tells
    that the plain profile stood in for the reasoner then.
    """

    seq: int
    message: Message
    received_at: datetime
    status: Status | None = None
    kind: str = "message"
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """What became of a message; ``reason`` says why it was not accepted.

    ``contradiction`` names what clashes, where that is the reason.
    """

    seq: int
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What became at last of a message that was held, maybe in an earlier group."""

    message: str
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """All that a group of consecutive entries did; stored in one transaction.

    ``watermark`` is the group's last sequence number, and ``statuses`` has one entry for every
    entry of the group. ``settled`` are the held messages that the group released: what they did
    belongs to the entry that released them. ``raised_at`` is wall time, for the alerts
    and reports. Of ``reports`` only those are stored that a webhook asks for.
    """

    watermark: int
    departures: tuple[Departure, ...]
    superseded: tuple[Superseded, ...]
    alerts: tuple[Alert, ...]
    statuses: tuple[MessageStatus, ...]
    raised_at: datetime
    settled: tuple[Settled, ...] = ()
    reports: tuple[QueryReport, ...] = ()
