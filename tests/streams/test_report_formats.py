from __future__ import annotations

import csv
import io
import json
from typing import Any, get_args

import pytest
import rdflib
import rdflib.compare
from rdflib import PROV, XSD, URIRef

from sensorstream.errors import QueryError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.webhook_definition import Format
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.report_data import report_data, report_lines
from sensorstream.streams.report_formats import JSON, REPORT_FORMATS, check_format, format_of

A, B = IRI("http://example.org/a"), BlankNode("_:b")
TEXTS = (Literal('say "å",\n'), Literal("hej", language="da"), Literal("5", xsd.INTEGER))
ROWS = [(A, text) for text in TEXTS] + [(B, None), (None, None)]
SS = rdflib.Namespace("urn:sensorstream:mapping#")
NAME = URIRef("urn:sensorstream:report:m17-3")
# rdflib's reader of JSON-LD uses its own deprecated class.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def data_of(report: Report, time: object = None) -> dict[str, Any]:
    return {"id": "m17-3", **report_data(report, lambda each: time or each)}


def written(name: str, report: Report, time: object = None) -> str:
    data = data_of(report, time)
    assert format_of(name, data) is REPORT_FORMATS[name]
    return REPORT_FORMATS[name].write(data, report.variables)


@pytest.mark.parametrize("name", ["trig", "jsonld"])
@pytest.mark.parametrize(
    ("time", "datatype"), [("2014-08-01T08:00:00Z", XSD.dateTime), (7, XSD.integer)]
)
def test_a_graph_is_a_named_graph_with_its_time(name: str, time: Any, datatype: URIRef) -> None:
    triples = [(A, A, text) for text in TEXTS] + [(B, A, A)]
    report = Report("crowd", 7, RowOperation.REMOVED, triples=triples)
    found = rdflib.Dataset()
    text = written(name, report, time)
    found.parse(data=text, format={"trig": "trig", "jsonld": "json-ld"}[name])
    about = {(p, o) for s, p, o in found.default_graph if s == NAME}
    assert about == {
        (PROV.generatedAtTime, rdflib.Literal(str(time), datatype=datatype)),
        (SS.query, rdflib.Literal("crowd")),
        (SS.op, rdflib.Literal("-")),
    }
    graph = found.graph(NAME)
    plain = rdflib.Graph().parse(data="".join(f"{s.n3} {p.n3} {o.n3} .\n" for s, p, o in triples))
    assert rdflib.compare.isomorphic(rdflib.Graph() + graph, plain)


def test_the_graph_of_a_pattern_in_time_has_its_interval_and_its_rule() -> None:
    report = Report(
        "fire", 9, RowOperation.ADDED, triples=[(A, A, A)], intervals=[(5, 8)], rule="smoke"
    )
    found = rdflib.Dataset()
    found.parse(data=written("trig", report), format="trig")
    told = {p: o.toPython() for s, p, o in found.default_graph if s == NAME}
    assert (told[SS.start], told[SS.end]) == (5, 8)
    assert (told[SS.rule], SS.query in told) == ("smoke", False)


def test_rows_are_csv_after_their_time_and_operation() -> None:
    report = Report("q", 3, RowOperation.ADDED, ("x", "naïve"), ROWS)
    head, *rows = csv.reader(io.StringIO(written("csv", report), newline=""))
    assert head == ["@time", "@op", "x", "naïve"]
    assert rows == [
        *(["3", "+", str(A), text.lexical] for text in TEXTS),
        ["3", "+", "_:b", ""],
        ["3", "+", "", ""],
    ]
    report = Report("q", 3, RowOperation.ADDED, ("x",), [(A,)], intervals=[(1, 3)])
    text = written("csv", report, None)
    assert text == f"@time,@op,@start,@end,x\r\n3,+,1,3,{A}\r\n"


@pytest.mark.parametrize(
    "report",
    [
        Report("q", 3, RowOperation.ADDED, ("x", "y"), ROWS),
        Report("q", 3, RowOperation.ADDED, ("x", "y"), ROWS[:1], intervals=[(1, 3)]),
        Report("q", 3, RowOperation.ADDED, triples=[(A, A, A)]),
        Report("q", 3, RowOperation.RESULT, answer=True),
    ],
)
def test_lines_are_those_of_run(report: Report) -> None:
    lines = [json.loads(line) for line in written("ndjson", report).splitlines()]
    assert lines == [{"id": "m17-3", **line} for line in report_lines(report, lambda time: time)]


def test_receivers_name_the_formats_of_the_table() -> None:
    assert {*get_args(Format)} - {"cloudevents", "alertmanager"} == {*REPORT_FORMATS} - {"json"}


@pytest.mark.parametrize(
    ("form", "fitting"),
    [
        ("SELECT", {"json", "ndjson", "csv"}),
        ("ASK", {"json", "ndjson"}),
        ("CONSTRUCT", {"json", "ndjson", "jsonld", "trig"}),
        ("DESCRIBE", {"json", "ndjson", "jsonld", "trig"}),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(form: str, fitting: set[str]) -> None:
    for name in REPORT_FORMATS:
        if name in fitting:
            check_format(name, "q", form)
        else:
            with pytest.raises(QueryError, match=rf"the reports of {form} cannot be .* {name}: "):
                check_format(name, "q", form)
    check_format("cloudevents", "q", form)


def test_a_report_that_does_not_fit_is_json() -> None:
    rows = data_of(Report("q", 3, RowOperation.ADDED, ("x", "y"), ROWS))
    assert format_of("trig", rows) is format_of("cloudevents", rows) is JSON
    answer = data_of(Report("q", 3, RowOperation.RESULT, answer=True))
    assert format_of("csv", answer) is JSON
