"""Saved state of continuous queries; results are not saved but derived again."""

from __future__ import annotations

from sensorstream.kb.occurrences import StreamElement
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.network.intervals.interval_state import KeptRow
from sensorstream.network.intervals.occurrence_source import OpenOccurrences
from sensorstream.network.operators.delayed_groups import LaterChange
from sensorstream.network.rows import Row
from sensorstream.network.selection.running_rules import KeptEvent
from sensorstream.streams.query_shape import StreamTick


@frozen
class StreamState:
    """A stream: the content of its windows, and the events that wait for a step, oldest first."""

    closes: Instant | None
    computed: int
    arrived: int
    content: tuple[StreamElement, ...]
    waiting: tuple[StreamElement, ...]


@frozen
class QueryState:
    """A query: its unreported changes, and its place in its schedule."""

    due: Instant | None
    reports: int
    last_report: Instant | None
    added: tuple[Row, ...]
    removed: tuple[Row, ...]
    arrived: int
    computed: int
    answer: bool | None
    operator: tuple[Row, ...] | None = None
    """The rows that its operator cannot derive again."""
    pending: bool = False
    """Whether it may report at the end of the present instant."""
    kept: tuple[KeptRow, ...] = ()
    """The rows that the operators of a pattern in time remember."""
    unreported: tuple[KeptRow, ...] = ()
    """Solutions of a pattern in time that are not reported yet."""
    events: tuple[KeptEvent, ...] = ()
    """The events that rules over time remember."""
    latest: tuple[KeptRow, ...] = ()
    """The last solutions of a pattern in time that are reported."""
    since: Instant | None = None
    """The first moment whose events rules over time have taken; None: all events."""
    layout: str = ""
    """The layout of its rows (:func:`.layout_of`)."""
    delays: tuple[tuple[LaterChange, ...], ...] = ()
    """The changes that its delayed groups have not given out yet, by group."""


@frozen
class ProcessorState:
    """The queries with their texts, in the order of registration, and all streams."""

    now: Instant | None
    counts: tuple[int, int, int]
    """Numbers of events, triples and late events."""
    queries: tuple[tuple[str, str, QueryState], ...] = ()
    streams: tuple[tuple[StreamTick, StreamState], ...] = ()
    waiting: tuple[OpenOccurrences, ...] = ()
    """Occurrences that patterns in time get at the end of their interval."""
    moment: tuple[OpenOccurrences, ...] = ()
    """Occurrences of the present moment of rules over time."""
