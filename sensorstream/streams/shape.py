"""What a window of a continuous query is, apart from what it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class StreamTick:
    """When the content of windows changes, and of what; windows of one tick share a content.

    With ``step`` None it changes with every event; else at ``origin + k * step`` if ``by_time``,
    or after so many triples or individuals. ``alone`` is the shape of a window of individuals,
    which shares its content with none. What happens is seen ``delay`` later.
    """

    stream: IRI | None
    step: int | None
    by_time: bool
    origin: Instant
    start: Instant | None
    end: Instant | None
    alone: WindowShape | None = None
    delay: int = 0


@dataclass(frozen=True, slots=True)
class WindowShape:
    """One window, in units of the time line; equal shapes share one window.

    ``range`` None is a landmark window: all since the start. ``by_time`` says what ``range``
    and ``step`` measure: lengths of time, or numbers of triples or ``individuals``. Those enter
    and leave with all their triples; only instances of ``instances_of``, where it is given.
    The steps are at ``origin + k * step``. Only what happens from ``start`` to ``end`` enters.
    ``stream`` None reads every stream. With a ``delay`` it holds what it would have held so long
    ago without.
    """

    stream: IRI | None
    by_time: bool
    range: int | None
    step: int | None = None
    individuals: bool = False
    instances_of: IRI | None = None
    origin: Instant = 0
    start: Instant | None = None
    end: Instant | None = None
    delay: int = 0

    @property
    def undelayed(self) -> WindowShape | None:
        """The window of which it holds the past, computed at the same moments; None: there is none.

        Steps that are not a multiple of the delay apart come at other moments.
        """
        if not self.delay or (self.step is not None and self.delay % self.step):
            return None
        return replace(self, delay=0)

    @property
    def tick(self) -> StreamTick:
        """When its content changes."""
        stepped = self.step is not None
        return StreamTick(
            self.stream,
            self.step,
            self.by_time and stepped,
            self.origin if self.by_time and stepped else 0,
            self.start,
            self.end,
            self if self.individuals else None,
            self.delay,
        )
