"""Clauses of C-SPARQL, CQELS-QL and RSP-QL that have other words for windows and reports.

What they mean becomes the same algebra. Sources: Barbieri et al., "C-SPARQL: a continuous query
language for RDF data streams", 2010; Le-Phuoc et al., "A native and adaptive approach for unified
processing of linked streams and linked data", 2011; Dell'Aglio et al., "RSP-QL semantics", 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lark import Token, v_args
from lark.tree import Meta

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Variable
from sensorstream.sparql.building.streams import SECOND, StreamBuilder
from sensorstream.sparql.building.term_builder import NO_PREFIXES
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.printing import expression_text
from sensorstream.sparql.printing.query_forms import extent_text

_TIMESTAMP: Final = IRI("http://larkc.eu/csparql/sparql/jena/ext#timestamp")


@dataclass(frozen=True, slots=True)
class Registered:
    """What a REGISTER clause says."""

    registration: algebra.Registration
    report: algebra.ReportClause | None = None
    """``COMPUTED EVERY``."""


class DialectBuilder(StreamBuilder):
    """The grammar rules that other stream languages add."""

    def __init__(
        self, source: Source, base: str | None, prefixes: Mapping[str, str] = NO_PREFIXES
    ) -> None:
        super().__init__(source, base, prefixes)
        self._of_c_sparql = False

    def from_stream(self, children: list[Any]) -> tuple[str, IRI]:
        stream, definition = (child for child in children if not isinstance(child, Token))
        name = self.named(replace(definition, stream=stream, in_default=True))
        self._of_c_sparql = True
        return "window", name

    def from_named_stream(self, children: list[Any]) -> tuple[str, IRI]:
        stream, definition = (child for child in children if not isinstance(child, Token))
        self.fail_at(
            stream,
            "FROM NAMED STREAM: a stream is read through a window: write "
            f"FROM NAMED WINDOW {stream.n3} ON {stream.n3} [{extent_text(definition)}], "
            f"and WINDOW {stream.n3} {{ … }} instead of GRAPH {stream.n3} {{ … }}",
        )

    @v_args(meta=True)
    def stream_window(self, meta: Meta, children: list[Any]) -> Pattern:
        stream, definition, group = children
        if isinstance(stream, Variable):
            text = extent_text(definition)
            self.fail(
                meta.start_pos,
                f"STREAM {stream}: a window reads one stream, or all: write "
                f"FROM NAMED WINDOW <w> [{text}] before WHERE, and WINDOW <w> {{ … }} here",
            )
        name = self.named(replace(definition, stream=stream))
        return self.operation(meta.start_pos, algebra.Window(name, group.whole))

    @v_args(meta=True)
    def stream_of_events(self, meta: Meta, children: list[Any]) -> Pattern:
        stream, group = children
        if isinstance(stream, Variable):
            self.fail_at(
                stream,
                f"STREAM {stream}: name the stream, or leave STREAM and its braces out: patterns "
                "in time match what happens in all streams",
            )
        return self.operation(meta.start_pos, algebra.Stream(stream, group.whole))

    # Registrations

    @v_args(meta=True)
    def register(self, meta: Meta, children: list[Any]) -> Registered:
        word, name, *how = children
        relation = None if word.type == "QUERY" else algebra.Relation(word.type)
        return self._registered(meta.start_pos, name, relation, how)

    @v_args(meta=True)
    def register_stream(self, meta: Meta, children: list[Any]) -> Registered:
        name, *how = children
        return self._registered(meta.start_pos, name, algebra.Relation.RSTREAM, how)

    def _registered(
        self, offset: int, name: Any, relation: algebra.Relation | None, how: list[Any]
    ) -> Registered:
        registration = self.operation(
            offset, algebra.Registration(name if isinstance(name, IRI) else str(name), relation)
        )
        if len(how) > 1:
            self.fail_at(how[1], "a query reports in one way: expected one COMPUTED EVERY")
        return Registered(registration, how[0] if how else None)

    @v_args(meta=True)
    def computed(self, meta: Meta, children: list[Any]) -> algebra.ReportClause:
        return self.at(meta.start_pos, self.periodic(meta.start_pos, children[0], SECOND))

    @v_args(meta=True)
    def regime(self, meta: Meta, children: list[IRI]) -> Any:
        self.fail(
            meta.start_pos,
            f"UNDER ENTAILMENT REGIME {children[0].n3}: what is inferred is decided for all "
            "queries together, by reasoning.profile in the settings or --profile of "
            "'sensorstream run': leave the clause out",
        )

    @v_args(meta=True)
    def to_stream(self, meta: Meta, children: list[Token]) -> algebra.Relation:
        return self.at(meta.start_pos, algebra.Relation(children[0].type))

    # What has another form here

    def function_call(self, children: list[Any]) -> Any:
        function, (_, arguments) = children
        if function == _TIMESTAMP:
            self.fail_at(function, _instead_of_timestamp(algebra.FunctionCall(function, arguments)))
        return super().function_call(children)

    # Reports

    def reporting(
        self,
        registered: Registered | None,
        relation: algebra.Relation | None,
        report: algebra.ReportClause | None,
    ) -> tuple[algebra.Registration | None, algebra.ReportClause | None]:
        """What a query reports, and when.

        Raises:
            QueryError: two clauses say it.
        """
        registration = None if registered is None else registered.registration
        if relation is not None:
            if registration is None:
                told = f"{relation.value} is of what is registered: write"
                self.fail_at(relation, f"{told} REGISTER {relation.value} name AS first")
            registration = replace(registration, relation=relation)
        computed = None if registered is None else registered.report
        if computed is not None and report is not None:
            self.fail_at(computed, "a query reports in one way: leave COMPUTED EVERY or REPORT out")
        report = report or computed
        if not self._of_c_sparql:
            return registration, report
        # A C-SPARQL query gives its whole result whenever a window closes.
        if registration is not None and registration.relation is None:
            registration = replace(registration, relation=algebra.Relation.RSTREAM)
        if report is None and all(each.step is not None for each in self._windows.values()):
            report = algebra.ReportClause(algebra.ReportKind.WINDOW_CLOSE)
        return registration, report


def _instead_of_timestamp(call: algebra.FunctionCall) -> str:
    told = "f:timestamp: a pattern in time knows when things happen: write "
    if len(call.arguments) != 3:
        return f"{told}getSTARTTIME() in a query with SEQ"
    triple = " ".join(map(expression_text, call.arguments))
    return (
        f"{told}{{ {triple} BIND(getSTARTTIME() AS ?time) }} without a window, or "
        "{ … } SEQ { … } for what comes first"
    )
