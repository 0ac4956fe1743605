"""Application time while no message comes, by the clock (docs/decisions/010 and 019)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sensorstream.engine.reorder import Disorder
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.model.xsd import Duration, duration_text

_LATE: Final = 10
"""Seconds after which an alert says that it is late."""


@frozen
class ClockMoved:
    """The last move of time by an event: to which time, and its time of arrival."""

    time: Instant
    received: Instant


class StreamClock:
    """The application time by time of arrival since the last message.

    With a lateness it is behind by so much, and nothing passes while a source may be waited for. It
    goes on also while the server does not run, so that what became due meanwhile is due at its
    start; but for queries only from ``resumed`` on: earlier silence does not count for them.
    """

    __slots__ = ("_late", "_line", "margin", "moved", "patience", "resumed", "silence")

    def __init__(
        self,
        silence: SilentSource,
        line: Timeline,
        disorder: Disorder | None,
        resumed: Instant = -(2**64),
    ) -> None:
        self.silence = silence
        self.moved: ClockMoved | None = None
        """When application time last moved by a message."""
        self.resumed = resumed
        self._line = line
        late = (0,) if disorder is None else (disorder.lateness, *disorder.by_source.values())
        self.margin = max(*late, 0)
        """How far application time is behind the clock: a message may come so late."""
        self.patience = 0 if disorder is None else disorder.idle + 1
        """For how long, in time of arrival, a source is waited for."""
        self._late = line.of_wall_time(_LATE) + self.patience

    def heard(self, time: Instant, received: Instant) -> None:
        """Record that a message has been taken in at application time ``time``."""
        self.moved = ClockMoved(time, received)

    def present(self, received: Instant) -> Instant | None:
        """Application time at a time of arrival; None before the first message."""
        moved = self.moved
        if moved is None:
            return None
        return moved.time + received - max(moved.received, self.resumed) - self.margin

    def wake(self, due: Instant | None) -> Instant | None:
        """The time of arrival from which on something that is due has come; None: never."""
        moved = self.moved
        if due is None or moved is None:
            return None
        since = max(moved.received, self.resumed)
        return since + max(due - moved.time + self.margin, self.patience)

    @property
    def for_rules(self) -> bool:
        """Whether rules that wait follow the clock."""
        return self.silence is not SilentSource.QUERIES

    @property
    def for_window(self) -> bool:
        """Whether the window of the knowledge base follows the clock."""
        return self.silence is SilentSource.WINDOW

    def note(self, due: Instant, received: Instant) -> str:
        """The note of an alert that was due at ``due`` and is raised now; "" if it is in time."""
        present = self.present(received) if self.for_rules else None
        late = 0 if present is None else present - due
        if late <= self._late:
            return ""
        seconds = Decimal(late) / self._line.of_wall_time(1)
        return f" (late by {duration_text(Duration(0, seconds.to_integral_value()))})"
