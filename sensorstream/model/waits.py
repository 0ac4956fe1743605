"""The times that an engine waits for while no message comes."""

from __future__ import annotations

from enum import Enum

from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant


class SilentSource(Enum):
    """Parts whose time goes on by the clock while no message comes; each includes those above."""

    QUERIES = "queries"
    """The windows of continuous queries."""
    RULES = "rules"
    """Rules that wait."""
    WINDOW = "window"
    """The window of the knowledge base."""


@frozen
class Waits:
    """The times from which on something changes although no message comes; None: never.

    ``received`` is a time of arrival. ``moved`` is application time as messages bring it, also
    those that go to other engines; ``present`` is application time that has passed in silence.
    """

    received: Instant | None = None
    moved: Instant | None = None
    present: Instant | None = None

    def over(self, received: Instant, moved: Instant, present: Instant) -> bool:
        """Whether something is to be done at these times."""
        return (
            (self.received is not None and self.received <= received)
            or (self.moved is not None and self.moved <= moved)
            or (self.present is not None and self.present <= present)
        )

    def __bool__(self) -> bool:
        return not self.received is self.moved is self.present is None
