"""The time of rules and window while no message comes (docs/decisions/019)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sensorstream.engine.live_queries import Moved
from sensorstream.engine.reorder import Disorder
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import Silence
from sensorstream.model.xsd import Duration, duration_text

_LATE: Final = 10
"""Seconds after which an alert says that it is late."""


class StreamClock:
    """How far application time has come by the clock since the last message.

    It goes on with time of arrival, also while the server does not run: what became due meanwhile
    is due at its start. With a lateness it is behind by so much, and nothing passes while a source
    may be waited for.
    """

    __slots__ = ("_late", "_line", "margin", "moved", "patience", "silence")

    def __init__(self, silence: Silence, line: Timeline, disorder: Disorder | None) -> None:
        self.silence = silence
        self.moved: Moved | None = None
        """When application time last moved by a message."""
        self._line = line
        self.margin = margin_of(disorder)
        """How far application time is behind the clock: a message may come so late."""
        self.patience = 0 if disorder is None else disorder.idle + 1
        """For how long, in time of arrival, a source is waited for."""
        self._late = line.of_wall_time(_LATE) + self.patience

    @property
    def for_rules(self) -> bool:
        """Whether rules that wait follow the clock."""
        return self.silence is not Silence.QUERIES

    @property
    def for_window(self) -> bool:
        """Whether the window of the knowledge base follows the clock."""
        return self.silence is Silence.WINDOW

    def heard(self, time: Instant, received: Instant) -> None:
        """A message has been taken in: application time is ``time`` then."""
        self.moved = Moved(time, received)

    def present(self, received: Instant) -> Instant | None:
        """Application time at a time of arrival; None before the first message."""
        moved = self.moved
        return None if moved is None else moved.time + received - moved.received - self.margin

    def wake(self, due: Instant | None) -> Instant | None:
        """The time of arrival from which on something that is due has come; None: never."""
        moved = self.moved
        if due is None or moved is None or not self.for_rules:
            return None
        return moved.received + max(due - moved.time + self.margin, self.patience)

    def note(self, due: Instant, received: Instant) -> str:
        """What an alert says that was due at ``due`` and is raised now; "" if it is in time."""
        present = self.present(received) if self.for_rules else None
        late = 0 if present is None else present - due
        if late <= self._late:
            return ""
        seconds = Decimal(late) / self._line.of_wall_time(1)
        return f" (late by {duration_text(Duration(0, seconds.to_integral_value()))})"


def margin_of(disorder: Disorder | None) -> int:
    """How late a message may still come."""
    if disorder is None:
        return 0
    return max(disorder.lateness, *disorder.by_source.values(), 0)
