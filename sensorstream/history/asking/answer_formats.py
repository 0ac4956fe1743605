"""Writers of answers to a file in batches: the W3C's formats, Arrow and Parquet.

Sources: SPARQL 1.1 Query Results JSON Format; SPARQL Query Results XML Format; SPARQL 1.1 Query
Results CSV and TSV Formats.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import IO, TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from sensorstream.errors import QueryError, TermError
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Row, Solutions
from sensorstream.installation import require
from sensorstream.kb.graph_text import syntax_of
from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.model.rdf_formats import RDF_FORMATS
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.streams.report_data import bindings, term_data

if TYPE_CHECKING:
    import pyarrow

Writer = Callable[[Answer, IO[bytes]], None]

JSON: Final = "application/sparql-results+json"
XML: Final = "application/sparql-results+xml"
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
ARROW: Final = "application/vnd.apache.arrow.stream"
PARQUET: Final = "application/vnd.apache.parquet"
TURTLE: Final = "text/turtle"

_BATCH: Final = 4096
_RESULTS: Final = "http://www.w3.org/2005/sparql-results#"
# XML 1.0 cannot contain these characters (production 2).
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _json(answer: Answer, out: IO[bytes]) -> None:
    if not isinstance(answer, Solutions):
        out.write(json.dumps({"head": {}, "boolean": answer}).encode())
        return
    head = json.dumps({"vars": list(answer.variables)}, ensure_ascii=False)
    out.write(f'{{"head": {head}, "results": {{"bindings": ['.encode())
    before = ""
    for batch in _batches(answer.rows):
        rows = (bindings(answer.variables, row) for row in batch)
        text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        out.write(_utf8(before + text))
        before = ",\n"
    out.write(b"]}}\n")


def _xml(answer: Answer, out: IO[bytes]) -> None:
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="{_RESULTS}">\n'.encode())
    if isinstance(answer, Solutions):
        heads = "".join(f"<variable name={quoteattr(name)}/>" for name in answer.variables)
        out.write(f"<head>{heads}</head>\n<results>\n".encode())
        names = [f"<binding name={quoteattr(name)}>" for name in answer.variables]
        for batch in _batches(answer.rows):
            out.write(_utf8("".join(_xml_row(names, row) for row in batch)))
        out.write(b"</results>\n")
    else:
        out.write(f"<head/>\n<boolean>{str(answer).lower()}</boolean>\n".encode())
    out.write(b"</sparql>\n")


def _xml_row(names: Sequence[str], row: Row) -> str:
    cells = (
        f"{name}{_xml_term(term)}</binding>"
        for name, term in zip(names, row, strict=True)
        if term is not None
    )
    return f"<result>{''.join(cells)}</result>\n"


def _xml_term(term: Term) -> str:
    data = term_data(term)
    if bad := _NO_XML.search(data["value"]):
        raise QueryError(
            f"a value has the character {bad.group()!r}, which XML cannot hold: ask for JSON"
        )
    # A parser reads a bare carriage return as a line feed.
    value, kind = escape(data.pop("value"), {"\r": "&#13;"}), data.pop("type")
    attributes = "".join(f" {name}={quoteattr(text)}" for name, text in data.items())
    return f"<{kind}{attributes}>{value}</{kind}>"


def _csv(answer: Answer, out: IO[bytes]) -> None:
    solutions = _solutions(answer)
    rows = (([_plain(term) for term in row] for row in batch) for batch in _batches(solutions.rows))
    out.writelines(csv_batches(solutions.variables, rows, "\r\n"))


def csv_batches(
    names: Sequence[str], batches: Iterable[Iterable[Sequence[object]]], line_end: str
) -> Iterator[bytes]:
    """Rows as CSV (RFC 4180): the first batch has the head before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow(names)
    for batch in batches:
        writer.writerows(batch)
        yield _utf8(text.getvalue())
        text.seek(0)
        text.truncate()
    if head := text.getvalue():
        yield _utf8(head)


def _tsv(answer: Answer, out: IO[bytes]) -> None:
    solutions = _solutions(answer)
    out.write(("\t".join(f"?{name}" for name in solutions.variables) + "\n").encode())
    for batch in _batches(solutions.rows):
        # As in Turtle: N-Triples' form, with line feeds and tabs escaped (section 4).
        cells = (["" if t is None else t.n3.replace("\t", "\\t") for t in row] for row in batch)
        out.write(_utf8("".join("\t".join(row) + "\n" for row in cells)))


def _frames(form: str, module: str, writer: str) -> Writer:
    """A writer of record batches: PyArrow's class or function ``writer`` of a module."""

    def write(answer: Answer, out: IO[bytes]) -> None:
        require("frames", f"an answer in {form}")
        solutions = _solutions(answer)
        schema = _schema(solutions.variables)
        with getattr(import_module(module), writer)(out, schema) as told:
            for batch in _batches(solutions.rows):
                told.write_batch(_record_batch(batch, schema))

    return write


def _schema(variables: Iterable[str]) -> pyarrow.Schema:
    """A column for each variable, with a term as the JSON format has it, and its number."""
    import pyarrow as pa

    text = pa.string()
    fields = [("type", text), ("value", text), ("datatype", text), ("language", text)]
    term = pa.struct([*fields, ("number", pa.float64())])
    return pa.schema([pa.field(name, term) for name in variables])


def _record_batch(rows: Sequence[Row], schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [
        pa.array([None if term is None else _fields(term) for term in column], type=field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)


def _fields(term: Term) -> dict[str, str | float | None]:
    if isinstance(term, IRI):
        return {"type": "uri", "value": _plain(term)}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term[2:]}
    return {
        "type": "literal",
        "value": _plain(term),
        "datatype": term.datatype,
        "language": term.language,
        "number": _number(term),
    }


def _number(literal: Literal) -> float | None:
    if literal.datatype not in NUMERIC_TYPES:
        return None
    try:
        return float(literal.value)  # type: ignore[arg-type]
    except (TermError, OverflowError):
        return None


def _graph(media_type: str) -> Writer:
    form = syntax_of(media_type)

    def write(answer: Answer, out: IO[bytes]) -> None:
        assert isinstance(answer, GraphAnswer), "only a graph is written as triples"
        triples = (
            ox.Triple(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o))
            for s, p, o in answer.triples
        )
        ox.serialize(triples, out, format=form)

    return write


SOLUTIONS: Final[Mapping[str, Writer]] = {
    JSON: _json,
    XML: _xml,
    CSV: _csv,
    TSV: _tsv,
    ARROW: _frames("Arrow", "pyarrow.ipc", "new_stream"),
    PARQUET: _frames("Parquet", "pyarrow.parquet", "ParquetWriter"),
    "application/json": _json,
    "application/xml": _xml,
    "text/xml": _xml,
}
"""The writers of an answer to SELECT by media type; the later names are for general clients."""
BOOLEANS: Final[Mapping[str, Writer]] = {
    name: SOLUTIONS[name] for name in (JSON, XML, "application/json", "application/xml", "text/xml")
}
GRAPHS: Final[Mapping[str, Writer]] = {
    **{each: _graph(each) for each, _ in RDF_FORMATS.values()},
    "application/xml": _graph(RDF_FORMATS["rdfxml"][0]),
}


def writers(answer: Answer) -> Mapping[str, Writer]:
    """The possible formats of an answer by media type, the preferred ones first."""
    match answer:
        case Solutions():
            return SOLUTIONS
        case GraphAnswer():
            return GRAPHS
        case _:
            return BOOLEANS


def write(answer: Answer, wanted: Sequence[str], out: IO[bytes]) -> str:
    """Write an answer in the first suitable format of ``wanted``, and return that format.

    Raises QueryError if none suits.
    """
    offered = writers(answer)
    for media_type in wanted:
        if media_type in offered:
            offered[media_type](answer, out)
            return media_type
    raise QueryError(
        f"the answer cannot be written as {' or '.join(wanted)}: expected {', '.join(offered)}"
    )


def _solutions(answer: Answer) -> Solutions:
    assert isinstance(answer, Solutions), "only solutions have columns"
    return answer


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _plain(term: Term | None) -> str:
    """A term in CSV, without marks of its kind; lone surrogates are replaced."""
    if term is None:
        return ""
    return term.lexical if isinstance(term, Literal) else str(term)


def _utf8(text: str) -> bytes:
    # A SPARQL escape can make a lone surrogate; UTF-8 cannot hold it.
    return text.encode("utf-8", "replace")
