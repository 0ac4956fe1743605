"""What the windows and reports of a continuous query are, apart from what they hold.

And what a query's text means by them on a time line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Instant
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query


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


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a query reports, and what.

    ``relation`` None reports additions and removals. ``period`` is the length between two
    reports by time, in units of the time line; ``triples`` the number of arrived triples.
    """

    kind: algebra.ReportKind
    relation: algebra.Relation | None
    period: int | None = None
    triples: int | None = None


@dataclass(frozen=True, slots=True)
class Lengths:
    """Reads instants (a number or ``xsd:dateTime``), and lengths by that of a second.

    Raises (every method):
        UnsupportedQuery: a length is no whole number of units of the time line.
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
        """When and what a query reports; at the end of each instant if it does not say when.

        A report that comes by itself, period or count, is of the whole result unless the query
        asks for something else: LUPOSDATE's intermediate results.
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
        """A length of time in units of the time line; it may be nothing."""
        return self.length(length) or 0 if length else 0

    def length(self, length: timedelta | int | None, part: object = None) -> int | None:
        """A length of time in units of the time line; a number stays what it counts.

        ``part`` is what of the query has it.
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
