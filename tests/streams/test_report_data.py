from __future__ import annotations

import json

import pytest

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.report_data import report_lines, report_text

A, B = IRI("http://example.org/a"), BlankNode("_:b")
TEXTS = (Literal('say "å"\n'), Literal("hej", language="da"), Literal("5", xsd.INTEGER))
ROWS = [(A, text) for text in TEXTS] + [(B, None), (None, None), (A, TEXTS[0])]


@pytest.mark.parametrize(
    "report",
    [
        Report("q", 3, RowOperation.ADDED, ("x", "naïve"), ROWS),
        Report('a "name"', 3, RowOperation.REMOVED, ("x", "y"), ROWS * 1000),
        Report("q", 3, RowOperation.RESULT, (), [(), ()]),
        Report("q", 3, RowOperation.RESULT, ("x",), []),
        Report("q", 3, RowOperation.ADDED, triples=[(A, A, TEXTS[0]), (B, A, A)]),
        Report("q", 3, RowOperation.RESULT, answer=True),
        Report("q", 3, RowOperation.ADDED, ("x", "y"), ROWS[:1], intervals=[(1, 3)]),
        Report("q", 3, RowOperation.ADDED, triples=[(A, A, TEXTS[0])], intervals=[(1, 3)]),
    ],
)
@pytest.mark.parametrize("time", [3, 0.5, "2014-08-01T08:00:00Z"])
def test_the_text_of_a_report_is_that_of_its_lines(report: Report, time: object) -> None:
    text = "".join(report_text(report, lambda _: time))
    lines = report_lines(report, lambda _: time)
    expected = [json.dumps(line, ensure_ascii=False) for line in lines]
    assert text == "".join(f"{line}\n" for line in expected)
