"""Reports as plain data for JSON: lines, server-sent events and webhooks look the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.streams.query_report import Report

_AT_ONCE: Final = 1000
Written: TypeAlias = Callable[[Instant], object]
_json: Final = json.JSONEncoder(ensure_ascii=False).encode


def report_lines(report: Report, written: Written) -> Iterator[dict[str, Any]]:
    """A report as lines: one for each row, or one for the whole graph or answer.

    ``written`` writes a time. Rows of a pattern in time carry their interval.
    """
    if not report.rows:
        if report.answer is not None or report.triples is not None:
            yield report_data(report, written)
        return
    head = _head(report, written)
    for place, row in enumerate(report.rows):
        found = bindings(report.variables, row)
        yield {**head, **_when(report, place, written), "bindings": found}


def report_text(report: Report, written: Written) -> Iterator[str]:
    """The lines of :func:`report_lines` as JSON text, many lines at a time.

    A term that occurs in many rows is written once.
    """
    if not report.rows or report.intervals is not None:
        yield from (f"{_json(line)}\n" for line in report_lines(report, written))
        return
    head = _head(report, written)
    begin = _json(head)[:-1] + ', "bindings": {'
    columns = [_Column(name) for name in report.variables]
    for first in range(0, len(report.rows), _AT_ONCE):
        texts = [
            ", ".join([c[term] for c, term in zip(columns, row, strict=True) if term is not None])
            for row in report.rows[first : first + _AT_ONCE]
        ]
        yield "".join([f"{begin}{text}}}}}\n" for text in texts])


class _Column(dict[Term, str]):
    """The terms of a variable as they stand in a JSON object, with its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = _json(name)

    def __missing__(self, term: Term) -> str:
        cells = [f'"{key}": {_json(value)}' for key, value in term_data(term).items()]
        text = self[term] = f"{self._name}: {{{', '.join(cells)}}}"
        return text


def report_data(report: Report, written: Written) -> dict[str, Any]:
    """A report as one object: like a line, but ``bindings`` is a list, one for each row.

    For a pattern in time, ``intervals`` are those of the rows, ``interval`` that of the graph.
    """
    head = _head(report, written)
    if report.answer is not None:
        return {**head, "boolean": report.answer}
    if report.triples is not None:
        return {**head, **_when(report, 0, written), "graph": graph_text(report.triples)}
    if report.intervals is not None:
        head["intervals"] = [[written(start), written(end)] for start, end in report.intervals]
    return {**head, "bindings": [bindings(report.variables, row) for row in report.rows]}


def _head(report: Report, written: Written) -> dict[str, Any]:
    return {
        **({"query": report.query} if report.rule is None else {"rule": report.rule}),
        "time": written(report.time),
        "op": report.operation.value,
    }


def _when(report: Report, place: int, written: Written) -> dict[str, Any]:
    """The interval of a row, if it is one of a pattern in time."""
    if report.intervals is None:
        return {}
    return {"interval": [written(each) for each in report.intervals[place]]}


def bindings(variables: Iterable[str], row: Iterable[Term | None]) -> dict[str, dict[str, str]]:
    """A row as the SPARQL 1.1 Query Results JSON Format writes it (section 3.2.1)."""
    pairs: Iterable[tuple[str, Term | None]] = zip(variables, row, strict=True)
    return {name: term_data(term) for name, term in pairs if term is not None}


def graph_text(triples: Iterable[Triple]) -> str:
    """Triples as N-Triples."""
    return "".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in triples)


def term_data(term: Term) -> dict[str, str]:
    """A term as the SPARQL 1.1 Query Results JSON Format writes it (section 3.2.2)."""
    if isinstance(term, IRI):
        return {"type": "uri", "value": str(term)}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term[2:]}
    data = {"type": "literal", "value": term.lexical}
    if term.language is not None:
        data["xml:lang"] = term.language
    elif term.datatype != xsd.STRING:
        data["datatype"] = str(term.datatype)
    return data
