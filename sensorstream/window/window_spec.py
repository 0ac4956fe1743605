"""The definition of a window, without its content."""

from __future__ import annotations

from enum import Enum
from typing import Final

from sensorstream.errors import SettingsError
from sensorstream.model.frozen import frozen, settle
from sensorstream.model.schedules import Multiples
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant

_EVER: Final = -(2**63)
"""Before every instant of a time line."""


class WindowMove(Enum):
    """The ways in which a window moves (paper section 2, eq. 3 to 5; section 5.3, eq. 11)."""

    SLIDING = "sliding"
    TUMBLING = "tumbling"
    """Sliding, with a step equal to the size: it changes only when a whole size has come."""
    FILLING = "filling"
    """Gradually filling tumbling: shows elements as they come, empties when full."""
    LANDMARK = "landmark"
    """From a fixed beginning, without end: it only grows."""


class Elements(Enum):
    """The elements that enter and leave a window in one piece."""

    INDIVIDUALS = "individuals"
    """An individual with all its triples (paper section 4, eq. 6 to 8)."""
    TRIPLES = "triples"
    """Each triple by itself (paper section 2, eq. 1 and 2)."""


class WindowUnitKind(Enum):
    """The units that size and step count (paper section 4, "the window measurement unit")."""

    INDIVIDUALS = "individuals"
    """A physical window of individuals."""
    TRIPLES = "triples"
    """A physical window of triples."""
    TIME = "time"
    """A logical window, of individuals or of triples."""


@frozen
class WindowPartitioning:
    """The way a window is split: by the value of a property, or by the message's source."""

    property: IRI | None = None
    """None: by source."""


@frozen
class WindowSpec:
    """The definition of a window; size and step are numbers of elements, or lengths of time.

    Only a sliding window has a step of its own; for the others it follows from the kind. A landmark
    window has no size. ``start`` of a logical window is t0 of equations (3) and (11), t_l of
    equation (5): older elements never belong to the window, and it steps at ``start + k * step``.
    Without it the window has no beginning, and steps at multiples of its step. ``start`` of a
    physical landmark window is the number of its first element, counted from 1; other physical
    windows have no start. ``elements`` matter for a logical window only: a physical window counts
    its own elements.
    """

    kind: WindowMove
    unit: WindowUnitKind
    size: int = 0
    step: int = 1
    start: Instant | None = None
    elements: Elements = Elements.INDIVIDUALS

    def __post_init__(self) -> None:
        if self.unit is not WindowUnitKind.TIME:
            settle(self, "elements", Elements(self.unit.value))
        if self.kind is WindowMove.LANDMARK:
            settle(self, "size", 0)
        elif self.size < 1:
            raise SettingsError(f"window.size: expected at least 1, not {self.size}")
        if self.step < 1:
            raise SettingsError(f"window.step: expected at least 1, not {self.step}")
        if self.kind is not WindowMove.SLIDING:
            step = self.size if self.kind is WindowMove.TUMBLING else 1
            settle(self, "step", step)
        if self.physical and self.start is not None:
            if self.kind is not WindowMove.LANDMARK:
                raise SettingsError(
                    f"window.start: a {self.kind.value} window by count begins with the first of "
                    "its elements: expected no start, or window.unit = time"
                )
            if self.start < 1:
                raise SettingsError(
                    f"window.start: expected the number of the window's first element, "
                    f"from 1 on, not {self.start}"
                )

    @property
    def physical(self) -> bool:
        """Whether the window counts elements, not time."""
        return self.unit is not WindowUnitKind.TIME

    def capacity(self, entered: int) -> int:
        """The number of elements that a physical window keeps after ``entered`` have come in all.

        Sliding (eq. 2 and 8): the N most recent. Gradually filling (eq. 11, with positions for
        times): the last ``mod(entered, N)``, or N if that is zero. Landmark (eq. 5): all from the
        first one on.
        """
        match self.kind:
            case WindowMove.FILLING:
                return (entered - 1) % self.size + 1
            case WindowMove.LANDMARK:
                return max(0, entered - (self.start or 1) + 1)
            case _:
                return self.size

    def least_entered(self, known: int) -> int:
        """The number of elements that have come if a physical window knows ``known`` of them."""
        first = self.start or 1
        return known + first - 1 if self.kind is WindowMove.LANDMARK and known else known

    def boundary(self, now: Instant) -> Instant:
        """The last instant at which a logical window was computed (eq. 3, third branch). Before its
        start it is empty at every instant (equation 5).
        """
        if self.step == 1 or (self.start is not None and now < self.start):
            return now
        return self._multiples(self.step).last(now)

    def leaves(self, time: Instant) -> Instant | None:
        """The first instant at which a logical window no longer has an element of this time; None:
        never. An element that is older than the start of the window leaves at once.
        """
        if self.start is not None and time < self.start:
            return time
        match self.kind:
            case WindowMove.FILLING:
                return self._multiples(self.size).after(time) + 1
            case WindowMove.LANDMARK:
                return None
        return self.next_boundary(time + self.size)

    def next_boundary(self, after: Instant) -> Instant:
        """The first instant above ``after`` at which a logical window is computed."""
        return self._multiples(self.step).after(after)

    def _multiples(self, length: int) -> Multiples:
        return Multiples(length, self.start or 0)

    def lower_bound(self, at: Instant) -> Instant:
        """The oldest time that a logical window computed at ``at`` keeps (eq. 3, 5 and 11)."""
        start = _EVER if self.start is None else self.start
        match self.kind:
            case WindowMove.FILLING:
                return max(start, self._multiples(self.size).last(at - 1))
            case WindowMove.LANDMARK:
                return start
            case _:
                return max(start, at - self.size)
