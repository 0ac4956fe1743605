"""The windows of continuous queries: the part of a stream that a pattern matches.

At time t a logical window of range r holds what happened in ``(t - r, t]``, a physical one the
last n elements. With a step it is computed at the multiples of the step only; without, it moves
with every event, and what grows too old leaves at the instant it does, event or not. An event
is one graph: a physical window moves past all of it at once.

These windows hand nothing on and take nothing back: a triple is in the content as long as some
event within the range says it. The window of the knowledge base (``sensorstream.window``) is
the one that keeps individuals whole and moves them to history.

Source: RSP-QL, section 4 (time-based windows); "Monitoring eBay auctions", sections 4.3 and 5.2
(windows of triples); SensorStream, section 4 (windows of individuals).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Protocol

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.streams.shape import WindowShape
from sensorstream.streams.state import WindowState


class StreamWindow:
    """The content of a window, as an index that operators watch; O(change) per event."""

    def __init__(self, shape: WindowShape) -> None:
        self.shape = shape
        self.index = TripleIndex()
        self.closes: Instant | None = None
        """The next multiple of a logical step; what happens at that very time still belongs."""
        self.computed = 0
        """How often the window was computed at a step."""
        self._content: _Content
        if shape.individuals:
            self._content = _Individuals(self.index, shape.instances_of)
        else:
            self._content = _Triples(self.index, apart=not shape.by_time)
        self._waiting: deque[tuple[Instant, Sequence[Triple]]] = deque()
        self._arrived = 0

    def take(self, time: Instant, triples: Sequence[Triple]) -> None:
        """An event happens, at or after all before it."""
        shape = self.shape
        if (shape.start is not None and time < shape.start) or (
            shape.end is not None and time > shape.end
        ):
            return
        if shape.by_time:
            if shape.step is None:
                self._content.enter(time, triples)
            else:
                self._waiting.append((time, triples))
            return
        before = self._arrived
        self._arrived += self._content.elements_in(triples)
        if shape.step is None:
            self._content.enter(time, triples)
            self._trim()
            return
        self._waiting.append((time, triples))
        past = self._arrived % shape.step
        if self._arrived - past > before or (not past and self._arrived > before):
            self._enter_waiting(len(self._waiting))
            self._trim()
            self.computed += 1

    @property
    def due(self) -> Instant | None:
        """When the window moves next without an event."""
        return self.closes if self.closes is not None else self.expires

    @property
    def expires(self) -> Instant | None:
        """The next time at which something is too old, for a logical window without a step."""
        shape = self.shape
        if not shape.by_time or shape.step is not None or shape.range is None:
            return None
        oldest = self._content.oldest
        return None if oldest is None else oldest + shape.range

    def expire(self, time: Instant) -> None:
        """Let go of what is too old at a time."""
        assert self.shape.range is not None
        self._expire(time - self.shape.range)

    def close(self) -> None:
        """Compute the window at :attr:`closes`."""
        shape, boundary = self.shape, self.closes
        assert boundary is not None
        assert shape.step is not None
        ready = 0
        for time, _ in self._waiting:
            if time > boundary:
                break
            ready += 1
        self._enter_waiting(ready)
        if shape.range is not None:
            self._expire(boundary - shape.range)
        self.computed += 1
        self.closes = boundary + shape.step

    def wind(self, time: Instant) -> None:
        """Let the next step be the first one at or after a time; nothing may happen before it."""
        shape = self.shape
        if shape.by_time and shape.step is not None:
            self.closes = time + (shape.origin - time) % shape.step

    def skip(self, time: Instant) -> None:
        """Let the next step be the last one before a time, if there are several."""
        step = self.shape.step
        if self.closes is not None and step is not None and self.closes < time:
            self.closes += (time - 1 - self.closes) // step * step

    @property
    def idle(self) -> bool:
        """Whether the window is empty and stays so until the next event."""
        return not self._waiting and not self._content

    def state(self) -> WindowState:
        """What :meth:`restore` needs."""
        return WindowState(
            self.closes,
            self.computed,
            self._arrived,
            tuple((time, tuple(triples)) for time, triples in self._content.elements()),
            tuple((time, tuple(triples)) for time, triples in self._waiting),
        )

    def restore(self, state: WindowState) -> None:
        """Become the window of that shape that a state was taken of; call it on a new one."""
        self.closes = state.closes
        self.computed = state.computed
        self._arrived = state.arrived
        for time, triples in state.content:
            self._content.enter(time, triples)
        self._waiting.extend(state.waiting)

    def _enter_waiting(self, count: int) -> None:
        for _ in range(count):
            self._content.enter(*self._waiting.popleft())

    def _expire(self, last: Instant) -> None:
        content = self._content
        while (oldest := content.oldest) is not None and oldest <= last:
            content.leave()

    def _trim(self) -> None:
        if self.shape.range is not None:
            while len(self._content) > self.shape.range:
                self._content.leave()


class _Content(Protocol):
    """What a window is made of, oldest first."""

    def __len__(self) -> int:
        """The number of elements."""

    def elements_in(self, triples: Sequence[Triple]) -> int:
        """How many elements an event brings."""

    def enter(self, time: Instant, triples: Sequence[Triple]) -> None:
        """Take an event's elements in."""

    @property
    def oldest(self) -> Instant | None:
        """The time of the oldest element."""

    def leave(self) -> None:
        """Let the oldest element go."""

    def elements(self) -> Iterable[tuple[Instant, Sequence[Triple]]]:
        """What made it what it is, were it to enter again, oldest first."""


class _Triples:
    """Triples as often as they are said; ``apart`` each by itself, else event by event."""

    def __init__(self, index: TripleIndex, *, apart: bool) -> None:
        self._index = index
        self._apart = apart
        self._elements: deque[tuple[Instant, Sequence[Triple]]] = deque()
        self._counts: dict[Triple, int] = {}

    def __len__(self) -> int:
        return len(self._elements)

    def elements_in(self, triples: Sequence[Triple]) -> int:
        return len(triples)

    def enter(self, time: Instant, triples: Sequence[Triple]) -> None:
        if self._apart:
            self._elements.extend((time, (triple,)) for triple in triples)
        else:
            self._elements.append((time, triples))
        counts = self._counts
        for triple in triples:
            count = counts.get(triple, 0)
            counts[triple] = count + 1
            if not count:
                self._index.add(triple)

    @property
    def oldest(self) -> Instant | None:
        return self._elements[0][0] if self._elements else None

    def leave(self) -> None:
        counts = self._counts
        for triple in self._elements.popleft()[1]:
            count = counts[triple] - 1
            if count:
                counts[triple] = count
            else:
                del counts[triple]
                self._index.discard(triple)

    def elements(self) -> Iterable[tuple[Instant, Sequence[Triple]]]:
        return self._elements


class _Individuals:
    """Individuals with all that was said of them since they came (SensorStream, eq. 6 and 7)."""

    def __init__(self, index: TripleIndex, instances_of: IRI | None) -> None:
        self._index = index
        self._class = instances_of
        self._times: OrderedDict[Subject, Instant] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def elements_in(self, triples: Sequence[Triple]) -> int:
        return sum(subject not in self._times for subject in self._subjects(triples))

    def _subjects(self, triples: Iterable[Triple]) -> dict[Subject, None]:
        if self._class is None:
            return dict.fromkeys(triple[0] for triple in triples)
        found = {s for s, p, o in triples if p == RDF_TYPE and o == self._class}
        return dict.fromkeys(t[0] for t in triples if t[0] in found or t[0] in self._times)

    def enter(self, time: Instant, triples: Sequence[Triple]) -> None:
        for subject in self._subjects(triples):
            self._times[subject] = time
            self._times.move_to_end(subject)
        for triple in triples:
            if triple[0] in self._times and triple not in self._index:
                self._index.add(triple)

    @property
    def oldest(self) -> Instant | None:
        return next(iter(self._times.values()), None)

    def leave(self) -> None:
        subject, _ = self._times.popitem(last=False)
        for triple in list(self._index.match(subject, None, None)):
            self._index.discard(triple)

    def elements(self) -> Iterable[tuple[Instant, Sequence[Triple]]]:
        index = self._index
        return ((time, tuple(index.match(s, None, None))) for s, time in self._times.items())
