"""ORDER BY puts terms in the order of section 15.1, and is separated from what it orders."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import NotIncremental
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.network.ordering import order_of, order_text, parted_order
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import OrderBy, OrderCondition, Variable
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.values import compare
from tests.network.expressions.times import moments

numerals = st.one_of(
    st.integers(-(10**20), 10**20).map(lambda n: Literal(str(n), xsd.INTEGER)),
    st.decimals(-100, 100, places=3).map(lambda n: Literal(f"{n:f}", xsd.DECIMAL)),
    st.floats(allow_nan=False, width=32).map(lambda n: Literal(repr(n), xsd.DOUBLE)),
)
KINDS: tuple[tuple[Term | None, ...], ...] = (
    (None,),
    (BlankNode("_:a"), BlankNode("_:b")),
    (IRI("http://example.org/a"), IRI("http://example.org/b")),
    (Literal("-2", xsd.INTEGER), Literal("1.5", xsd.DECIMAL), Literal("1e1", xsd.DOUBLE)),
    (
        Literal("2024-01-01T00:00:00Z", xsd.DATE_TIME),
        Literal("2024-01-01T00:00:01Z", xsd.DATE_TIME),
    ),
    (Literal("five", xsd.INTEGER), Literal("text", language="en"), Literal("text")),
)


def test_kinds_of_terms_follow_each_other() -> None:
    terms = [term for kind in KINDS for term in kind]
    assert sorted(terms[5:] + terms[:5], key=order_text) == terms


@given(numerals | moments, numerals | moments)
def test_what_is_less_comes_before(one: Literal, other: Literal) -> None:
    texts = order_text(one), order_text(other)
    order = compare(one, other)
    # A double is compared with a decimal as a double, and ordered as a decimal.
    if order in (-1, 1) and (one.datatype == xsd.DOUBLE) is (other.datatype == xsd.DOUBLE):
        assert (texts[0] > texts[1]) - (texts[0] < texts[1]) == order


@given(
    st.lists(st.tuples(*[st.sampled_from([t for kind in KINDS for t in kind])] * 2), max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_rows_are_in_the_order_of_the_first_condition_that_tells_them_apart(
    rows: list[Row], first: bool, second: bool
) -> None:
    conditions = [OrderCondition(Variable("x"), first), OrderCondition(Variable("y"), second)]
    # Sorting is stable, so the last condition comes first.
    expected = reduce(
        lambda found, each: sorted(
            found, key=lambda row: order_text(row[each[0]]), reverse=each[1]
        ),
        [(1, second), (0, first)],
        rows,
    )
    found = sorted(rows, key=order_of(conditions, {"x": 0, "y": 1}))
    assert [[*map(order_text, row)] for row in found] == [
        [*map(order_text, row)] for row in expected
    ]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("SELECT ?x { ?x ?p ?y } ORDER BY ?y", ["x"]),
        ("SELECT ?x ?y { ?x ?p ?y } ORDER BY DESC(?y)", ["x", "y"]),
        ("SELECT DISTINCT ?x ?y { ?x ?p ?y } ORDER BY ?x", None),
        ("SELECT REDUCED ?x { ?x ?p ?y } ORDER BY ?x", None),
    ],
)
def test_the_order_is_taken_off_the_pattern(asked: str, kept: list[str] | None) -> None:
    pattern: Any = parse_query(asked).form.pattern
    inner, conditions, outside = parted_order(pattern)
    assert len(conditions) == 1
    assert outside == kept
    assert "OrderBy" not in repr(inner)
    assert parted_order(inner) == (inner, (), None)
    assert parted_order(OrderBy(inner, conditions)) == (inner, conditions, None)


def test_different_rows_have_no_order_by_what_is_not_selected() -> None:
    with pytest.raises(NotIncremental, match="DISTINCT ordered by"):
        parted_order(parse_query("SELECT DISTINCT ?x { ?x ?p ?y } ORDER BY ?y").form.pattern)
