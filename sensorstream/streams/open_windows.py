"""The windows that queries read, the streams that fill them, and who reads which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.sparql.algebra import ReportKind
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.streams.query_shape import StreamTick, WindowShape
from sensorstream.streams.stream_window import StreamWindow, WindowedStream


class OpenWindows:
    """Equal windows of several queries are one; a window lasts as long as a query reads it.

    ``now`` tells the present, None before the first event.
    """

    def __init__(self, agenda: Agenda, now: Callable[[], Instant | None]) -> None:
        self._agenda = agenda
        self._now = now
        self.streams: dict[StreamTick, WindowedStream] = {}
        """The streams that a window sees, by when their windows change."""
        self.of_stream: dict[IRI | None, list[WindowedStream]] = {}
        """Those that windows see of the one with that name; None: of all that comes."""
        self.readers: dict[WindowedStream, dict[ContinuousQuery, None]] = {}
        """The queries that read a window of a stream."""
        self.counting: dict[WindowedStream, dict[ContinuousQuery, None]] = {}
        """Those of the readers that report after so many triples; the others wait for a change."""
        self._windows: dict[WindowShape, StreamWindow] = {}
        self._users: Counter[StreamWindow] = Counter()

    def __len__(self) -> int:
        return len(self._windows)

    def open(self, shape: WindowShape) -> StreamWindow:
        """The window of a shape; it is made if no query reads it yet."""
        window = self._windows.get(shape)
        if window is not None:
            return window
        now = self._now()
        stream = self.streams.get(shape.tick)
        if stream is None:
            stream = self.streams[shape.tick] = WindowedStream(shape.tick, self._now)
            self.readers[stream] = {}
            self.counting[stream] = {}
            self.of_stream.setdefault(shape.stream, []).append(stream)
            if now is not None:
                stream.wind(now)
                self._agenda.note(stream)
        window = self._windows[shape] = stream.open(shape)
        if now is not None:
            stream.catch_up(window, now)
        for each in stream.filled():
            self._agenda.note(each)
        return window

    def read(self, query: ContinuousQuery) -> None:
        """Register a query as a reader of its windows."""
        self._users.update(query.windows)
        for window in query.windows:
            # Its new readers may need it to be moved in time.
            self._agenda.note(window)
        for stream in query.streams:
            self.readers[stream][query] = None
            if query.schedule.kind is ReportKind.TRIPLES:
                self.counting[stream][query] = None

    def leave(self, query: ContinuousQuery) -> None:
        """Remove a query as a reader; the operators over its windows are gone already."""
        self._users.subtract(query.windows)
        for stream in query.streams:
            del self.readers[stream][query]
            self.counting[stream].pop(query, None)
        self.close(query.windows)

    def close(self, windows: Iterable[StreamWindow]) -> None:
        """Close the windows that no query reads, and the streams without windows."""
        for window in windows:
            if self._users[window] or self._windows.get(window.shape) is not window:
                continue
            stream = window.stream
            del self._users[window], self._windows[window.shape]
            self._agenda.forget(window)
            stream.close(window)
            if not stream.windows:
                self._agenda.forget(stream)
                of_stream = self.of_stream[stream.tick.stream]
                of_stream.remove(stream)
                if not of_stream:
                    del self.of_stream[stream.tick.stream]
                del self.readers[stream], self.counting[stream], self.streams[stream.tick]
