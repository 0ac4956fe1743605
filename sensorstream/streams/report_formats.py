"""The formats of reports for receivers: one table for event streams, webhooks and outputs.

A graph is one with a name, and the default graph says when it was made. Source: W3C's community
group for RDF stream processing, RSP-QL, abstract syntax: timestamped graphs; PROV-O.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyoxigraph as ox

from sensorstream.errors import QueryError
from sensorstream.kb.graph_text import syntax_of
from sensorstream.model import xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.rdf_formats import RDF_FORMATS
from sensorstream.model.vocabulary import RESERVED, SENSORSTREAM

_PROV: Final = "http://www.w3.org/ns/prov#"
_CONTENTS: Final = {"SELECT": "bindings", "ASK": "boolean"}
"""The member of a report that has its content, by the form of its query; of others it is graph."""
_UNBOUND: Final = {"type": "", "value": ""}


@frozen
class ReportFormat:
    """A format of reports with some ``contents``; ``write`` makes the text of a report as
    :func:`.report_data` has it, and of its variables.
    """

    media_type: str
    contents: tuple[str, ...]
    write: Callable[[Mapping[str, Any], Sequence[str]], str]


def _json(data: Mapping[str, Any], _: Sequence[str]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _lines(data: Mapping[str, Any], variables: Sequence[str]) -> str:
    """A line for each row, or one for the whole graph or answer."""
    if "bindings" not in data:
        return f"{_json(data, variables)}\n"
    head = {key: value for key, value in data.items() if key not in ("bindings", "intervals")}
    rows = ({**head, **when, "bindings": row} for when, row in _rows(data))
    return "".join(f"{_json(row, variables)}\n" for row in rows)


def _rows(data: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """The rows, each with its interval if it is one of a pattern in time."""
    for place, row in enumerate(data["bindings"]):
        yield ({"interval": data["intervals"][place]} if "intervals" in data else {}), row


def _csv(data: Mapping[str, Any], variables: Sequence[str]) -> str:
    """The values as SPARQL's CSV has them, after the time and the operation of the report."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["@time", "@op", *["@start", "@end"] * ("intervals" in data), *variables])
    for when, row in _rows(data):
        cells = [row.get(name, _UNBOUND) for name in variables]
        values = ["_:" * (each["type"] == "bnode") + each["value"] for each in cells]
        writer.writerow([data["time"], data["op"], *when.get("interval", ()), *values])
    return text.getvalue()


def _graph(media_type: str, data: Mapping[str, Any], _: Sequence[str]) -> str:
    name = ox.NamedNode(f"{RESERVED}report:{data['id']}")
    told = {f"{SENSORSTREAM}{key}": data.get(key) for key in ("query", "rule", "op", "truncated")}
    times = [data["time"], *data.get("interval", ())]
    keys = (f"{_PROV}generatedAtTime", f"{SENSORSTREAM}start", f"{SENSORSTREAM}end")
    literals = [(key, ox.Literal(value)) for key, value in told.items() if value is not None]
    moment = ox.NamedNode(xsd.DATE_TIME)
    for key, time in zip(keys, times, strict=False):
        plain = isinstance(time, int)
        literals.append((key, ox.Literal(time) if plain else ox.Literal(time, datatype=moment)))
    quads = [ox.Quad(name, ox.NamedNode(key), value) for key, value in literals]
    graph = data["graph"].encode("utf-8", "replace")
    for each in ox.parse(graph, format=ox.RdfFormat.N_TRIPLES, lenient=True):
        quads.append(ox.Quad(each.subject, each.predicate, each.object, name))
    prefixes = {"prov": _PROV, "ss": SENSORSTREAM}
    out = io.BytesIO()
    ox.serialize(quads, out, format=syntax_of(media_type), prefixes=prefixes)
    return out.getvalue().decode()


_ALL: Final = ("bindings", "boolean", "graph")
JSON: Final = ReportFormat("application/json", _ALL, _json)
REPORT_FORMATS: Final[Mapping[str, ReportFormat]] = {
    "json": JSON,
    "ndjson": ReportFormat("application/x-ndjson", _ALL, _lines),
    "csv": ReportFormat("text/csv", ("bindings",), _csv),
    **{
        name: ReportFormat(media_type, ("graph",), partial(_graph, media_type))
        for name in ("jsonld", "trig")
        for media_type, _ in [RDF_FORMATS[name]]
    },
}
"""The formats by the names that receivers use."""


def format_of(name: str, data: Mapping[str, Any]) -> ReportFormat:
    """The format with a name if a report can be written in it, else JSON."""
    found = REPORT_FORMATS.get(name, JSON)
    return JSON if data.keys().isdisjoint(found.contents) else found


def check_format(name: str, query: str, form: str) -> None:
    """Raise QueryError unless reports of a query of a form can be written in a format."""
    content = _CONTENTS.get(form, "graph")
    fitting = [each for each, told in REPORT_FORMATS.items() if content in told.contents]
    if name in REPORT_FORMATS and name not in fitting:
        raise QueryError(
            f"the reports of {form} cannot be written as {name}: expected {', '.join(fitting)} "
            f"for '{query}'"
        )
