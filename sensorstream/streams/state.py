"""Continuous queries at rest: what must survive a restart; results are derived again."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.streams.shape import WindowShape


@dataclass(frozen=True, slots=True)
class WindowState:
    """One window: what it holds, and what waits for its next step, oldest first."""

    closes: Instant | None
    computed: int
    arrived: int
    content: tuple[tuple[Instant, tuple[Triple, ...]], ...]
    waiting: tuple[tuple[Instant, tuple[Triple, ...]], ...]


@dataclass(frozen=True, slots=True)
class QueryState:
    """One query: what it has not reported yet, and where it stands in its schedule."""

    due: Instant | None
    reports: int
    last_report: Instant | None
    added: tuple[Row, ...]
    removed: tuple[Row, ...]
    arrived: int
    computed: int
    answer: bool | None
    waits: bool = False
    """Whether it reports at the end of the present instant."""


@dataclass(frozen=True, slots=True)
class ProcessorState:
    """All queries, by name, with their texts, in the order they were registered; all windows."""

    now: Instant | None
    counts: tuple[int, int, int]
    """Events, triples, late events."""
    queries: tuple[tuple[str, str, QueryState], ...] = ()
    windows: tuple[tuple[WindowShape, WindowState], ...] = ()
