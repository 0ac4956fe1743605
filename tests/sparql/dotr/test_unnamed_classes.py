"""Rules over time that describe a class are refused, with the place."""

from __future__ import annotations

import pytest

from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.sparql.dotr.dotr_reader import check_classes_named, read_program

RULE = """PREFIX : <http://e.org/> PREFIX owl: <http://www.w3.org/2002/07/owl#>
define { dotr_id1 :in ?x }
from A(SELECT ?x { ?x a %s })
and last B(SELECT ?z { ?z a %s }) within 5 min from A
with ?x = A.?x"""
SOME = "[ owl:onProperty :p ; owl:someValuesFrom :A ]"


def check(first: str, second: str) -> None:
    text = RULE % (first, second)
    check_classes_named(read_program(text, name="r", start=Position("r.dotr", 1, 1)))


@pytest.mark.parametrize(
    ("first", "second", "line", "column"), [(SOME, ":B", 3, 25), (":A", SOME, 4, 29)]
)
def test_no_selector_may_describe_a_class(first: str, second: str, line: int, column: int) -> None:
    with pytest.raises(UnsupportedQuery, match="the query describes a class") as caught:
        check(first, second)
    assert caught.value.position == Position("r.dotr", line, column)


def test_selectors_may_have_names_of_classes_and_blank_nodes_that_are_individuals() -> None:
    check(":A", ":B ; :in [ a :A ]")
