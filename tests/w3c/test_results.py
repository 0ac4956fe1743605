from __future__ import annotations

import pyoxigraph as ox
import pytest

from tests.w3c.results import Row, Solutions, Table, equal, equal_graphs, equal_rows

XSD = "http://www.w3.org/2001/XMLSchema#"


def literal(text: str, datatype: str) -> ox.Literal:
    return ox.Literal(text, datatype=ox.NamedNode(f"{XSD}{datatype}"))


def rows(*pairs: tuple[str, str]) -> list[Row]:
    return [{"x": ox.BlankNode(one), "y": ox.BlankNode(other)} for one, other in pairs]


def test_blank_nodes_are_equal_up_to_their_names() -> None:
    assert equal_rows(rows(("a", "b"), ("b", "c")), rows(("q", "r"), ("p", "q")))
    assert not equal_rows(rows(("a", "b"), ("b", "a")), rows(("p", "q"), ("r", "p")))
    assert not equal_rows(rows(("a", "a")), rows(("p", "q")))
    assert not equal_rows(rows(("p", "q")), rows(("a", "a")))


def test_solutions_count_and_order_counts_where_it_is_asked_for() -> None:
    a: Row = {"x": ox.NamedNode("urn:a")}
    b: Row = {"x": ox.NamedNode("urn:b")}
    assert equal_rows([a, b], [b, a])
    assert not equal_rows([a, b], [b, a], ordered=True)
    assert not equal_rows([a, b, b], [b, a, a])
    assert equal_rows([a, b, b], [b, a, a], lax=True)
    assert not equal_rows([a], [a, b])
    assert not equal_rows([a], [{}])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (literal("01", "integer"), literal("1", "integer"), True),
        (literal("1.0", "decimal"), literal("1", "integer"), False),
        (literal("1.0", "decimal"), literal("1.00", "decimal"), True),
        (literal("1e0", "double"), literal("1.0E0", "double"), True),
        (literal("1e0", "double"), literal("1.1", "double"), False),
        (literal("1", "boolean"), literal("true", "boolean"), True),
        (ox.Literal("1"), ox.Literal("1", language="en"), False),
        (ox.Literal("01"), ox.Literal("1"), False),
    ],
)
def test_numbers_are_equal_by_datatype_and_value(
    one: ox.Literal, other: ox.Literal, same: bool
) -> None:
    assert equal_rows([{"x": one}], [{"x": other}]) is same


def test_graphs_are_equal_up_to_the_names_of_blank_nodes() -> None:
    p = ox.NamedNode("urn:p")
    loop = ox.Triple(ox.BlankNode("a"), p, ox.BlankNode("a"))
    edge = ox.Triple(ox.BlankNode("a"), p, ox.BlankNode("b"))
    assert equal_graphs([edge], [ox.Triple(ox.BlankNode("b"), p, ox.BlankNode("a"))])
    assert not equal_graphs([edge], [loop])


def test_a_table_of_texts_equals_solutions_with_these_texts() -> None:
    table = Table(("x", "y"), (("1", ""), ("urn:a", "_:b")))
    solutions = Solutions(
        ({"x": literal("1", "integer")}, {"x": ox.NamedNode("urn:a"), "y": ox.BlankNode("c")})
    )
    assert equal(table, solutions)
    assert not equal(table, Solutions(solutions.rows[:1]))
    assert not equal(True, False)
