"""The windows of continuous queries: the part of a stream that a pattern matches.

At time t the *scope* of a logical window of range r is the events in ``(t - r, t]``, that of a
physical one the last n elements; its *content* is the set of their triples. With a step it is
computed at the multiples of the step only; without, it moves with every event, and triples leave at
the instant when they are too old, event or not. An event is one graph: a physical window moves past
all of it at once. A window with a delay d sees each event d later: at time t its scope is the
events in ``(t - d - r, t - d]``.

These windows hand nothing on and take nothing back: a triple is in the content as long as some
event in the scope contains it. The window of the knowledge base (``sensorstream.window``) is the
one that keeps individuals whole and moves them to history.

Source: RSP-QL, section 4 (time-based windows); "Monitoring eBay auctions", sections 4.3 and 5.2
(windows of triples); SensorStream, section 4 (windows of individuals); SECRET (Botan et al., 2010)
for *scope*, *content*, *tick*.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from sensorstream.kb.occurrences import OccurrenceIndex, StreamElement, WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.schedules import Multiples
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.streams.query_shape import StreamTick, WindowShape
from sensorstream.streams.query_state import StreamState


class IndividualContents:
    """Individuals with all triples about them since they came (SensorStream, eq. 6 and 7).

    With ``instances_of`` only its instances. ``graph`` holds their triples.
    """

    __slots__ = ("_class", "_times", "graph")

    def __init__(self, instances_of: IRI | None) -> None:
        self.graph = TripleIndex()
        self._class = instances_of
        self._times: OrderedDict[Subject, Instant] = OrderedDict()

    def elements_in(self, triples: Sequence[Triple]) -> int:
        """The number of new individuals in an event."""
        return sum(subject not in self._times for subject in self._subjects(triples))

    def _subjects(self, triples: Iterable[Triple]) -> dict[Subject, None]:
        if self._class is None:
            return dict.fromkeys(triple[0] for triple in triples)
        found = {s for s, p, o in triples if p == rdf.TYPE and o == self._class}
        return dict.fromkeys(t[0] for t in triples if t[0] in found or t[0] in self._times)

    def take(self, element: StreamElement) -> None:
        """Take in an event, at or after all before it."""
        for subject in self._subjects(element.triples):
            self._times[subject] = element.time
            self._times.move_to_end(subject)
        self.graph.add(*(triple for triple in element.triples if triple[0] in self._times))

    @property
    def empty(self) -> bool:
        """Whether it holds no individual."""
        return not self._times

    @property
    def oldest(self) -> Instant | None:
        """The time of the individual that appeared least recently."""
        return next(iter(self._times.values()), None)

    def leave_until(self, last: Instant) -> None:
        """Remove the individuals that appeared last at a time or before."""
        while (oldest := self.oldest) is not None and oldest <= last:
            self._leave()

    def keep(self, count: int) -> None:
        """Remove the individuals that appeared least recently, down to ``count``."""
        while len(self._times) > count:
            self._leave()

    def _leave(self) -> None:
        subject, _ = self._times.popitem(last=False)
        self.graph.discard(*self.graph.match(subject, None, None))

    def elements(self) -> Iterator[StreamElement]:
        """The events that would make this content again, oldest first."""
        for subject, time in self._times.items():
            yield StreamElement(time, time, tuple(self.graph.match(subject, None, None)))

    def size(self) -> int:
        """The number of its triples."""
        return len(self.graph)


class StreamWindow:
    """The content of a window, as a graph that operators watch; O(change) per event."""

    closing: Final = False

    def __init__(
        self, shape: WindowShape, stream: WindowedStream, content: WindowScope | IndividualContents
    ) -> None:
        self.shape = shape
        self.stream = stream
        self._content = content

    @property
    def graph(self) -> WindowScope | TripleIndex:
        """Its content for patterns to match, up to date."""
        content = self._present()
        return content if isinstance(content, WindowScope) else content.graph

    def _present(self) -> WindowScope | IndividualContents:
        now = self.stream.now()
        if now is not None and isinstance(self._content, WindowScope) and self._content.lags:
            self._expire(now)
        return self._content

    def size(self) -> int:
        """The number of triples of its content; O(stream)."""
        return self._present().size()

    @property
    def empty(self) -> bool:
        """Whether nothing is in its scope."""
        return self._present().empty

    @property
    def due(self) -> Instant | None:
        """The next time at which a logical window without a step must drop something.

        None also while it may lag: then it is brought up to date when it is read.
        """
        content = self._content
        return None if isinstance(content, WindowScope) and content.lags else self._expires

    @property
    def _expires(self) -> Instant | None:
        shape = self.shape
        if not shape.by_time or shape.step is not None or shape.range is None:
            return None
        oldest = self._content.oldest
        return None if oldest is None else oldest + shape.range

    @property
    def moves(self) -> Instant | None:
        """The next time when it changes without an event."""
        if self.stream.closes is not None:
            return self.stream.closes
        self._present()
        enters, expires = self.stream.due, self._expires
        return min((each for each in (enters, expires) if each is not None), default=None)

    def elapse(self, time: Instant) -> None:
        """Drop what is too old at a time."""
        self._expire(time)
        if self.empty:
            self.stream.empty_windows.add(self)

    def skip(self, time: Instant) -> None:
        """Do nothing: all that is too old leaves in one moment, so no moment can be skipped."""

    def compute(self, time: Instant) -> None:
        """Drop what is not in the scope at a time; new events have entered already."""
        if self.shape.by_time:
            self._expire(time)
        elif self.shape.range is not None:
            self._content.keep(self.shape.range)

    def _expire(self, time: Instant) -> None:
        if self.shape.range is not None:
            self._content.leave_until(time - self.shape.range)


class WindowedStream:
    """A stream as the windows of one tick see it.

    Events wait here for the tick, if there is a step, or until the delay is over, and are then
    stored once for all of the windows. O(event) plus O(1) for each window that moves.
    """

    closing: Final = True

    def __init__(self, tick: StreamTick, now: Callable[[], Instant | None]) -> None:
        self.tick = tick
        self.now = now
        self.windows: list[StreamWindow] = []
        self.empty_windows: set[StreamWindow] = set()
        """Windows that nothing is due of, because they are empty."""
        self.closes: Instant | None = None
        """The next multiple of a logical step; what happens at that very time still belongs."""
        self.computed = 0
        """How often the contents were computed at a step."""
        self.content: OccurrenceIndex | IndividualContents
        if tick.alone is None:
            self.content = OccurrenceIndex()
        else:
            self.content = IndividualContents(tick.alone.instances_of)
        self._waiting: deque[StreamElement] = deque()
        self._arrived = 0

    def open(self, shape: WindowShape) -> StreamWindow:
        """A new window; it starts with what others of the same tick still hold."""
        content: IndividualContents | WindowScope
        if isinstance(self.content, OccurrenceIndex):
            moving = shape.by_time and shape.step is None
            content = self.content.open(shape.range if moving else None)
        else:
            content = self.content
        window = StreamWindow(shape, self, content)
        self.windows.append(window)
        self.empty_windows.add(window)
        return window

    def close(self, window: StreamWindow) -> None:
        """Free what only this window holds."""
        self.windows.remove(window)
        self.empty_windows.discard(window)
        if isinstance(window.graph, WindowScope):
            window.graph.occurrences.close(window.graph)

    def catch_up(self, window: StreamWindow, now: Instant) -> None:
        """Fill a new window as if it had existed, from what is still there."""
        step = self.tick.step
        window.compute(now if self.closes is None or step is None else self.closes - step)

    def take(self, element: StreamElement) -> None:
        """Take in an event, at or after all before it."""
        tick, time = self.tick, element.time
        if (tick.start is not None and time < tick.start) or (
            tick.end is not None and time > tick.end
        ):
            return
        if tick.delay:
            # Its windows see the event that much later.
            element = StreamElement(time + tick.delay, element.end + tick.delay, element.triples)
        if tick.step is None and tick.delay:
            self._waiting.append(element)
            return
        if tick.step is None:
            self.content.take(element)
            for window in self.windows:
                if not window.shape.by_time:
                    window.compute(time)
            return
        self._waiting.append(element)
        if tick.by_time:
            return
        before, content = self._arrived, self.content
        self._arrived += (
            len(element.triples)
            if isinstance(content, OccurrenceIndex)
            else content.elements_in(element.triples)
        )
        if self._arrived // tick.step > before // tick.step:
            self._compute(len(self._waiting), time)
            self.computed += 1

    def filled(self) -> Collection[StreamWindow]:
        """The windows that are not empty any more; ask after each event."""
        if not self.empty_windows or self.content.empty:
            return ()
        # An event may wait for its delay while another window holds earlier ones.
        filled = {window for window in self.empty_windows if not window.empty}
        self.empty_windows -= filled
        return filled

    @property
    def due(self) -> Instant | None:
        """The next step of logical windows; else the time when a delayed event is seen."""
        if self.tick.step is None and self._waiting:
            return self._waiting[0].time
        return self.closes

    def elapse(self, time: Instant) -> None:
        """Compute the windows at :attr:`due`, which is ``time``."""
        ready = 0
        for element in self._waiting:
            if element.time > time:
                break
            ready += 1
        self._compute(ready, time)
        if self.tick.step is not None:
            self.closes = Multiples(self.tick.step, self.tick.origin).after(time)
            self.computed += 1

    def wind(self, time: Instant) -> None:
        """Move the next step to the first one at or after a time; no event may be before it."""
        tick = self.tick
        if tick.by_time and tick.step is not None:
            self.closes = Multiples(tick.step, tick.origin).after(time - 1)

    def skip(self, time: Instant) -> None:
        """Move the next step to the last one before a time, if there are several."""
        tick = self.tick
        if self.closes is not None and tick.step is not None and self.closes < time:
            self.closes = Multiples(tick.step, tick.origin).last(time - 1)

    @property
    def idle(self) -> bool:
        """Whether all windows are empty and stay so until the next event."""
        return not self._waiting and self.content.empty

    def state(self) -> StreamState:
        """The data that :meth:`restore` needs."""
        return StreamState(
            self.closes,
            self.computed,
            self._arrived,
            tuple(self.content.elements()),
            tuple(self._waiting),
        )

    def restore(self, state: StreamState, now: Instant | None) -> None:
        """Restore the stream of a state; call it on a new one with all windows open."""
        self.closes = state.closes
        self.computed = state.computed
        self._arrived = state.arrived
        for element in state.content:
            self.content.take(element)
        self._waiting.extend(state.waiting)
        if now is not None:
            for window in self.windows:
                self.catch_up(window, now)

    def _horizon(self, time: Instant) -> Instant | None:
        """The time up to which no event is in any window at ``time``; None: no such time."""
        if not self.tick.by_time or not isinstance(self.content, OccurrenceIndex):
            return None
        ranges = [window.shape.range for window in self.windows]
        known = [each for each in ranges if each is not None]
        return time - max(known) if len(known) == len(ranges) else None

    def _compute(self, ready: int, time: Instant) -> None:
        horizon = self._horizon(time)
        for _ in range(ready):
            element = self._waiting.popleft()
            # With long steps most events are over before any window sees them.
            if horizon is None or element.time > horizon:
                self.content.take(element)
        for window in self.windows:
            window.compute(time)
