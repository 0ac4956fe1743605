"""Queries to text, with their windows and reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Pattern, Query, Variable
from sensorstream.sparql.printing.patterns import (
    Modified,
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
