"""Shapes in force on an engine: the continuous queries that they are compiled to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import QueryError, ShapesError
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.shapes.shape_compiler import ShapeQuery, compile_shapes
from sensorstream.shapes.shape_graph import read_shapes
from sensorstream.streams.query_report import RowOperation


class LiveShapes:
    """The shapes of some files on an engine, and the lines that tell their violations."""

    def __init__(self, engine: Engine, files: Sequence[Path]) -> None:
        """Start the queries of the shapes.

        Raises:
            ShapesError: a shape is wrong, or cannot be compiled.
        """
        self._queries: Mapping[str, ShapeQuery] = {}
        self._first: list[tuple[ShapeQuery, tuple[str, ...], Row]] = []
        if not files:
            return
        self._queries = {each.name: each for each in compile_shapes(read_shapes(files))}
        for each in self._queries.values():
            try:
                running = engine.register(each.name, each.text)
            except QueryError as error:
                raise ShapesError(f"{each.shape}: it cannot be compiled: {error}") from None
            self._first += ((each, running.variables, row) for row in running.result())

    def begun(self) -> Iterator[dict[str, Any]]:
        """The violations that hold before anything has come; they have no time."""
        for query, variables, row in self._first:
            yield {**query.violation(variables, row).data(), "op": "+", "time": None}

    def take(
        self, outcome: Outcome, written: Callable[[Instant], object]
    ) -> Iterator[dict[str, Any]]:
        """Take the violations that begin and end out of an outcome, as lines in order of time;
        ``written`` writes a time.
        """
        if not self._queries:
            return
        for each in (*outcome.released, outcome):
            reports = [told.report for told in each.reports if told.report.query in self._queries]
            each.reports = tuple(e for e in each.reports if e.report.query not in self._queries)
            each.alerts = tuple(e for e in each.alerts if e.rule not in self._queries)
            for report in reports:
                query = self._queries[report.query]
                sign = RowOperation(report.operation).value
                for row in report.rows:
                    told = query.violation(report.variables, row).data()
                    yield {**told, "op": sign, "time": written(report.time)}
