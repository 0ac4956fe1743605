"""Queries to text, with their windows and reports; updates to text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import groupby

from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Operation, Pattern, Query, Update, Variable
from sensorstream.sparql.printing.patterns import (
    Modified,
    content,
    is_sub_select,
    modified,
    select_text,
    where_lines,
)
from sensorstream.sparql.printing.term_text import braces, node_text, triple_lines


def query_text(query: Query) -> str:
    """The text of a query, over several lines."""
    return "\n".join(_lines(query)) + "\n"


def _lines(query: Query) -> Iterator[str]:
    form = query.form
    if query.base is not None:
        yield f"BASE {query.base.n3}"
    if query.registration is not None:
        yield registration_text(query.registration)
    clauses = [*dataset_lines(query.dataset)]
    if query.report is not None:
        clauses.append(report_text(query.report))
    if query.alert is not None:
        clauses.append(alert_text(query.alert))
    if query.valid_time is not None:
        clauses.append(valid_time_text(query.valid_time))
    if isinstance(form, algebra.Select):
        parts = modified(form.pattern)
        yield select_text(parts)
    else:
        parts = _parts(form.pattern)
        if isinstance(form, algebra.Construct):
            yield from braces("CONSTRUCT", triple_lines(form.template))
        elif isinstance(form, algebra.Ask):
            yield "ASK"
        else:
            yield f"DESCRIBE {' '.join(map(node_text, form.terms)) or '*'}"
    yield from clauses
    if not (isinstance(form, algebra.Describe) and parts == Modified(algebra.BGP())):
        yield from where_lines(parts)


def _parts(pattern: Pattern) -> Modified:
    return Modified(pattern) if is_sub_select(pattern) else modified(pattern)


def dataset_lines(dataset: algebra.Dataset, word: str = "FROM") -> Iterator[str]:
    """The dataset clauses; ``word`` is FROM, or USING in an update."""
    yield from (f"{word} {iri.n3}" for iri in dataset.default)
    yield from (f"{word} NAMED {iri.n3}" for iri in dataset.named)
    yield from map(window_text, dataset.windows)


def window_text(window: algebra.WindowDefinition) -> str:
    """``FROM NAMED WINDOW <name> ON <stream> [RANGE PT10S STEP PT5S]``, or without NAMED."""
    named = "" if window.in_default else "NAMED "
    on = "" if window.stream is None else f" ON {window.stream.n3}"
    return f"FROM {named}WINDOW {window.name.n3}{on} [{extent_text(window)}]"


def extent_text(window: algebra.WindowDefinition) -> str:
    """The text between the brackets of a window's definition."""
    if window.kind is algebra.WindowKind.NOW:
        return "NOW"
    words: list[str] = []
    counts = isinstance(window.range, int) or isinstance(window.step, int)
    if isinstance(window.range, timedelta) and window.delay is not None:
        since = duration_text(window.range + window.delay)
        words.append(f"FROM NOW-{since} TO NOW-{duration_text(window.delay)}")
    elif isinstance(window.range, timedelta):
        words += ("RANGE", duration_text(window.range))
    elif isinstance(window.range, int):
        words += (window.unit.name, str(window.range))
    else:
        words += ("LANDMARK", window.unit.name) if counts else ("LANDMARK",)
    if window.instances_of is not None:
        words += ("OF", window.instances_of.n3)
    elif window.unit is algebra.WindowUnit.INDIVIDUALS and not counts:
        words += ("OF", "INDIVIDUALS")
    if window.kind is algebra.WindowKind.TUMBLING:
        words.append("TUMBLING")
    elif window.step is not None:
        words += ("STEP", _amount(window.step))
    for name, at in (
        ("STARTING AT", window.origin),
        ("START", window.start),
        ("END", window.end),
    ):
        if at is not None:
            words += (name, at.n3)
    return " ".join(words)


def _amount(amount: timedelta | int) -> str:
    return str(amount) if isinstance(amount, int) else duration_text(amount)


def duration_text(length: timedelta) -> str:
    """An ``xsd:dayTimeDuration`` in seconds, such as ``PT90S``."""
    microseconds = length // timedelta(microseconds=1)
    return f"PT{Decimal(microseconds).scaleb(-6).normalize():f}S"


def valid_time_text(time: algebra.ValidTime) -> str:
    """``AT "start"`` or ``DURING "start"/"end"``."""
    start = _time_text(time.start)
    return f"AT {start}" if time.end is None else f"DURING {start}/{_time_text(time.end)}"


def _time_text(time: str | Variable) -> str:
    return str(time) if isinstance(time, Variable) else Literal(time).n3


def alert_text(alert: algebra.AlertClause) -> str:
    """``ALERT severity "text" KEY "key"``."""
    key = "" if alert.key is None else f" KEY {Literal(alert.key).n3}"
    return f"ALERT {alert.severity} {Literal(alert.text).n3}{key}"


def registration_text(registration: algebra.Registration) -> str:
    """``REGISTER RSTREAM <name> AS``."""
    word = "QUERY" if registration.relation is None else registration.relation.value
    name = registration.name
    return f"REGISTER {word} {name.n3 if isinstance(name, IRI) else name} AS"


def report_text(report: algebra.ReportClause) -> str:
    """``REPORT …``."""
    match report.kind:
        case algebra.ReportKind.PERIOD:
            assert isinstance(report.every, timedelta), "a period is a length of time"
            return f"REPORT EVERY {duration_text(report.every)}"
        case algebra.ReportKind.TRIPLES:
            return f"REPORT EVERY {report.every} TRIPLES"
        case algebra.ReportKind.INSTANT:
            return "REPORT EVERY INSTANT"
        case _:
            return f"REPORT ON {report.kind.value}"


def update_text(update: Update) -> str:
    """The text of a request, over several lines."""
    return " ;\n".join(map(operation_text, update.operations)) + "\n"


def operation_text(operation: Operation) -> str:
    """The text of one operation."""
    return "\n".join(_operation_lines(operation))


def _operation_lines(operation: Operation) -> Iterator[str]:
    match operation:
        case algebra.InsertData(quads):
            yield from braces("INSERT DATA", _quads(quads))
        case algebra.DeleteData(quads):
            yield from braces("DELETE DATA", _quads(quads))
        case algebra.DeleteWhere(quads):
            yield from braces("DELETE WHERE", _quads(quads))
        case algebra.Modify():
            yield from _modify(operation)
        case algebra.Load(source, target, silent):
            into = "" if target is None else f" INTO GRAPH {target.n3}"
            yield f"LOAD{_silent(silent)} {source.n3}{into}"
        case algebra.Clear(graphs, silent):
            yield f"CLEAR{_silent(silent)} {_graphs(graphs)}"
        case algebra.Drop(graphs, silent):
            yield f"DROP{_silent(silent)} {_graphs(graphs)}"
        case algebra.Create(graph, silent):
            yield f"CREATE{_silent(silent)} GRAPH {graph.n3}"
        case algebra.Transfer(verb, source_graph, target_graph, silent):
            yield f"{verb}{_silent(silent)} {_graph(source_graph)} TO {_graph(target_graph)}"


def _modify(operation: algebra.Modify) -> Iterator[str]:
    if operation.base is not None:
        yield f"BASE {operation.base.n3}"
    if operation.graph is not None:
        yield f"WITH {operation.graph.n3}"
    if operation.delete is not None:
        yield from braces("DELETE", _quads(operation.delete))
    if operation.insert is not None:
        yield from braces("INSERT", _quads(operation.insert))
    yield from dataset_lines(operation.using, "USING")
    yield from braces("WHERE", content(operation.pattern))


def _quads(quads: tuple[algebra.Quad, ...]) -> Iterator[str]:
    for graph, members in groupby(quads, key=lambda quad: quad.graph):
        lines = triple_lines(quad.triple for quad in members)
        if graph is None:
            yield from lines
        else:
            yield from braces(f"GRAPH {node_text(graph)}", lines)


def _silent(silent: bool) -> str:
    return " SILENT" if silent else ""


def _graphs(graphs: IRI | algebra.GraphSet) -> str:
    return graphs.value if isinstance(graphs, algebra.GraphSet) else f"GRAPH {graphs.n3}"


def _graph(graph: IRI | None) -> str:
    return "DEFAULT" if graph is None else f"GRAPH {graph.n3}"
