"""When the solutions of one rule that wait are due: each stands in a queue once."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant

SolutionKey: TypeAlias = tuple[tuple[str, Term], ...]
"""The variables of a solution with their values, by name."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a rule waits with: a solution that has begun, or an individual that has spoken.

    ``since`` is when. ``due`` is when the rule fires by time alone; None: it has fired, or has
    nothing to wait for.
    """

    since: Instant
    due: Instant | None = None


class Timers:
    """A queue over ``held``, which is changed elsewhere: :meth:`note` tells of each change.

    A due time that is put off costs nothing until the earlier one comes up, so the queue is never
    longer than twice ``held`` is.
    """

    __slots__ = ("_held", "_numbers", "_queue", "_queued")

    def __init__(self, held: Mapping[SolutionKey, Holding]) -> None:
        self._held = held
        self._queue: list[tuple[Instant, int, SolutionKey]] = []
        self._queued: dict[SolutionKey, Instant] = {}
        self._numbers = count()
        for key in held:
            self.note(key)

    def note(self, key: SolutionKey) -> None:
        """A solution is held anew, or no more; O(log n)."""
        holding = self._held.get(key)
        if holding is None or holding.due is None:
            return
        queued = self._queued.get(key)
        if queued is None or holding.due < queued:
            self._queued[key] = holding.due
            heapq.heappush(self._queue, (holding.due, next(self._numbers), key))

    @property
    def next(self) -> Instant | None:
        """When the first is due."""
        queue, queued = self._queue, self._queued
        while queue:
            time, _, key = queue[0]
            holding = self._held.get(key)
            if queued.get(key) == time and holding is not None and holding.due == time:
                return time
            heapq.heappop(queue)
            if queued.get(key) == time:
                # It was put off, or waits no more.
                del queued[key]
                self.note(key)
        return None

    def until(self, time: Instant) -> list[SolutionKey]:
        """Those that are due by a time, in order of their times; they stay in the queue."""
        found: dict[SolutionKey, None] = {}
        while (due := self.next) is not None and due <= time:
            _, _, key = heapq.heappop(self._queue)
            del self._queued[key]
            found[key] = None
        for key in found:
            self.note(key)
        return list(found)
