"""The rows of the journal, and the effects of the engine's work, in the form for a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Status
from sensorstream.errors import Contradiction, HistoryError
from sensorstream.model.events import Alert, Cleared, Departure, Ended, Message
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant

_REMEMBERED: Final = 4096
"""Ids whose numbers are remembered: each is asked for by all statements of its message."""


def message_id(seq: int) -> str:
    """The id of the message with this number in the journal."""
    return f"m{seq}"


@lru_cache(_REMEMBERED)
def number_of_message(id_: str) -> int:
    """The number in the journal of the message with this id.

    Raises:
        HistoryError: the id is not one of the journal's.
    """
    # Where an entry goes to several engines, its id has a suffix for each.
    digits = id_.removeprefix("m").partition(".")[0]
    if not (digits.isascii() and digits.isdigit()):
        raise HistoryError(f"'{id_}' is not the id of a message: expected e.g. m42")
    return int(digits)


@frozen
class Record:
    """A row of the journal; ``seq`` counts from 1 without gaps.

    ``message`` has the entry's id, content, source and time of arrival. ``kind`` is the name of its
    class. ``status`` is known once the effects are stored, or the entry is skipped; None before.
    ``degraded``: the plain profile replaced the reasoner then. ``origin`` is that of
    :class:`.TakeMessage`.
    """

    seq: int
    message: Message
    received_at: datetime
    status: Status | None = None
    kind: str = "message"
    degraded: bool = False
    origin: str = ""


@frozen
class MessageStatus:
    """The outcome of a message; ``reason`` is why it was not accepted.

    ``contradiction`` names the contradicting statements, if that is the reason. ``facts`` are those
    of :func:`.facts_of`; None for an entry that is no message.
    """

    seq: int
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None
    degraded: bool = False
    facts: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Settled:
    """The final outcome of a message that was held, maybe in an earlier group."""

    message: str
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None
    facts: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class OntologyVersion:
    """An ontology that was put in force: by the entry ``seq``, or at a start after that entry.

    ``valid_from`` is application time; None: no event had come yet.
    """

    seq: int
    valid_from: Instant | None
    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Effects:
    """All effects of a group of consecutive entries; stored in one transaction.

    ``watermark`` is the group's last sequence number, and ``statuses`` has one entry for every
    entry of the group. ``alerts`` are those raised, and the ends of others, in order. ``settled``
    are the held messages that the group released: their effects belong to the entry that released
    them. ``raised_at`` is wall time, for the alerts and reports.
    ``departures`` are the stays that ended, ``ended`` all statements that hold no more, those of
    the departed included. ``revoked`` are intervals of earlier groups that a late update has
    proved wrong: they are deleted, and what holds instead is among ``ended``.
    Only those ``reports`` are stored that a webhook subscribes to.
    """

    watermark: int
    departures: tuple[Departure, ...]
    ended: tuple[Ended, ...]
    alerts: tuple[Alert | Cleared, ...]
    statuses: tuple[MessageStatus, ...]
    raised_at: datetime
    settled: tuple[Settled, ...] = ()
    revoked: tuple[Ended, ...] = ()
    ontologies: tuple[OntologyVersion, ...] = ()
    reports: tuple[QueryReport, ...] = ()
