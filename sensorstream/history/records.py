"""What the engine's work leaves behind, on its way into the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sensorstream.engine.outcome import Status
from sensorstream.engine.queries import QueryReport
from sensorstream.errors import Contradiction
from sensorstream.model.events import Alert, Departure, Message, Superseded


class EntryKind(Enum):
    """What stands in the journal."""

    MESSAGE = "message"
    TICK = "tick"
    """Time that passed without a message, and changed something.

    Its content is how far application time has come in silence, as far as that matters.
    """
    ONTOLOGY = "ontology"
    """A new ontology: its content is the text, its source the media type."""
    REASONER = "reasoner"
    """A reasoner that had failed is back; its content is empty."""
    AUDIT = "audit"
    """What an audit of the inferences found; its content is the report."""
    QUERY = "query"
    """A continuous query begins: its content is the text, its source the name."""
    QUERY_END = "query-end"
    """A continuous query ends: its source is the name."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A message in the journal; ``seq`` counts from 1 without gaps and never comes twice.

    ``status`` is known once the effects are stored; None before. ``degraded`` tells that the
    plain profile stood in for the reasoner then. All that changes the engine is an entry, so
    that the journal alone says what the engine knows.
    """

    seq: int
    message: Message
    received_at: datetime
    status: Status | None = None
    kind: EntryKind = EntryKind.MESSAGE
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
