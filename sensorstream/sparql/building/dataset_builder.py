"""Datasets, windows and reports from the parse tree.

C-SPARQL, CQELS-QL and RSP-QL have other words for them, which become the same algebra. Sources:
Barbieri et al., "C-SPARQL: a continuous query language for RDF data streams", 2010; Le-Phuoc et
al., "A native and adaptive approach for unified processing of linked streams and linked data",
2011; Dell'Aglio et al., "RSP-QL semantics", 2014.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import partialmethod
from typing import Any, Final

from lark import Token

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.events import SEVERITIES
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import NUMERIC_TYPES, parse_duration
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Variable
from sensorstream.sparql.building.pattern_builder import PatternBuilder
from sensorstream.sparql.building.term_builder import plain, rule
from sensorstream.sparql.query_printer import extent_text, part_text

_XSD_DURATIONS: Final = (
    xsd.STRING,
    "http://www.w3.org/2001/XMLSchema#duration",
    "http://www.w3.org/2001/XMLSchema#dayTimeDuration",
)
SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
UNITS: Final = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), _MILLISECOND),
    **dict.fromkeys(("S", "SEC", "SECOND", "SECONDS"), SECOND),
    **dict.fromkeys(("M", "MIN", "MINUTE", "MINUTES"), timedelta(minutes=1)),
    **dict.fromkeys(("H", "HOUR", "HOURS"), timedelta(hours=1)),
    **dict.fromkeys(("D", "DAY", "DAYS"), timedelta(days=1)),
}
"""The words for units, in capitals."""


@frozen
class Clauses:
    """The clauses between the form of a query and its WHERE, without the windows."""

    dataset: algebra.Dataset
    report: algebra.ReportClause | None
    valid_time: algebra.ValidTime | None
    alert: algebra.AlertClause | None = None


def _option(name: str, value: object = None) -> Any:
    """The rule of an option of a window, with a fixed value or the one beside its word."""

    def option(self: StreamBuilder, children: list[Any]) -> tuple[int, str, Any]:
        return self.here, name, children[0] if value is None else value

    return option


def _report(kind: algebra.ReportKind) -> Any:
    """The rule of a report that has no length."""
    return rule(lambda: algebra.ReportClause(kind))


def _periodic(unit: timedelta) -> Any:
    """The rule of a report with a period; a plain number is in this unit."""

    def report(self: StreamBuilder, children: list[Any]) -> algebra.ReportClause:
        length = self._length(self.here, children[0], unit)
        if length <= timedelta(0):
            self.fail(self.here, "the time between two reports must be greater than zero")
        period = algebra.ReportClause(algebra.ReportKind.PERIOD, length)
        return self.at(self.here, period)

    return report


_TIMESTAMP: Final = IRI("http://larkc.eu/csparql/sparql/jena/ext#timestamp")


@frozen
class Registered:
    """The content of a REGISTER clause."""

    registration: algebra.Registration
    report: algebra.ReportClause | None = None
    """``COMPUTED EVERY``."""


_OPTION_NAMES: Final = {
    "unit": "OF INDIVIDUALS",
    "instances_of": "OF",
    "step": "STEP",
    "kind": "TUMBLING",
    "origin": "STARTING AT",
    "start": "START",
    "end": "END",
}


class StreamBuilder(PatternBuilder):
    """The grammar rules that plain SPARQL does not have, and FROM, which windows extend."""

    _of_c_sparql = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._windows: dict[IRI, algebra.WindowDefinition] = {}

    # Dataset

    def clauses(self, children: list[Any]) -> Clauses:
        reports = [child for child in children if isinstance(child, algebra.ReportClause)]
        if len(reports) > 1:
            self.fail(self.here, "a query reports in one way: expected one REPORT or STREAM")
        times = [child for child in children if isinstance(child, algebra.ValidTime)]
        if len(times) > 1:
            self.fail_at(times[-1], "a query has one valid time: expected one AT or DURING")
        alerts = [child for child in children if isinstance(child, algebra.AlertClause)]
        if len(alerts) > 1:
            self.fail_at(alerts[1], "a query raises one kind of alert: expected one ALERT")
        graphs = [child for child in children if isinstance(child, tuple)]
        default = tuple(iri for kind, iri in graphs if kind == "default")
        named = tuple(iri for kind, iri in graphs if kind == "named")
        return Clauses(
            algebra.Dataset(default, named),
            reports[0] if reports else None,
            times[0] if times else None,
            alerts[0] if alerts else None,
        )

    def alert(self, children: list[Any]) -> algebra.AlertClause:
        severity, text, *key = children
        if severity.value not in SEVERITIES:
            self.fail(
                severity.start_pos,
                f"unknown severity '{severity.value}': expected {', '.join(SEVERITIES)}",
            )
        return self.at(
            self.here, algebra.AlertClause(severity.value, text, key[0] if key else None)
        )

    def valid_at(self, children: list[Any]) -> algebra.ValidTime:
        times = (self._time(each) for each in children if not isinstance(each, Token))
        return self.at(self.here, algebra.ValidTime(*times))

    valid_during = valid_at

    def _time(self, time: Literal | Variable) -> str | Variable:
        if isinstance(time, Variable):
            return time
        if time.language:
            self.fail(self.here, f"{time.n3} is not a time: leave the language out")
        return time.lexical

    from_default = plain(lambda graph: ("default", graph))
    from_named = plain(lambda *of: ("named", of[-1]))

    # Windows

    def _define(self, children: list[Any], *, in_default: bool) -> tuple[str, IRI]:
        name, *rest = (child for child in children if not isinstance(child, Token))
        definition = next(each for each in rest if isinstance(each, algebra.WindowDefinition))
        stream = [each for each in rest if each is not definition]
        if name in self._windows:
            self.fail_at(name, f"the window <{name}> is defined twice")
        self._windows[name] = replace(
            definition, name=name, stream=stream[0] if stream else None, in_default=in_default
        )
        return "window", name

    from_window = partialmethod(_define, in_default=False)
    from_default_window = partialmethod(_define, in_default=True)

    def extent(self, children: list[Any]) -> algebra.WindowDefinition:
        """A window from the content of its brackets; it has no name yet."""
        (offset, extent), *options = children
        definition = self._definition(extent, options)
        self._check(offset, definition)
        return definition

    def _definition(
        self, extent: dict[str, Any], options: list[tuple[int, str, Any]]
    ) -> algebra.WindowDefinition:
        made = dict(extent)
        counts = made.pop("counts", False) or isinstance(made.get("range"), int)
        if made.get("kind") is algebra.WindowKind.NOW and options:
            self.fail(options[0][0], "NOW is one instant: leave the options of the window out")
        for offset, option, value in options:
            if option == "instances_of" and made.get("unit") is algebra.WindowUnit.TRIPLES:
                self.fail(offset, "a window of triples has no instances: expected INDIVIDUALS")
            if option in made and made[option] != value:
                self.fail(offset, f"{_OPTION_NAMES[option]} is given twice, or does not fit here")
            made[option] = (offset, *value) if option == "step" else value
        if "instances_of" in made:
            made["unit"] = algebra.WindowUnit.INDIVIDUALS
        if made.get("kind") is algebra.WindowKind.TUMBLING:
            if "step" in made:
                self.fail(made["step"][0], "a tumbling window steps by its range: leave STEP out")
            made["step"] = made["range"]
        elif isinstance(step := made.get("step"), tuple):
            offset, number, length = step
            made["step"] = self._step(offset, (number, length), counts)
        return algebra.WindowDefinition(IRI(""), **made)

    def _step(
        self, offset: int, span: tuple[Decimal | None, timedelta | None], counts: bool
    ) -> timedelta | int:
        if not counts:
            return self._length(offset, span, SECOND)
        number, _ = span
        if number is None or number != int(number):
            self.fail(offset, "the window counts: expected a STEP that is a whole number")
        return int(number)

    def _check(self, offset: int, window: algebra.WindowDefinition) -> None:
        for what, value in (("range", window.range), ("step", window.step)):
            if value is not None and (not value or value != abs(value)):
                self.fail(offset, f"the window's {what} must be greater than zero")

    def window_range(self, children: list[Any]) -> tuple[int, dict[str, Any]]:
        word, *value = children
        match word.type:
            case "LANDMARK" | "ALL":
                extent: dict[str, Any] = {"kind": algebra.WindowKind.LANDMARK}
                if value:
                    extent |= {"unit": algebra.WindowUnit[value[0].type], "counts": True}
            case "NOW":
                extent = {"kind": algebra.WindowKind.NOW}
            case "RANGE" if isinstance(value[0], Token):
                extent = {"range": int(value[1]), "unit": algebra.WindowUnit.TRIPLES}
            case "RANGE":
                extent = {"range": self._length(self.here, value[0], SECOND)}
            case "TRIPLES":
                extent = {"range": int(value[0]), "unit": algebra.WindowUnit.TRIPLES}
            case _:
                extent = {"range": int(value[0]), "unit": algebra.WindowUnit.INDIVIDUALS}
        return self.here, extent

    def past_range(self, children: list[Any]) -> tuple[int, dict[str, Any]]:
        since, *until = (
            self._length(self.here, child, SECOND)
            for child in children
            if not isinstance(child, Token)
        )
        delay = until[0] if until else timedelta(0)
        if delay >= since:
            self.fail(self.here, "the window ends before it begins: write the earlier first")
        return self.here, {"range": since - delay, "delay": delay or None}

    def ago(self, children: list[Any]) -> tuple[Decimal | None, timedelta | None]:
        first, *rest = children
        if first.type == "MINUS_SIGN":
            return rest[0]  # type: ignore[no-any-return]
        if not first.startswith("-"):
            self.fail_at(first, "a window holds what has happened: write NOW-, not NOW+")
        return self._spanning(self.here, first[1:], rest)

    def unknown_range(self, children: list[Any]) -> Any:
        *_, word, number = children
        self.fail_at(
            word,
            f"'{word}' is nothing that a window counts: write TRIPLES {number}, or INDIVIDUALS "
            f"{number} for the triples of so many subjects",
        )

    of_individuals = _option("unit", algebra.WindowUnit.INDIVIDUALS)
    tumbling = _option("kind", algebra.WindowKind.TUMBLING)
    step = _option("step")
    of_class = _option("instances_of")
    starting_at = _option("origin")
    start = _option("start")
    end = _option("end")

    def named_window(self, children: list[Any]) -> Pattern:
        name, group = children
        if isinstance(name, IRI) and name not in self._windows:
            self.fail_at(
                name,
                f"the window <{name}> is not defined: expected FROM NAMED WINDOW <{name}> ON …",
            )
        return self.operation(self.here, algebra.Window(name, group.whole))

    def typed_window(self, children: list[Any]) -> Pattern:
        *parts, group = children
        offset, extent = next(part for part in parts if isinstance(part[1], dict))
        bounds = [part for part in parts if not isinstance(part[1], dict)]
        definition = self._definition(extent, bounds)
        self._check(offset, definition)
        return self.operation(self.here, algebra.Window(self.named(definition), group.whole))

    def named(self, definition: algebra.WindowDefinition) -> IRI:
        """The name of a window that is unnamed in the text; equal windows share it."""
        number = 0
        while True:
            number += 1
            name = IRI(f"urn:sensorstream:window:{number}")
            named = replace(definition, name=name)
            if self._windows.setdefault(name, named) == named:
                return name

    def window_type(self, children: list[Any]) -> tuple[int, dict[str, Any]]:
        *of_class, word, value = children
        extent: dict[str, Any] = {}
        if of_class:
            extent = {"unit": algebra.WindowUnit.INDIVIDUALS, "instances_of": of_class[0]}
        if word.type == "SLIDINGDURATION":
            extent["range"] = self._length(self.here, value, _MILLISECOND)
        else:
            extent["range"] = int(value)
        return self.here, extent

    # Lengths and times

    def span(self, children: list[Any]) -> tuple[Decimal | None, timedelta | None]:
        written, *datatype = children
        if isinstance(written, Token) and written.type == "DURATION":
            lengths = [self._written(self.here, each.value) for each in children]
            return None, sum(lengths, timedelta(0))
        if not isinstance(written, Token):
            if datatype and datatype[0] not in _XSD_DURATIONS:
                self.fail(self.here, f"<{datatype[0]}> is not a datatype of durations")
            return None, self._duration(self.here, written)
        return self._spanning(self.here, written.value, datatype)

    def _spanning(
        self, offset: int, number: str, unit: list[Token]
    ) -> tuple[Decimal | None, timedelta | None]:
        """The number and length of a span; without a unit each clause reads the number itself."""
        if not unit:
            return Decimal(number), None
        word = unit[0]
        found = UNITS.get(word.upper())
        if found is None:
            self.fail_at(word, f"'{word}' is no unit of time: expected ms, s, m, h or d")
        return None, self._length(offset, (Decimal(number), None), found)

    def _written(self, offset: int, text: str) -> timedelta:
        if text.startswith("P"):
            return self._duration(offset, text)
        digits = text.rstrip("nmshd")
        number, unit = Decimal(digits), text[len(digits) :]
        if unit == "ns":
            number, unit = number / 1_000_000, "ms"
        return self._length(offset, (number, None), UNITS[unit.upper()])

    def _duration(self, offset: int, text: str) -> timedelta:
        try:
            return parse_duration(text)
        except TermError as error:
            self.fail(offset, error.message)

    def _length(
        self, offset: int, span: tuple[Decimal | None, timedelta | None], unit: timedelta
    ) -> timedelta:
        number, length = span
        if length is not None:
            return length
        assert number is not None, "a span is a number or a length"
        microseconds = number * (unit // _MICROSECOND)
        if microseconds != int(microseconds):
            self.fail(offset, f"{number} is too fine a time: expected whole microseconds")
        try:
            return timedelta(microseconds=int(microseconds))
        except OverflowError:
            self.fail(offset, f"{number} is too long a time")

    def instant(self, children: list[Literal]) -> Literal:
        literal = children[0]
        if literal.datatype not in NUMERIC_TYPES and literal.datatype != xsd.DATE_TIME:
            self.fail(self.here, f"{literal} is not a time: expected a number or an xsd:dateTime")
        try:
            _ = literal.value
        except TermError as error:
            self.fail(self.here, error.message)
        return literal

    # Reports

    report_milliseconds = _periodic(_MILLISECOND)
    report_every = computed = _periodic(SECOND)

    sliding_duration = plain(lambda length: length)

    def report_triples(self, children: list[Token]) -> algebra.ReportClause:
        every = next(int(child.value) for child in children if child.type == "INTEGER")
        if every < 1:
            self.fail(self.here, "the number of triples between two reports must be at least 1")
        return self.operation(self.here, algebra.ReportClause(algebra.ReportKind.TRIPLES, every))

    report_change = _report(algebra.ReportKind.CHANGE)
    report_close = _report(algebra.ReportKind.WINDOW_CLOSE)
    report_instant = _report(algebra.ReportKind.INSTANT)

    # Other languages

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

    def stream_window(self, children: list[Any]) -> Pattern:
        stream, definition, group = children
        if isinstance(stream, Variable):
            text = extent_text(definition)
            self.fail(
                self.here,
                f"STREAM {stream}: a window reads one stream, or all: write "
                f"FROM NAMED WINDOW <w> [{text}] before WHERE, and WINDOW <w> {{ … }} here",
            )
        name = self.named(replace(definition, stream=stream))
        return self.operation(self.here, algebra.Window(name, group.whole))

    def stream_of_events(self, children: list[Any]) -> Pattern:
        stream, group = children
        if isinstance(stream, Variable):
            self.fail_at(
                stream,
                f"STREAM {stream}: name the stream, or leave STREAM and its braces out: patterns "
                "in time match what happens in all streams",
            )
        return self.operation(self.here, algebra.Stream(stream, group.whole))

    # Registrations

    def register(self, children: list[Any]) -> Registered:
        word, name, *how = children
        relation = None if word.type == "QUERY" else algebra.Relation(word.type)
        return self._registered(name, relation, how)

    def register_stream(self, children: list[Any]) -> Registered:
        name, *how = children
        return self._registered(name, algebra.Relation.RSTREAM, how)

    def _registered(
        self, name: Any, relation: algebra.Relation | None, how: list[Any]
    ) -> Registered:
        of = name if isinstance(name, IRI) else str(name)
        registration = self.operation(self.here, algebra.Registration(of, relation))
        if len(how) > 1:
            self.fail_at(how[1], "a query reports in one way: expected one COMPUTED EVERY")
        return Registered(registration, how[0] if how else None)

    def regime(self, children: list[IRI]) -> Any:
        self.fail(
            self.here,
            f"UNDER ENTAILMENT REGIME {children[0].n3}: what is inferred is decided for all "
            "queries together, by reasoning.profile in the settings or --profile of "
            "'sensorstream run': leave the clause out",
        )

    to_stream = rule(lambda word: algebra.Relation(word.type), by_value=True)

    # Forms of other languages

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
        """The content and schedule of a query's reports; QueryError if two clauses state it."""
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
        # A C-SPARQL query reports its whole result whenever a window closes.
        if registration is not None and registration.relation is None:
            registration = replace(registration, relation=algebra.Relation.RSTREAM)
        if report is None and all(each.step is not None for each in self._windows.values()):
            report = algebra.ReportClause(algebra.ReportKind.WINDOW_CLOSE)
        return registration, report


def _instead_of_timestamp(call: algebra.FunctionCall) -> str:
    told = "f:timestamp: a pattern in time knows when things happen: write "
    if len(call.arguments) != 3:
        return f"{told}getSTARTTIME() in a query with SEQ"
    triple = " ".join(map(part_text, call.arguments))
    return (
        f"{told}{{ {triple} BIND(getSTARTTIME() AS ?time) }} without a window, or "
        "{ … } SEQ { … } for what comes first"
    )
