"""The shapes of a deployment: at its door, and as continuous queries on an engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Overrun, QueryError, RefusedByShapes, ShapesError, ViolatedShapes
from sensorstream.mapping.mapping_plan import MappedMessage
from sensorstream.model import rdf, rdfs
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row
from sensorstream.processes.fork_once import run_apart
from sensorstream.settings.settings import Settings
from sensorstream.shapes.shape_compiler import ShapeQuery, compile_shapes
from sensorstream.shapes.shape_graph import SH, ShapeGraph, read_shapes
from sensorstream.shapes.validation import ValidationReport, Validator
from sensorstream.streams.query_report import RowOperation

if TYPE_CHECKING:
    from sensorstream.app.control.query_control import Queries


_LOG: Final = logging.getLogger(__name__)
NAMES: Final = "shape-"
"""The beginning of the names of their queries."""
_APART: Final = 500
"""Statements from which on a message is validated in a fork, with a limit of time."""


@frozen
class DeployedShapes:
    """The shapes that the settings name; ``queries`` are those of live shapes.

    ``above`` are the classes above each class by the ontology, as statements.
    """

    graph: ShapeGraph
    validator: Validator
    queries: tuple[ShapeQuery, ...]
    policy: str
    seconds: float
    above: Mapping[Term, Sequence[Triple]]

    def door(self, mapped: MappedMessage) -> MappedMessage:
        """Validate the statements of a message, with the classes above its own.

        Raises:
            ViolatedShapes: a result is a violation, and the policy is not to note it.
            Overrun: it takes longer than ``limits.mapping_seconds``.
        """
        said = {triple: None for event in mapped.events for triple in event.triples}
        for triple in said_above(said, self.above):
            said[triple] = None
        report = self.report(tuple(said), self.seconds, "mapping", apart=len(said) > _APART)
        if not report.violations:
            return mapped
        told = f"violates shapes: {report.text()}"
        grave = any(each.severity == f"{SH}Violation" for each in report.violations)
        if self.policy == "note" or not grave:
            return replace(mapped, notes=(*mapped.notes, told))
        raise RefusedByShapes(told) if self.policy == "reject" else ViolatedShapes(report.turtle)

    def report(
        self, triples: Sequence[Triple], seconds: float, limit: str, *, apart: bool = True
    ) -> ValidationReport:
        """Validate statements, ``apart`` in a fork.

        Raises:
            Overrun: that takes longer than the seconds of the ``limit``.
        """
        if not apart:
            return self.validator.report(triples)
        setting = f"limits.{limit}_seconds"
        work = partial(self.validator.report, triples)
        return run_apart(work, seconds, what="the validation by shapes", setting=setting)


def said_above(
    said: Iterable[Triple], above: Mapping[Term, Sequence[Triple]]
) -> tuple[Triple, ...]:
    """The statements on classes above those that statements are about."""
    found: dict[Triple, None] = {}
    waiting = [o for _, p, o in said if p == rdf.TYPE]
    for each in waiting:
        for triple in above.get(each, ()):
            if triple not in found:
                found[triple] = None
                waiting.append(triple[2])
    return tuple(found)


def deployed_shapes(
    settings: Settings, ontology: Iterable[Triple], graph: ShapeGraph | None = None
) -> DeployedShapes | None:
    """Read and compile the shapes of the settings; None: there are none. ``graph`` counts instead
    of the files.

    Raises:
        ShapesError: a shape is wrong, or cannot be compiled.
        MissingExtra: pySHACL is not installed.
    """
    shapes = settings.shapes
    if not shapes.files:
        return None
    graph = graph or read_shapes(shapes.files)
    above: dict[Term, list[Triple]] = {}
    for triple in ontology:
        if triple[1] == rdfs.SUBCLASS_OF:
            above.setdefault(triple[0], []).append(triple)
    return DeployedShapes(
        graph,
        Validator(graph),
        compile_shapes(graph) if shapes.live else (),
        shapes.at_the_door,
        settings.limits.mapping_seconds,
        above,
    )


def put_live(queries: Queries, wanted: Iterable[ShapeQuery]) -> None:
    """Start the queries of shapes that do not run as they are, and end those of other shapes. One
    that takes more than the limits to begin is logged: the server does without it.
    """
    texts = {each.name: each.text for each in wanted}
    for name, text in texts.items():
        try:
            queries.put(name, text, "shapes.files", found=True)
        except (Overrun, QueryError) as error:
            _LOG.error("the shapes' query %s does not run: %s", name, error)
    for view in queries.views():
        if view.name.startswith(NAMES) and view.name not in texts:
            queries.remove(view.name, "shapes.files")


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
