"""What a query's texts mean on a time line: windows, periods and instants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Instant
from sensorstream.sparql.algebra import (
    Query,
    Relation,
    ReportKind,
    WindowDefinition,
    WindowKind,
    WindowUnit,
)
from sensorstream.streams.continuous_query import Schedule
from sensorstream.streams.shape import WindowShape


@dataclass(frozen=True, slots=True)
class Lengths:
    """Reads instants (a number or ``xsd:dateTime``), and lengths by that of a second.

    Raises (every method):
        UnsupportedQuery: a length is no whole number of units of the time line.
    """

    instant: Callable[[Literal], Instant]
    second: int

    def shape(self, definition: WindowDefinition) -> WindowShape:
        """The window that a definition means."""
        span, step = (self.length(each, definition) for each in (definition.range, definition.step))
        by_time = not isinstance(definition.range, int)
        if definition.kind is WindowKind.LANDMARK:
            span, by_time = None, not isinstance(definition.step, int)
        elif definition.kind is WindowKind.TUMBLING:
            step = span
        elif definition.kind is WindowKind.NOW:
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
            definition.unit is WindowUnit.INDIVIDUALS,
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
        report = query.report
        if report is None:
            return Schedule(ReportKind.INSTANT, relation)
        match report.kind:
            case ReportKind.PERIOD:
                period = self.length(report.every, report)
                return Schedule(report.kind, relation or Relation.RSTREAM, period=period)
            case ReportKind.TRIPLES:
                assert isinstance(report.every, int)
                return Schedule(report.kind, relation or Relation.RSTREAM, triples=report.every)
        return Schedule(report.kind, relation)

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
