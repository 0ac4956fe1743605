from __future__ import annotations

from datetime import timedelta

import pytest

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.algebra import (
    BGP,
    Join,
    Project,
    Registration,
    Relation,
    ReportClause,
    ReportKind,
    Select,
    TriplePattern,
    Variable,
    Window,
    WindowDefinition,
    WindowKind,
    WindowUnit,
)
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

W, STREAM = IRI("w"), IRI("s")


def window(extent: str) -> WindowDefinition:
    query = parse_query(f"SELECT * FROM NAMED WINDOW <w> ON <s> [{extent}] {{ }}")
    assert parse_query(query_text(query)) == query
    (definition,) = query.dataset.windows
    assert (definition.name, definition.stream) == (W, STREAM)
    return definition


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("extent", "meant"),
    [
        ("RANGE PT10S STEP PT5S", {"range": seconds(10), "step": seconds(5)}),
        ("RANGE 10m STEP 1s", {"range": seconds(600), "step": seconds(1)}),
        ("RANGE 3", {"range": seconds(3)}),
        ("range 0.5 step 250ms", {"range": seconds(0.5), "step": seconds(0.25)}),
        ('RANGE "P1DT1H"^^<http://www.w3.org/2001/XMLSchema#duration>', {"range": seconds(90000)}),
        (
            "RANGE PT10S TUMBLING",
            {"kind": WindowKind.TUMBLING, "range": seconds(10), "step": seconds(10)},
        ),
        ("TRIPLES 100 STEP 10", {"range": 100, "step": 10}),
        ("INDIVIDUALS 9", {"range": 9, "unit": WindowUnit.INDIVIDUALS}),
        (
            "INDIVIDUALS 9 OF <C> STEP 3",
            {"range": 9, "unit": WindowUnit.INDIVIDUALS, "instances_of": IRI("C"), "step": 3},
        ),
        ("RANGE 1h OF INDIVIDUALS", {"range": seconds(3600), "unit": WindowUnit.INDIVIDUALS}),
        (
            "RANGE 1h OF <C>",
            {"range": seconds(3600), "unit": WindowUnit.INDIVIDUALS, "instances_of": IRI("C")},
        ),
        ("LANDMARK STEP 1d", {"kind": WindowKind.LANDMARK, "step": seconds(86400)}),
        ("LANDMARK TRIPLES STEP 5", {"kind": WindowKind.LANDMARK, "step": 5}),
        ("LANDMARK OF INDIVIDUALS", {"kind": WindowKind.LANDMARK, "unit": WindowUnit.INDIVIDUALS}),
        (
            "RANGE 2s STEP 2s STARTING AT 1 START 5 END "
            '"2014-08-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
            {
                "range": seconds(2),
                "step": seconds(2),
                "origin": Literal("1", xsd.INTEGER),
                "start": Literal("5", xsd.INTEGER),
                "end": Literal("2014-08-01T00:00:00Z", xsd.DATE_TIME),
            },
        ),
    ],
)
def test_a_window_is_what_its_brackets_say(extent: str, meant: dict[str, object]) -> None:
    assert window(extent) == WindowDefinition(W, STREAM, **meant)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("STREAM INTERMEDIATERESULT DURATION 1000", ReportClause(ReportKind.PERIOD, seconds(1))),
        ("STREAM INTERMEDIATERESULT DURATION PT2S", ReportClause(ReportKind.PERIOD, seconds(2))),
        ("STREAM INTERMEDIATERESULT TRIPLES 10", ReportClause(ReportKind.TRIPLES, 10)),
        ("REPORT EVERY 10 TRIPLES", ReportClause(ReportKind.TRIPLES, 10)),
        ("REPORT EVERY 10", ReportClause(ReportKind.PERIOD, seconds(10))),
        ("REPORT EVERY INSTANT", ReportClause(ReportKind.INSTANT)),
        ("REPORT ON CHANGE", ReportClause(ReportKind.CHANGE)),
        ("REPORT ON WINDOW CLOSE", ReportClause(ReportKind.WINDOW_CLOSE)),
    ],
)
@pytest.mark.parametrize("after_from", [False, True])
def test_a_report_stands_before_or_after_the_dataset(
    clause: str, meant: ReportClause, after_from: bool
) -> None:
    clauses = f"FROM <g> {clause}" if after_from else f"{clause} FROM <g>"
    query = parse_query(f"SELECT * {clauses} {{ ?s ?p ?o }}")
    assert query.report == meant
    assert parse_query(query_text(query)) == query


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("RSTREAM <out>", Registration(IRI("out"), Relation.RSTREAM)),
        ("istream averages", Registration("averages", Relation.ISTREAM)),
        ("DSTREAM window", Registration("window", Relation.DSTREAM)),
        ("QUERY averages", Registration("averages")),
    ],
)
def test_a_registration_names_a_stream_or_a_query(words: str, meant: Registration) -> None:
    query = parse_query(f"REGISTER {words} AS ASK {{ }}")
    assert query.registration == meant
    assert parse_query(query_text(query)) == query


A, B, C = (BGP((TriplePattern(Variable(name), IRI("p"), Variable("o")),)) for name in "abc")


def test_windows_without_a_name_get_one_and_equal_ones_share_it() -> None:
    query = parse_query(
        """SELECT * {
            WINDOW TYPE SLIDINGTRIPLES 100 { ?a <p> ?o }
            WINDOW TYPE SLIDINGDURATION 5000 { ?b <p> ?o }
            WINDOW TYPE SLIDINGTRIPLES 100 { ?c <p> ?o }
            WINDOW START 5 TYPE INSTANCE <C> SLIDINGINSTANCES 3 END 9 { ?c <p> ?o } }"""
    )
    one, two, three = (IRI(f"urn:sensorstream:window:{number}") for number in (1, 2, 3))
    assert query.dataset.windows == (
        WindowDefinition(one, range=100),
        WindowDefinition(two, range=seconds(5)),
        WindowDefinition(
            three,
            unit=WindowUnit.INDIVIDUALS,
            range=3,
            instances_of=IRI("C"),
            start=Literal("5", xsd.INTEGER),
            end=Literal("9", xsd.INTEGER),
        ),
    )
    assert isinstance(query.form, Select)
    assert isinstance(query.form.pattern, Project)
    joins = Join(Join(Join(Window(one, A), Window(two, B)), Window(one, C)), Window(three, C))
    assert query.form.pattern.pattern == joins
    assert parse_query(query_text(query)) == query
