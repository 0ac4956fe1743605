from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sensorstream.errors import QueryError
from sensorstream.history.asking import answer_formats
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Row, Solutions
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

NAMES = ("s", "größe")
TEXTS = st.text(max_size=8) | st.sampled_from(['a"b', "a\\b", "\ta\r\nb\n", "<&>]]>", "", " x "])
LITERALS = st.one_of(
    TEXTS.map(Literal),
    TEXTS.map(lambda text: Literal(text, language="en-GB")),
    TEXTS.map(lambda text: Literal(text, "urn:datatype")),
    st.integers().map(lambda number: Literal(str(number), xsd.INTEGER)),
)
TERMS: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from([IRI("http://example.org/a"), IRI("urn:ü"), BlankNode("_:b1")]), LITERALS
)
ROWS = st.lists(st.tuples(st.none() | TERMS, st.none() | TERMS), max_size=6)
AGAIN = {
    answer_formats.JSON: ox.QueryResultsFormat.JSON,
    answer_formats.XML: ox.QueryResultsFormat.XML,
    answer_formats.TSV: ox.QueryResultsFormat.TSV,
}


def written(answer: Answer, media_type: str) -> bytes:
    out = io.BytesIO()
    answer_formats.writers(answer)[media_type](answer, out)
    return out.getvalue()


def read(text: bytes, media_type: str) -> tuple[list[str], list[Row]]:
    """What Oxigraph reads."""
    found: Any = ox.parse_query_results(text, AGAIN[media_type])
    names = [each.value for each in found.variables]
    rows = [
        tuple(None if row[n] is None else from_oxigraph(row[n]) for n in names) for row in found
    ]
    return names, rows


def solutions(rows: Sequence[Row]) -> Solutions:
    return Solutions(NAMES, iter(rows))


@pytest.mark.parametrize("media_type", [answer_formats.JSON, answer_formats.TSV])
@given(rows=ROWS)
def test_another_implementation_reads_the_solutions(media_type: str, rows: list[Row]) -> None:
    assert read(written(solutions(rows), media_type), media_type) == (list(NAMES), rows)


@given(rows=ROWS)
def test_the_solutions_are_xml_where_xml_has_their_characters(rows: list[Row]) -> None:
    values = "".join(answer_formats._plain(term) for row in rows for term in row)
    if not re.fullmatch("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*", values):
        with pytest.raises(QueryError, match="which XML cannot hold: ask for JSON"):
            written(solutions(rows), answer_formats.XML)
        return
    root = etree.fromstring(written(solutions(rows), answer_formats.XML))
    assert [each.get("name") for each in root.iter("{*}variable")] == list(NAMES)
    assert [solution_in(each) for each in root.iter("{*}result")] == rows


def solution_in(result: Any) -> Row:
    found: dict[str, Term] = {}
    for binding in result:
        (value,) = binding
        text, kind = value.text or "", etree.QName(value).localname
        if kind == "uri":
            found[binding.get("name")] = IRI(text)
        elif kind == "bnode":
            found[binding.get("name")] = BlankNode(f"_:{text}")
        else:
            language = value.get("{http://www.w3.org/XML/1998/namespace}lang")
            found[binding.get("name")] = Literal(text, value.get("datatype", xsd.STRING), language)
    return tuple(map(found.get, NAMES))


@pytest.mark.parametrize("media_type", list(AGAIN))
def test_many_rows_are_one_document(media_type: str) -> None:
    rows: list[Row] = [(Literal(str(n), xsd.INTEGER), None) for n in range(10_000)]
    assert read(written(solutions(rows), media_type), media_type)[1] == rows


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_json_or_xml(value: bool) -> None:
    assert set(answer_formats.BOOLEANS) < set(answer_formats.SOLUTIONS)
    for media_type in (answer_formats.JSON, answer_formats.XML):
        found = ox.parse_query_results(written(value, media_type), AGAIN[media_type])
        assert isinstance(found, ox.QueryBoolean)
        assert bool(found) is value


def test_csv_has_the_values_alone() -> None:
    rows: list[Row] = [(IRI("urn:a"), Literal('say "hi",\nyou')), (None, Literal("1", xsd.INTEGER))]
    assert written(solutions(rows), answer_formats.CSV) == (
        's,größe\r\nurn:a,"say ""hi"",\nyou"\r\n,1\r\n'.encode()
    )


@pytest.mark.parametrize("media_type", [answer_formats.ARROW, answer_formats.PARQUET])
def test_arrow_has_each_term_with_its_number(media_type: str) -> None:
    rows: list[Row] = [
        (IRI("urn:a"), Literal("x", language="en")),
        (BlankNode("_:b"), Literal("2.50", xsd.DECIMAL)),
        (None, Literal("no number", xsd.INTEGER)),
    ]
    text = io.BytesIO(written(solutions(rows), media_type))
    table = (
        pa.ipc.open_stream(text).read_all()
        if media_type == answer_formats.ARROW
        else pq.read_table(text)
    )
    assert table.column_names == list(NAMES)
    first, second = (table[name].to_pylist() for name in NAMES)
    plain = {"datatype": None, "language": None, "number": None}
    assert first == [
        {"type": "uri", "value": "urn:a", **plain},
        {"type": "bnode", "value": "b", **plain},
        None,
    ]
    assert [each["value"] for each in second] == ["x", "2.50", "no number"]
    assert [each["number"] for each in second] == [None, 2.5, None]
    assert [each["language"] for each in second] == ["en", None, None]
    assert second[1]["datatype"] == xsd.DECIMAL


@pytest.mark.parametrize("media_type", [answer_formats.ARROW, answer_formats.PARQUET])
def test_no_solution_is_a_table_without_rows(media_type: str) -> None:
    text = io.BytesIO(written(solutions([]), media_type))
    table = (
        pa.ipc.open_stream(text).read_all()
        if media_type == answer_formats.ARROW
        else pq.read_table(text)
    )
    assert (table.num_rows, table.column_names) == (0, list(NAMES))


@pytest.mark.parametrize(
    ("media_type", "form"),
    [
        (answer_formats.TURTLE, ox.RdfFormat.TURTLE),
        ("application/n-triples", ox.RdfFormat.N_TRIPLES),
        ("application/rdf+xml", ox.RdfFormat.RDF_XML),
        ("application/ld+json", ox.RdfFormat.JSON_LD),
        ("application/trig", ox.RdfFormat.TRIG),
        ("application/n-quads", ox.RdfFormat.N_QUADS),
    ],
)
def test_a_graph_is_read_again(media_type: str, form: ox.RdfFormat) -> None:
    triple = (IRI("urn:a"), IRI("http://example.org/p"), Literal("ü\n", language="de"))
    text = written(GraphAnswer(iter([triple])), media_type)
    (quad,) = ox.parse(text, form)
    assert tuple(map(from_oxigraph, (quad.subject, quad.predicate, quad.object))) == triple
