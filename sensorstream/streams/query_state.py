"""Continuous queries at rest: what must survive a restart; results are derived again."""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.kb.occurrences import StreamElement
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_state import KeptRow
from sensorstream.network.intervals.occurrence_source import OpenOccurrences
from sensorstream.network.operators.delayed_groups import LaterChange
from sensorstream.network.rows import Row
from sensorstream.network.selection.running_rules import KeptEvent
from sensorstream.streams.query_shape import StreamTick


@dataclass(frozen=True, slots=True)
class StreamState:
    """One stream: what its windows hold, and what waits for their next step, oldest first."""

    closes: Instant | None
    computed: int
    arrived: int
    content: tuple[StreamElement, ...]
    waiting: tuple[StreamElement, ...]


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
    operator: tuple[Row, ...] | None = None
    """What its operator cannot derive again."""
    pending: bool = False
    """Whether it may report at the end of the present instant."""
    kept: tuple[KeptRow, ...] = ()
    """What the operators of a pattern in time remember."""
    unreported: tuple[KeptRow, ...] = ()
    """Solutions of a pattern in time that are not reported yet."""
    events: tuple[KeptEvent, ...] = ()
    """What rules over time remember."""
    latest: tuple[KeptRow, ...] = ()
    """The last of those that are."""
    since: Instant | None = None
    """The first moment that rules over time have taken events of; None: all there are."""
    layout: str = ""
    """What its rows are of (:mod:`.layout`)."""
    delays: tuple[tuple[LaterChange, ...], ...] = ()
    """What each of its delayed groups has still to give out."""


@dataclass(frozen=True, slots=True)
class ProcessorState:
    """All queries, by name, with their texts, in the order they were registered; all streams."""

    now: Instant | None
    counts: tuple[int, int, int]
    """Events, triples, late events."""
    queries: tuple[tuple[str, str, QueryState], ...] = ()
    streams: tuple[tuple[StreamTick, StreamState], ...] = ()
    waiting: tuple[OpenOccurrences, ...] = ()
    """What patterns in time get when its interval is over."""
    moment: tuple[OpenOccurrences, ...] = ()
    """What the present moment of rules over time has said so far."""
