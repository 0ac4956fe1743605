"""The order in time of what is due: windows that move, reports, operators to be woken."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

from sensorstream.model.timeline import Instant

_Entry = TypeVar("_Entry")
_SPARE: Final = 32
"""Outdated places that a queue may have, beside one for each entry."""


class MovedByTime(Protocol):
    """Something that time moves."""

    @property
    def due(self) -> Instant | None:
        """The next time at which time moves it; None: not before something else has happened."""

    @property
    def closing(self) -> bool:
        """Whether it moves at the end of an instant, after all events of that time."""

    def elapse(self, time: Instant) -> None:
        """Do what is due at ``time``, which has come."""

    def skip(self, time: Instant) -> None:
        """Leave out all that is due before a time, except the last."""


class TimeQueue(Generic[_Entry]):
    """A queue by time; a place whose entry has got another due time is passed over."""

    def __init__(self) -> None:
        self._queue: list[tuple[Instant, bool, int, _Entry]] = []
        self._times: dict[_Entry, Instant] = {}
        self._numbers = count()

    def put(self, entry: _Entry, due: Instant | None, *, closing: bool = False) -> None:
        """Set the time an entry is due (None: never); O(log n). ``closing`` come after others."""
        if due is None:
            self._times.pop(entry, None)
        elif self._times.get(entry) != due:
            self._times[entry] = due
            heapq.heappush(self._queue, (due, closing, next(self._numbers), entry))
            self._compact(_SPARE)

    def forget(self, entry: _Entry) -> None:
        """Remove an entry; O(1), and the queue does not keep it for long."""
        self._times.pop(entry, None)
        self._compact(0)

    def _compact(self, spare: int) -> None:
        """Drop outdated places when they outnumber the entries and ``spare`` together."""
        times = self._times
        if len(self._queue) > 2 * len(times) + spare:
            # An entry may have been given the same time twice.
            first = {(item[3], item[0]): item for item in sorted(self._queue, reverse=True)}
            self._queue = [item for (entry, due), item in first.items() if times.get(entry) == due]
            heapq.heapify(self._queue)

    @property
    def next(self) -> Instant | None:
        queue = self._queue
        if not queue:
            return None
        first = queue[0]
        if self._times.get(first[3]) == first[0]:
            return first[0]
        top = self._top()
        return None if top is None else top[0]

    @property
    def entries(self) -> Sequence[_Entry]:
        return tuple(self._times)

    def first(self, wanted: Callable[[_Entry], bool]) -> Instant | None:
        """The time at which the next wanted entry is due; O(entries)."""
        return min((time for entry, time in self._times.items() if wanted(entry)), default=None)

    @property
    def head(self) -> _Entry | None:
        top = self._top()
        return None if top is None else top[3]

    def pop(self) -> _Entry:
        """Take the next entry out; the caller puts it back if it is due again."""
        top = self._top()
        assert top is not None
        heapq.heappop(self._queue)
        del self._times[top[3]]
        return top[3]

    def take(self, time: Instant, *, closing: bool) -> list[_Entry]:
        """Take out the entries due at ``time``, the next; closing ones if ``closing``."""
        found: list[_Entry] = []
        while (top := self._top()) is not None and top[0] == time and (closing or not top[1]):
            heapq.heappop(self._queue)
            del self._times[top[3]]
            found.append(top[3])
        return found

    def _top(self) -> tuple[Instant, bool, int, _Entry] | None:
        queue, times = self._queue, self._times
        while queue:
            top = queue[0]
            if times.get(top[3]) == top[0]:
                return top
            heapq.heappop(queue)
        return None


class Agenda(TimeQueue[MovedByTime]):
    """The queue of what time moves; call :meth:`note` when the due time of an entry changes."""

    def note(self, entry: MovedByTime) -> None:
        self.put(entry, entry.due, closing=entry.closing)
