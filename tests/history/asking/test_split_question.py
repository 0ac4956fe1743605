"""Questions in two parts: the answers are those of tests/history/house; here, how they are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from sensorstream.errors import Overrun, UnsupportedQuery
from sensorstream.history.asking.checked_question import CheckedQuestion, read_question
from sensorstream.history.asking.query_answer import Answer, Row, Solutions, limited
from sensorstream.history.asking.split_question import in_parts, sql_question
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.sparql import algebra
from sensorstream.sparql.place_functions import GEOF
from sensorstream.sparql.walk import nodes

PREFIX = (
    f"PREFIX : <urn:> PREFIX geof: <{GEOF}> PREFIX geo: <http://www.opengis.net/ont/geosparql#>"
)
BOX = '"POLYGON((0 0, 9 0, 9 9, 0 9, 0 0))"^^geo:wktLiteral'


def question(text: str) -> CheckedQuestion:
    return read_question(f"{PREFIX} {text}", Timeline.INTEGER, at="5")


def test_a_question_without_such_functions_is_left_alone() -> None:
    asked = question("SELECT * { ?s :at ?p }")
    assert sql_question(asked) is asked


def test_sql_gets_the_filters_that_it_can_answer_and_the_time() -> None:
    asked = question(
        f"SELECT ?s {{ ?s :at ?p ; :n ?n FILTER(?n > 3 && geof:sfWithin(?p, {BOX})) }}"
    )
    found = sql_question(asked)
    assert found.time == asked.time
    assert [type(each) for each in nodes(found.query) if isinstance(each, algebra.Filter)]
    (project, *_) = list(nodes(found.query, algebra.Project))
    assert {each.name for each in project.variables} == {"s", "p", "sensorstream_part"}


def test_parts_that_share_nothing_are_rows_of_their_own() -> None:
    found = sql_question(
        question("SELECT ?a { ?a :at ?p . ?b :x [ :area ?g ] FILTER(geof:sfWithin(?p, ?g)) }")
    )
    assert len(list(nodes(found.query, algebra.BGP))) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("DESCRIBE ?s { ?s :at ?p FILTER(geof:isEmpty(?p)) }", "in DESCRIBE: select"),
        ("SELECT * { GRAPH ?g { ?s :at ?p FILTER(geof:isEmpty(?p)) } }", "within GRAPH: write it"),
        (
            "SELECT * { ?s :at ?p FILTER(geof:isEmpty(?p) || NOT EXISTS { ?s :n ?n }) }",
            "beside EXISTS: write OPTIONAL",
        ),
    ],
)
def test_what_cannot_be_parted_is_refused_by_name(text: str, told: str) -> None:
    with pytest.raises(UnsupportedQuery, match=f"<{GEOF}isEmpty>.*{told}"):
        sql_question(question(text))


ROWS: list[Row] = [
    (BlankNode("_:b1"), Literal("POINT(1 1)", xsd.GEO_WKT), Literal("0", xsd.INTEGER)),
    (BlankNode("_:b1"), Literal("POINT(1 1)", xsd.GEO_WKT), Literal("0", xsd.INTEGER)),
    (IRI("urn:a"), None, Literal("0", xsd.INTEGER)),
    (IRI("urn:b"), Literal("POINT(10 1)", xsd.GEO_WKT), Literal("0", xsd.INTEGER)),
]


def answer(text: str, *, most: int = 10_000, seconds: float = 30, times: int = 1) -> list[Row]:
    """The answer over :data:`ROWS`, so many times."""

    @contextmanager
    def ask(asked: CheckedQuestion) -> Iterator[Answer]:
        rows = cast(Iterator[Row], limited([ROWS * times], most))
        yield Solutions(("s", "p", "sensorstream_part"), rows)

    with in_parts(question(text), ask, seconds=seconds, most=most) as found:
        assert isinstance(found, Solutions)
        return list(found.rows)


def test_rows_come_as_often_as_they_are_and_keep_their_blank_nodes() -> None:
    text = (
        f"SELECT ?s {{ ?s :is :known OPTIONAL {{ ?s :at ?p }} FILTER(geof:sfWithin(?p, {BOX})) }}"
    )
    assert answer(text) == [(BlankNode("_:b1"),)] * 2
    text = "SELECT ?s ?x { ?s :is :known OPTIONAL { ?s :at ?p } BIND(geof:minX(?p) AS ?x) }"
    assert (IRI("urn:a"), None) in answer(text)


def test_too_many_rows_and_too_much_time_are_errors() -> None:
    text = "SELECT ?s { ?s :at ?p FILTER(geof:isEmpty(?p)) }"
    with pytest.raises(Overrun, match=f"before <{GEOF}isEmpty>.*more than 3 rows"):
        answer(text, most=3)
    with pytest.raises(Overrun, match=r"took longer than 0\.001 s \(limits\.question_seconds\)"):
        answer(text, seconds=0.001, times=2_000)
