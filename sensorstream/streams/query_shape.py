"""The windows and reports of a continuous query, without their content, on a time line."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Instant
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query


@frozen
class StreamTick:
    """The moments at which windows change, and the unit of change; equal ticks share content.

    With ``step`` None a window changes with every event; else at ``origin + k * step`` if
    ``by_time``, or after that number of triples or individuals. ``alone`` is the shape of a window
    of individuals, whose content is not shared. Events are seen ``delay`` later.
    """

    stream: IRI | None
    step: int | None
    by_time: bool
    origin: Instant
    start: Instant | None
    end: Instant | None
    alone: WindowShape | None = None
    delay: int = 0


@frozen
class WindowShape:
    """A window, in units of the time line; equal shapes share one window.

    ``range`` None is a landmark window: all since the start. ``by_time``: ``range`` and ``step``
    are lengths of time, else numbers of triples or ``individuals``. Individuals enter and leave
    with all their triples; with ``instances_of`` only its instances enter. The steps are at
    ``origin + k * step``. Only events from ``start`` to ``end`` enter. ``stream`` None reads every
    stream. With a ``delay`` it holds its content of that long ago.
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
        """The window whose past it holds, computed at the same moments; None: there is none.

        There is none without a delay, or if the delay is not a multiple of the step.
        """
        if not self.delay or (self.step is not None and self.delay % self.step):
            return None
        return replace(self, delay=0)

    @property
    def tick(self) -> StreamTick:
        """The moments at which its content changes."""
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


@frozen
class Schedule:
    """The moments and the content of the reports of a query.

    ``relation`` None reports additions and removals. ``period`` is the length between two reports
    by time, in units of the time line; ``triples`` the number of arrived triples.
    """

    kind: algebra.ReportKind
    relation: algebra.Relation | None
    period: int | None = None
    triples: int | None = None


@frozen
class Lengths:
    """A reader of instants (a number or ``xsd:dateTime``), and of lengths of time.

    Every method raises UnsupportedQuery if a length is no whole number of units of the time line.
    """

    instant: Callable[[Literal], Instant]
    second: int

    def shape(self, definition: algebra.WindowDefinition) -> WindowShape:
        """The window that a definition means."""
        span, step = (self.length(each, definition) for each in (definition.range, definition.step))
        by_time = not isinstance(definition.range, int)
        if definition.kind is algebra.WindowKind.LANDMARK:
            span, by_time = None, not isinstance(definition.step, int)
        elif definition.kind is algebra.WindowKind.TUMBLING:
            step = span
        elif definition.kind is algebra.WindowKind.NOW:
            span = 1
        origin, start, end = (
            None if each is None else self.instant(each)
            for each in (definition.origin, definition.start, definition.end)
        )
        return WindowShape(
            definition.stream,
            by_time,
            span,
            step,
            definition.unit is algebra.WindowUnit.INDIVIDUALS,
            definition.instances_of,
            origin or 0,
            start,
            end,
            self.length(definition.delay, definition) or 0,
        )

    def schedule(self, query: Query) -> Schedule:
        """The schedule of a query's reports; by default at the end of each instant.

        A report by period or count is of the whole result unless the query asks for something else:
        LUPOSDATE's intermediate results.
        """
        relation = query.registration.relation if query.registration is not None else None
        report, kinds = query.report, algebra.ReportKind
        if report is None:
            return Schedule(kinds.INSTANT, relation)
        if report.kind not in (kinds.PERIOD, kinds.TRIPLES):
            return Schedule(report.kind, relation)
        every, relation = self.length(report.every, report), relation or algebra.Relation.RSTREAM
        if report.kind is kinds.PERIOD:
            return Schedule(report.kind, relation, period=every)
        return Schedule(report.kind, relation, triples=every)

    def exact(self, length: timedelta) -> int:
        """A length of time in units of the time line; 0 is allowed."""
        return self.length(length) or 0 if length else 0

    def length(self, length: timedelta | int | None, part: object = None) -> int | None:
        """A length of time in units of the time line; a number is returned as it is.

        ``part`` is the part of the query that has the length, for the error.
        """
        if not isinstance(length, timedelta):
            return length
        units = length * self.second / timedelta(seconds=1)
        if units < 1 or units != int(units):
            raise UnsupportedQuery(
                f"{length} is no whole number of units of the time line: expected "
                + ("whole seconds" if self.second == 1 else "at least a microsecond"),
                part=part,
            )
        return int(units)
