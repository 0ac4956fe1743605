"""What a window of a continuous query is, apart from what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class WindowShape:
    """One window, in units of the time line; equal shapes share one window.

    ``range`` None is a landmark window: all since the start. ``by_time`` says what ``range``
    and ``step`` measure: lengths of time, or numbers of triples or ``individuals``. Those enter
    and leave with all their triples; only instances of ``instances_of``, where it is given.
    The steps are at ``origin + k * step``. Only what happens from ``start`` to ``end`` enters.
    ``stream`` None reads every stream.
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
