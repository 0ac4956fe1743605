"""A view of the window for users."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from sensorstream.engine.engine import Engine
from sensorstream.kb.graph import Origin
from sensorstream.model.terms import IRI, Subject
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.settings import WindowSettings


@dataclass(frozen=True, slots=True)
class IndividualView:
    """One individual: its classes, asserted and inferred, and when it came."""

    name: Subject
    types: tuple[str, ...]
    entered: Instant
    time: Instant
    statements: int
    message: str


@dataclass(frozen=True, slots=True)
class WindowView:
    """The window's definition, its totals and one page of its individuals, oldest first."""

    kind: str
    unit: str
    elements: str
    size: str
    step: str
    start: str
    partition: str
    partitions: int
    total: int
    pending: int
    held: int
    statements: int
    inferred: int
    now: Instant | None
    individuals: tuple[IndividualView, ...]


def view_window(
    engine: Engine, settings: WindowSettings, limit: int, offset: int = 0
) -> WindowView:
    """The view of the window; the engine must not change meanwhile."""
    kb, window = engine.kb, engine.window
    steps = {"sliding": settings.step or "1", "tumbling": settings.size}
    first = heapq.nsmallest(offset + limit, window, key=lambda each: (each.time, each.arrival))
    return WindowView(
        kind=settings.kind,
        unit=settings.unit,
        elements=window.spec.elements.value,
        size="" if settings.kind == "landmark" else settings.size,
        step=steps.get(settings.kind, ""),
        start=settings.start,
        partition=settings.partition,
        partitions=window.partitions,
        total=len(window),
        pending=window.pending,
        held=engine.held,
        statements=kb.size(Origin.WINDOW),
        inferred=kb.size(Origin.INFERRED),
        now=window.now,
        individuals=tuple(
            IndividualView(
                name=each.name,
                types=tuple(
                    str(value)
                    for _, _, value in kb.match(each.name, RDF_TYPE, None)
                    if isinstance(value, IRI)
                ),
                entered=each.entered,
                time=each.time,
                statements=len(each.statements),
                message=each.message,
            )
            for each in first[offset:]
        ),
    )
