"""The buffer where messages wait that may still be overtaken; they leave in application time.

Every source has a front: its latest application time less its lateness. Nothing earlier is expected
of it. The frontier is the least front of the sources that count; it never falls. Messages at or
below it are released, in order of time, ties in order of arrival. A source that has been silent for
longer than ``idle``, in time of arrival, does not count; where none counts, all that was seen is
taken to be complete.

Sources need no common clock: one that runs ahead waits for the others, one that runs behind loses
nothing. Cost per message: O(log of what is held and of the sources).

Source: design section 3 (disorder); called watermarks in Akidau et al., The Dataflow Model, 2.3.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.timeline import Instant

Item = TypeVar("Item")

_BEFORE_ALL: Final = -(2**64)
"""Less than any instant of either time line."""


@frozen
class Disorder:
    """The lateness of sources.

    ``lateness`` is a length of the time line, for every source that ``by_source`` does not name.
    The sources that it names are waited for from the first message on, others from their own first.
    ``idle`` is in the unit of arrival times. ``max_held`` bounds the memory.
    """

    lateness: int
    by_source: Mapping[str, int]
    idle: int
    max_held: int

    def of(self, source: str) -> int:
        """The lateness of one source."""
        return self.by_source.get(source, self.lateness)


@frozen
class HeldItem(Generic[Item]):
    """An item with its application time and its place in the order of arrival."""

    time: Instant
    arrival: int
    item: Item


@frozen
class Heard:
    """The last state of a source: its front, and its latest time of arrival."""

    front: Instant
    at: Instant


@mutable
class ReorderState(Generic[Item]):
    """A buffer at rest. ``sources`` stand in the order in which they were heard last."""

    sources: dict[str, Heard] = field(default_factory=dict)
    held: list[HeldItem[Item]] = field(default_factory=list)
    frontier: Instant = _BEFORE_ALL
    released: Instant = _BEFORE_ALL
    """The latest application time that has been released."""
    latest: Instant = _BEFORE_ALL
    """The latest application time that has been seen."""
    now: Instant | None = None
    """The latest time of arrival."""
    arrivals: int = 0


class ReorderBuffer(Generic[Item]):
    """The waiting messages; a function of its inputs, it reads no clock. Without ``disorder`` each
    is to be taken at once, and only those wait that waited when the lateness was taken out of the
    settings.
    """

    def __init__(self, disorder: Disorder | None) -> None:
        self.waits = disorder is not None
        """Whether items wait for earlier ones at all."""
        self.disorder = Disorder(0, {}, 0, 0) if disorder is None else disorder
        self._state: ReorderState[Item] = ReorderState()
        self._heap: list[tuple[Instant, int, Item]] = []
        # Least front first; an entry that is no longer its source's front is stale.
        self._fronts: list[tuple[Instant, str]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def advance(self, received: Instant) -> None:
        """Let time of arrival pass: sources that fell silent do not count any more."""
        state = self._state
        if not self.waits:
            return
        if state.now is None:
            state.now = received
            for source in self.disorder.by_source:
                self._hear(source, _BEFORE_ALL, received)
        elif received > state.now:
            state.now = received
        silent = not state.sources
        while state.sources:
            source, heard = next(iter(state.sources.items()))
            if heard.at + self.disorder.idle >= state.now:
                break
            del state.sources[source]
            silent = True
        if silent:
            self._raise_frontier()

    def complete(self, time: Instant | None) -> None:
        """End the wait for anything before an application time; None: for anything at all. Messages
        that come from before it all the same are late.
        """
        state = self._state
        if not self.waits:
            return
        if time is None:
            state.frontier = max(state.frontier, state.latest)
        else:
            state.frontier = max(state.frontier, time - 1)
            state.released = max(state.released, time)

    def offer(self, source: str, time: Instant, received: Instant, item: Item) -> bool:
        """Take an item in, unless it is late: something later has been released already. A late
        item still shows that its source is awake.
        """
        self.advance(received)
        state = self._state
        assert state.now is not None
        known = state.sources.get(source)
        front = max(time - self.disorder.of(source), _BEFORE_ALL if known is None else known.front)
        self._hear(source, front, state.now)
        in_time = time >= state.released
        if in_time:
            state.latest = max(state.latest, time)
            state.arrivals += 1
            heapq.heappush(self._heap, (time, state.arrivals, item))
        self._raise_frontier()
        return in_time

    def release(self) -> list[Item]:
        """Remove and return the messages at or below the frontier, in order."""
        ready: list[Item] = []
        while self._heap and (not self.waits or self._heap[0][0] <= self._state.frontier):
            ready.append(self._pop())
        if not self.waits and ready:
            self._state = ReorderState()
        return ready

    def overflow(self) -> list[Item]:
        """Remove and return the oldest items beyond ``max_held``, in order."""
        forced: list[Item] = []
        while self.waits and len(self._heap) > self.disorder.max_held:
            forced.append(self._pop())
        return forced

    @property
    def quiet(self) -> Instant | None:
        """The time of arrival from which no source counts any more; None: none does now."""
        heard = max((each.at for each in self._state.sources.values()), default=None)
        return None if heard is None else heard + self.disorder.idle + 1

    @property
    def due(self) -> Instant | None:
        """The time of arrival at which something is released though nothing arrives."""
        if not self._heap:
            return None
        oldest = self._heap[0][0]
        # Sources fall silent in the order in which they were heard: the last one to hold the
        # oldest item back decides.
        holding = [heard.at for heard in self._state.sources.values() if heard.front < oldest]
        return max(holding) + self.disorder.idle + 1 if holding else self._state.now or 0

    def state(self) -> ReorderState[Item]:
        """The state that must survive a restart."""
        held = [HeldItem(*each) for each in sorted(self._heap, key=lambda each: each[:2])]
        return replace(self._state, sources=dict(self._state.sources), held=held)

    def restore(self, state: ReorderState[Item]) -> None:
        """Become the buffer that a state was taken of."""
        self._heap = [(each.time, each.arrival, each.item) for each in state.held]
        heapq.heapify(self._heap)
        if self.waits:
            self._state = replace(state, sources=dict(state.sources), held=[])
            self._fronts = [(heard.front, source) for source, heard in state.sources.items()]
            heapq.heapify(self._fronts)

    def _pop(self) -> Item:
        time, _, item = heapq.heappop(self._heap)
        state = self._state
        state.released = max(state.released, time)
        state.frontier = max(state.frontier, time)
        return item

    def _hear(self, source: str, front: Instant, at: Instant) -> None:
        sources = self._state.sources
        known = sources.pop(source, None)
        sources[source] = Heard(front, at)
        if known is None or known.front != front:
            heapq.heappush(self._fronts, (front, source))
            if len(self._fronts) > 2 * len(sources) + 64:
                self._fronts = [(heard.front, name) for name, heard in sources.items()]
                heapq.heapify(self._fronts)

    def _raise_frontier(self) -> None:
        state, fronts = self._state, self._fronts
        while fronts:
            front, source = fronts[0]
            heard = state.sources.get(source)
            if heard is not None and heard.front == front:
                break
            heapq.heappop(fronts)
        state.frontier = max(state.frontier, fronts[0][0] if fronts else state.latest)
