"""A pane: the elements of one partition in order of age, and the events that wait to enter."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import partial
from typing import Generic, TypeVar

from sensorstream.model.events import Event
from sensorstream.model.timeline import Instant
from sensorstream.window.change import Recorder

E = TypeVar("E")


class Pane(Generic[E]):
    """Elements with their ages. The age of an element is ``(time, arrival)``; the least is oldest.

    ``entered`` counts all elements that ever became known: the position of a physical window.
    ``boundary`` is the last instant a logical window was computed at. ``pending`` are the events
    that came after the last step (eq. 3, third branch), ``waiting`` the elements in them
    (of a physical window, which counts elements as they become known).
    """

    __slots__ = ("ages", "boundary", "entered", "key", "pending", "queue", "waiting")

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.entered = 0
        self.boundary: Instant | None = None
        self.pending: list[Event] = []
        self.waiting: set[E] = set()
        self.ages: dict[E, tuple[Instant, int, E]] = {}
        # Oldest first; an entry that differs from ``ages`` is stale.
        self.queue: list[tuple[Instant, int, E]] = []

    def begin(self, record: Recorder) -> None:
        """Make what follows undoable: the position and the waiting events as they are now."""
        pending, waiting = self.pending, self.waiting
        entered, boundary, length = self.entered, self.boundary, len(self.pending)

        def undo() -> None:
            del pending[length:]
            self.pending, self.waiting = pending, waiting
            self.entered, self.boundary = entered, boundary

        record.undo.append(undo)

    def wait(self, event: Event, elements: Iterable[E], record: Recorder) -> None:
        """Keep an event with these ``elements`` for the next step."""
        self.pending.append(event)
        fresh = [element for element in elements if element not in self.waiting]
        if fresh:
            self.waiting.update(fresh)
            record.undo.append(partial(self.waiting.difference_update, fresh))

    def take_pending(self) -> list[Event]:
        """Remove and return the waiting events."""
        events, self.pending, self.waiting = self.pending, [], set()
        return events

    def renew(self, element: E, time: Instant, arrival: int, record: Recorder) -> None:
        """Give an element its age; it may be new."""
        old = self.ages.get(element)
        record.undo.append(
            partial(self.ages.__delitem__, element) if old is None else partial(self._put, old)
        )
        self._put((time, arrival, element))

    def drop(self, element: E, record: Recorder) -> None:
        """Remove an element, if it is in the pane."""
        entry = self.ages.pop(element, None)
        if entry is not None:
            record.undo.append(partial(self._put, entry))

    def oldest(self) -> tuple[Instant, int, E]:
        """The entry of the oldest element; there must be one."""
        while True:
            entry = self.queue[0]
            if self.ages.get(entry[2]) is entry:
                return entry
            heapq.heappop(self.queue)

    def fill(self, entries: Iterable[tuple[Instant, int, E]], pending: Iterable[Event]) -> None:
        """Hold exactly these elements, with these events waiting."""
        self.pending = list(pending)
        self.ages = {entry[2]: entry for entry in entries}
        self.queue = list(self.ages.values())
        heapq.heapify(self.queue)

    def _put(self, entry: tuple[Instant, int, E]) -> None:
        self.ages[entry[2]] = entry
        heapq.heappush(self.queue, entry)
        if len(self.queue) > 2 * len(self.ages) + 64:
            # Mostly stale: an element that is renewed often leaves an entry each time.
            self.queue = list(self.ages.values())
            heapq.heapify(self.queue)
