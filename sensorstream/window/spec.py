"""What a window is, apart from what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sensorstream.errors import SettingsError
from sensorstream.model.timeline import Instant


class Kind(Enum):
    """How a window moves (paper section 2, eq. 3 and 4; section 5.3, eq. 11)."""

    SLIDING = "sliding"
    TUMBLING = "tumbling"
    """Sliding with a step equal to its size: it waits until it is full."""
    FILLING = "filling"
    """Gradually filling tumbling: shows individuals as they come, empties when full."""


class Unit(Enum):
    """What size and step count (paper section 4, "the window measurement unit")."""

    INDIVIDUALS = "individuals"
    """A physical window."""
    TIME = "time"
    """A logical window."""


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Size and step are numbers of individuals, or lengths of the time line.

    ``origin`` is t0 of the equations: a logical window steps at ``origin + k * step``.
    """

    kind: Kind
    unit: Unit
    size: int
    step: int = 1
    origin: Instant = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingsError(f"window.size: expected at least 1, not {self.size}")
        if not 1 <= self.step <= self.size:
            raise SettingsError(
                f"window.step: expected from 1 to the window's size ({self.size}), not {self.step}"
            )
        if self.kind is Kind.TUMBLING and self.step != self.size:
            object.__setattr__(self, "step", self.size)

    @property
    def interval(self) -> int:
        """The distance between two computations of the window, in its unit."""
        return 1 if self.kind is Kind.FILLING else self.step

    def capacity(self, entered: int) -> int:
        """How many individuals a physical window keeps once ``entered`` have come, ever.

        Sliding (eq. 8): the N most recent. Gradually filling (eq. 11, with positions for
        times): the last ``mod(entered, N)``, or N where that is zero.
        """
        if self.kind is Kind.FILLING:
            return (entered - 1) % self.size + 1
        return self.size

    def boundary(self, now: Instant) -> Instant:
        """The last instant at which a logical window was computed (eq. 3, third branch)."""
        if self.kind is Kind.FILLING:
            return now
        return now - (now - self.origin) % self.step

    def lower_bound(self, at: Instant) -> Instant:
        """The oldest t_ind that a logical window computed at ``at`` keeps (eq. 3 and 11)."""
        if self.kind is Kind.FILLING:
            return at - ((at - self.origin) % self.size or self.size)
        return at - self.size
