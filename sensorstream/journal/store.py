"""The interface of the history that the pipeline and the recovery use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from sensorstream.journal.records import Effects, Record
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant, Timeline


class Store(Protocol):
    """The journal, its effects, the watermark and the checkpoints, for their one writer.

    Every method raises :class:`.HistoryError` when the store cannot be reached. Then it is unknown
    whether the last write succeeded: open a new store, and continue from its watermark.

    One thread may call :meth:`commit` while another one calls :meth:`append`, :meth:`origins` or
    :meth:`last_seq`; otherwise a store is not thread-safe.
    """

    timeline: Timeline

    def append(self, records: Sequence[Record]) -> None:
        """Write entries to the journal; they are safe when this returns. All or nothing.

        Raises:
            HistoryError: nothing was written: a number or an id exists already.
        """

    def commit(self, effects: Effects) -> bool:
        """Store the effects of a group of entries and move the watermark, in one transaction.

        A group that lies at or below the watermark is stored already: it changes nothing.

        Returns:
            Whether something was put into the outbox.

        Raises:
            HistoryError: nothing was written: the group straddles the watermark, leaves out an
                entry, or holds one that is not in the journal.
        """

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        """Those of the origins that the journal has a message of, received after ``since``."""

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
        """The last accepted entry of a kind, not after ``upto``; None: there is no such entry."""

    def rejected(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the given messages that were rejected, as far as their effects are stored."""

    def departed(self, stays: Collection[int]) -> frozenset[int]:
        """Those of the given stays that have ended, as far as their effects are stored."""

    def told_until(self, message: str) -> Instant | None:
        """The latest time that was due when an entry came, of the alerts that it raised for it.

        ``message`` is the entry's id; None: nothing was due that is stored.
        """

    def reported(self, entries: Collection[str]) -> Mapping[str, int]:
        """The highest number of a stored report, or of an alert of one, of each registration."""

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
