"""The entries for every engine, not for that of one key: queries begin and end, time passes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from heapq import merge
from operator import attrgetter
from typing import Final

from sensorstream.engine.outcome import Status
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.journal.records import Record
from sensorstream.streaming.routing import CONTROLS, TIME

_MOST: Final = 20_000
"""Entries of time that are kept; what an engine missed before is read again."""

_seq = attrgetter("seq")


class Controls:
    """What a process knows of them; it reads the journal when it must know more."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._known = 0
        self._registrations: list[Record] = []
        self._times: list[Record] = []
        self._forgotten = 0
        """The last entry of time that is not kept."""

    def know(self, upto: int) -> None:
        """Read those up to an entry.

        Raises:
            HistoryError: the journal cannot be read.
        """
        if upto <= self._known:
            return
        for each in self._read(self._known, upto, (*CONTROLS, TIME)):
            if each.kind == TIME:
                self._times.append(each)
            elif each.status not in (Status.REJECTED, Status.SKIPPED):
                # What became of them else is not known here: every engine finds it out for itself.
                self._registrations.append(replace(each, status=None))
        self._known = upto
        if len(self._times) > 2 * _MOST:
            self._forgotten = self._times[-_MOST - 1].seq
            del self._times[:-_MOST]

    def registrations(self, upto: int) -> Sequence[Record]:
        """Which queries have begun and ended up to an entry."""
        return _between(self._registrations, 0, upto)

    def between(self, after: int, upto: int) -> Sequence[Record]:
        """All with ``after < seq <= upto``, in order.

        Raises:
            HistoryError: the journal cannot be read.
        """
        times = _between(self._times, after, upto)
        if after < self._forgotten:
            times = [*self._read(after, min(upto, self._forgotten), (TIME,)), *times]
        return list(merge(_between(self._registrations, after, upto), times, key=_seq))

    def _read(self, after: int, upto: int, kinds: Sequence[str]) -> Sequence[Record]:
        return [record_of(row) for row in journal_rows(self._url, after, upto, kinds)]


def _between(entries: Sequence[Record], after: int, upto: int) -> Sequence[Record]:
    return entries[bisect_right(entries, after, key=_seq) : bisect_right(entries, upto, key=_seq)]
