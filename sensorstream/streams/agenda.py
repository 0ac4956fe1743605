"""What is due when: windows to be computed or to let go, and reports by time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from sensorstream.model.timeline import Instant
from sensorstream.streams.query import ContinuousQuery
from sensorstream.streams.window import StreamWindow

Entry: TypeAlias = StreamWindow | ContinuousQuery


class Agenda:
    """A queue by time; an entry that has another due time by now is passed over.

    Whoever changes what an entry is due at calls :meth:`note`: O(log n).
    """

    __slots__ = ("_numbers", "_queue", "_times")

    def __init__(self) -> None:
        self._queue: list[tuple[Instant, int, Entry]] = []
        self._times: dict[Entry, Instant] = {}
        self._numbers = count()

    def note(self, entry: Entry) -> None:
        """Take in when an entry is due."""
        due = entry.due
        if due is None:
            self._times.pop(entry, None)
        elif self._times.get(entry) != due:
            self._times[entry] = due
            heapq.heappush(self._queue, (due, next(self._numbers), entry))

    def forget(self, entry: Entry) -> None:
        """The entry is due no more."""
        self._times.pop(entry, None)

    @property
    def next(self) -> Instant | None:
        """When the next entry is due."""
        while self._queue:
            time, _, entry = self._queue[0]
            if self._times.get(entry) == time:
                return time
            heapq.heappop(self._queue)
        return None

    def first(self, wanted: Callable[[Entry], bool]) -> Instant | None:
        """When the next wanted entry is due; O(entries)."""
        return min((time for entry, time in self._times.items() if wanted(entry)), default=None)

    def take(self, time: Instant) -> list[Entry]:
        """The entries due at the next time, which is ``time``; they are to be noted again."""
        found: list[Entry] = []
        while self.next == time:
            entry = heapq.heappop(self._queue)[2]
            del self._times[entry]
            found.append(entry)
        return found
