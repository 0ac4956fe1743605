"""The journal as the pipeline writes it: what it has already, and what it can never hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, TypeAlias

from sensorstream.app.arrival import Arrival
from sensorstream.app.durable import Durable
from sensorstream.app.waiting_entry import WaitingEntry, described
from sensorstream.clock import Clock
from sensorstream.errors import Unstorable
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import is_of_key
from sensorstream.journal.records import Record

Refused: TypeAlias = tuple[WaitingEntry, Unstorable]
"""An entry that the journal can never hold, and why."""

_NAMED: Final = 10
"""Entries that an alert names, of all that the journal cannot hold."""


class JournalWriter:
    """Numbers entries and writes them; owned by one thread.

    ``seq`` is the number of the last entry, ``keys_last`` how long an idempotency key is known.
    """

    def __init__(
        self, store: Durable, seq: int, *, clock: Clock, arrival: Arrival, keys_last: timedelta
    ) -> None:
        self.seq = seq
        self._store = store
        self._clock = clock
        self._arrival = arrival
        self._keys_last = keys_last
        self._refused: list[Refused] = []

    def known(self, group: Iterable[WaitingEntry]) -> set[str]:
        """The origins that the journal has, of those messages that may have been sent before."""
        origins = {waiting.origin for waiting in group if waiting.repeated}
        if not origins:
            return set()
        keys = {each for each in origins if is_of_key(each)}
        since = self._clock.now() - self._keys_last
        return {*self._store.origins(origins - keys), *self._store.origins(keys, since)}

    def append(
        self, group: Sequence[WaitingEntry]
    ) -> tuple[Sequence[Record], Sequence[WaitingEntry]]:
        """Write entries to the journal, but for those that it can never hold: they are kept."""
        now, arrival = self._clock.now(), self._arrival.now()
        records = [
            new_record(waiting.entry, seq, now, arrival)
            for seq, waiting in enumerate(group, self.seq + 1)
        ]
        try:
            self._store.append(records)
        except Unstorable as error:
            if len(group) == 1:
                self._refused.append((group[0], error))
                return [], []
        else:
            self.seq += len(records)
            return records, group
        # The others do not suffer for one.
        parts = [self.append([waiting]) for waiting in group]
        return [r for records, _ in parts for r in records], [w for _, kept in parts for w in kept]

    def take_refused(self) -> list[Refused]:
        """Entries that the journal can never hold, since this was asked last."""
        refused, self._refused = self._refused, []
        return refused


def refusal_text(refused: Sequence[Refused]) -> str:
    """Which entries the journal cannot hold, and why; of many, the first."""
    told = [f"{described(waiting.entry)}: {error}" for waiting, error in refused]
    more = [f"and {len(told) - _NAMED} more"] if len(told) > _NAMED else []
    return "; ".join((*told[:_NAMED], *more))
