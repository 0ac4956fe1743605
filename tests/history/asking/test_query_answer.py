"""Answers of each form, and the limit of their rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlglot import exp

from sensorstream.errors import Overrun
from sensorstream.history.asking.query_answer import (
    Answer,
    GraphAnswer,
    Solutions,
    answer_now,
    answer_of,
    limited,
    rows_of_batch,
)
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sql.sparql.compiled_query import Form, ResultColumn, SqlQuery
from sensorstream.streams.processor import StreamProcessor

A, P = IRI("urn:a"), IRI("urn:p")
TRIPLES: list[Triple] = [(A, P, BlankNode("_:b")), (A, P, Literal("1", xsd.INTEGER))]


def plain(answer: Answer) -> object:
    match answer:
        case Solutions(variables, rows):
            return variables, set(rows)
        case GraphAnswer(triples):
            return set(triples)
    return answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ASK { ?s ?p 1 }", True),
        ("ASK { ?s ?p 2 }", False),
        ("SELECT ?o { ?s <urn:p> ?o }", (("o",), {(t[2],) for t in TRIPLES})),
        ("CONSTRUCT { ?s <urn:q> ?s } { ?s ?p 1 }", {(A, IRI("urn:q"), A)}),
    ],
)
def test_a_continuous_query_has_its_answer_as_it_is_now(text: str, expected: object) -> None:
    index = TripleIndex()
    for each in TRIPLES:
        index.add(each)
    processor = StreamProcessor(index, instant=int, second=1)
    running = processor.register("q", text, parse_query(text), lambda report: None)
    processor.settle(0)
    assert plain(answer_now(running)) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [("SELECT", (("s", "p", "o"), {*TRIPLES, (A, P, None)})), ("CONSTRUCT", set(TRIPLES))],
)
def test_rows_of_sql_are_terms(form: Form, expected: object) -> None:
    iris = (0, "urn:a", None, None, 0, "urn:p", None, None)
    found: list[tuple[object, ...]] = [
        (*iris, 1, "b", None, None),
        (*iris, 2, "1", xsd.INTEGER, None),
    ]
    if form == "SELECT":
        found.append((*iris, None, None, None, None))
    columns = tuple(ResultColumn(name, place) for name, place in (("s", 0), ("p", 4), ("o", 8)))
    assert plain(answer_of(SqlQuery(form, exp.select(), columns), iter(found))) == expected


@pytest.mark.parametrize("value", [True, False])
def test_the_row_of_ask_is_a_truth_value(value: bool) -> None:
    assert answer_of(SqlQuery("ASK", exp.select(), ()), iter([(value,)])) is value


def test_rows_beyond_the_limit_are_an_error_before_more_are_read() -> None:
    read = []

    def batches() -> Iterator[list[tuple[int]]]:
        for start in range(0, 9, 3):
            read.append(start)
            yield [(n,) for n in range(start, start + 3)]

    assert list(limited(batches(), 9)) == [(n,) for n in range(9)]
    read.clear()
    rows = limited(batches(), 5)
    assert [next(rows) for _ in range(3)] == [(0,), (1,), (2,)]
    with pytest.raises(Overrun, match=r"more than 5 rows: .* LIMIT \(limits\.question_rows\)"):
        next(rows)
    assert read == [0, 3]


def test_a_batch_of_arrow_has_the_values_of_its_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, None], "t": ["", "ü"]})
    assert rows_of_batch(batch) == [(1, ""), (None, "ü")]
