"""The entries that change every engine, not that of one key: continuous queries begin and end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from sensorstream.engine.outcome import Status
from sensorstream.history.journal_rows import journal_rows
from sensorstream.history.store import record_of
from sensorstream.journal.records import Record
from sensorstream.streaming.routing import CONTROLS


class Controls:
    """What a process knows of them; it reads the journal when it must know more."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._known = 0
        self._entries: list[Record] = []

    def between(self, after: int, upto: int, needed: int) -> Sequence[Record]:
        """Those with ``after < seq <= upto``; ``needed`` is the last one that must be known.

        Raises:
            HistoryError: the journal cannot be read.
        """
        if needed > self._known:
            # What became of them is not known here: every engine finds it out for itself.
            found = map(record_of, journal_rows(self._url, self._known, needed, CONTROLS))
            self._entries += [
                replace(each, status=None) for each in found if each.status is not Status.REJECTED
            ]
            self._known = needed
        numbers = [each.seq for each in self._entries]
        return self._entries[bisect_right(numbers, after) : bisect_right(numbers, upto)]
