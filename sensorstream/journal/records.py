"""The rows of the journal, the effects of the engine's work, and the store that has both."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from sensorstream.errors import Contradiction, HistoryError
from sensorstream.model.events import Alert, Cleared, Departure, Ended, Message, Status
from sensorstream.model.frozen import field, frozen
from sensorstream.model.timeline import Instant, Timeline

if TYPE_CHECKING:  # readers of the journal do not need the engine
    from sensorstream.engine.engine_queries import EngineReport

PASSED: Final = "passed:"
"""The origin of an event of another stage begins with it; the number of the event follows."""
_REMEMBERED: Final = 4096
"""Ids whose numbers are remembered: each is asked for by all statements of its message."""


def message_id(seq: int) -> str:
    """The id of the message with this number in the journal."""
    return f"m{seq}"


@lru_cache(_REMEMBERED)
def number_of_message(id_: str) -> int:
    """The number in the journal of a message; raises HistoryError if the id is none of its ids."""
    # Where an entry goes to several engines, its id has a suffix for each.
    digits = id_.removeprefix("m").partition(".")[0]
    if not (digits.isascii() and digits.isdigit()):
        raise HistoryError(f"'{id_}' is not the id of a message: expected e.g. m42")
    return int(digits)


@frozen
class TopicSlice:
    """Records of a partition of a topic: those with ``first <= offset < end``."""

    topic: str
    partition: int
    first: int
    end: int


_TOPIC: Final = "topic:"


def origin_of_topic(part: TopicSlice, offset: int) -> str:
    """The origin of a message that stays in a topic."""
    return f"{_TOPIC}{part.topic}/{part.partition}/{offset}"


def is_of_topic(origin: str | None) -> bool:
    """Whether an origin is one of :func:`origin_of_topic`."""
    return origin is not None and origin.startswith(_TOPIC)


def slices_of(content: bytes) -> tuple[TopicSlice, ...]:
    """The slices that an entry of the kind ``topic`` names."""
    return tuple(TopicSlice(*each) for each in json.loads(content))


@frozen
class Record:
    """A row of the journal; ``seq`` counts from 1. Numbers without a row are those of messages that
    stay in a topic, see :class:`.TakeTopic`.

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
    """The outcome of a message; ``reason`` is why it was not accepted. ``contradiction`` names the
    contradicting statements, if that is the reason. ``facts`` are those of :func:`.facts_of`; None
    for an entry that is no message.
    """

    seq: int
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None
    degraded: bool = False
    facts: Mapping[str, Any] | None = field(default=None, compare=False)


@frozen
class Settled:
    """The final outcome of a message that was held, maybe in an earlier group."""

    message: str
    status: Status
    reason: str | None = None
    contradiction: Contradiction | None = None
    facts: Mapping[str, Any] | None = field(default=None, compare=False)


@frozen
class EngineAnswer:
    """The answer of the engine of a key to the entry ``seq``; ``content`` is a pickle, see
    :mod:`.engine_questions`.
    """

    seq: int
    key: str
    content: bytes


@frozen
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


@frozen
class Effects:
    """The effects of a group of consecutive entries, stored in one transaction.

    ``watermark`` is the group's last sequence number, and ``statuses`` has one entry for every
    entry of the group. ``alerts`` are those raised, and the ends of others, in order. ``settled``
    are the held messages that the group released: their effects belong to the entry that released
    them. ``raised_at`` is wall time, for the alerts and reports. ``departures`` are the stays that
    ended, ``ended`` all statements that hold no more, those of the departed included. ``revoked``
    are intervals of earlier groups that a late update has proved wrong: they are deleted, and their
    replacements are among ``ended``. Only those ``reports`` are stored that a webhook subscribes
    to. ``entries`` are those with a status that are not in the journal yet.
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
    reports: tuple[EngineReport, ...] = ()
    entries: tuple[Record, ...] = ()
    answers: tuple[EngineAnswer, ...] = ()


class Store(Protocol):
    """The journal, its effects, the watermark and the checkpoints, for their one writer.

    Every method raises :class:`.HistoryError` when the store cannot be reached. Then it is unknown
    whether the last write succeeded: open a new store, and continue from its watermark. One thread
    may call :meth:`commit` while another one calls :meth:`append`, :meth:`origins` or
    :meth:`last_seq`; otherwise a store is not thread-safe.
    """

    timeline: Timeline

    def append(self, records: Sequence[Record]) -> None:
        """Write entries to the journal; they are safe when this returns. All or nothing.

        Raises:
            HistoryError: nothing was written: a number or an id exists already.
        """

    def commit(self, effects: Effects) -> bool:
        """Store the effects of a group of entries and move the watermark, in one transaction. A
        group that lies at or below the watermark is stored already: it changes nothing.

        Returns:
            Whether something was put into the outbox.

        Raises:
            HistoryError: nothing was written: the group straddles the watermark, leaves out an
                entry, or holds one that is not in the journal.
        """

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        """The given origins that messages in the journal have, received after ``since``."""

    def last_seq(self) -> int:
        """The number of the journal's last entry; 0 while it is empty."""

    def last_arrival(self) -> Instant | None:
        """The latest time of arrival among the journal's last entries; None while it is empty."""

    def watermark(self) -> int:
        """The last entry whose effects are stored; 0 before the first."""

    def whole(self) -> bool:
        """Whether the journal still has all its entries, including the first."""

    def replay(self, after: int) -> Iterator[Record]:
        """The journal's entries above a number, in order."""

    def last_accepted(self, kind: str, upto: int) -> Message | None:
        """The last accepted entry of a kind, not after ``upto``; None: there is no such entry. One
        that is not applied yet counts: on Spark it was checked before it was written.
        """

    def rejected(self, ids: Collection[str]) -> frozenset[str]:
        """The given messages that were rejected, as far as their effects are stored."""

    def departed(self, stays: Collection[int]) -> frozenset[int]:
        """The given stays that have ended, as far as their effects are stored."""

    def told_until(self, message: str) -> Instant | None:
        """The latest due time of alerts that the entry ``message`` raised; None: none is stored."""

    def reported(self, entries: Collection[str]) -> Mapping[str, int]:
        """The highest stored number of a report, or of its alert, of each registration."""

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        """Store the engine's state after entry ``seq``, and delete all but two checkpoints.

        Raises:
            HistoryError: nothing was written: the effects of ``seq`` are not stored yet, so a
                restart from such a state would skip them.
        """

    def checkpoints(self) -> Sequence[tuple[int, bytes]]:
        """Number and state of the checkpoints that are kept, newest first."""

    def drop_checkpoints(self, seqs: Collection[int]) -> None:
        """Delete some checkpoints."""

    def close(self) -> None:
        """Close the store, so that another writer can open it."""
