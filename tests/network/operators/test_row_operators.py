"""Operators over one input, and UNION, are kept in step with their definitions."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import IRI
from sensorstream.network.operators.row_operators import (
    DistinctOperator,
    ExtendOperator,
    RowByRow,
    SliceOperator,
    UnionOperator,
    ends_of,
)
from sensorstream.network.plan.nodes import ConstantPlan, UnionPlan
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Variable
from tests.network.operators.given_rows import Change, Given, keeps_step

A, B, C = (IRI(f"ex:{name}") for name in "abc")
rows: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(*[st.sampled_from([A, B, C, None])] * 2), max_size=5
)
change = st.tuples(rows, rows)
instants = st.lists(st.tuples(change), min_size=1, max_size=6)


@given(instants)
def test_distinct_has_each_row_once(changes: list[tuple[Change]]) -> None:
    source = Given("xy")
    node = DistinctOperator(source)
    keeps_step(node, changes, lambda: set(source.held))
    assert node.size() == 0


@given(st.lists(st.tuples(change, change), min_size=1, max_size=6))
def test_a_union_leaves_unbound_what_a_side_lacks(changes: list[tuple[Change, Change]]) -> None:
    plans = [ConstantPlan(each, ()) for each in (("x", "y"), ("z", "x"))]
    sides = [Given(each.variables) for each in plans]
    node = UnionOperator(UnionPlan(tuple(plans)), sides)

    def expected() -> list[Row]:
        found = [dict(zip(s.variables, r, strict=True)) for s in sides for r in s.held.elements()]
        return [tuple(each.get(name) for name in "xyz") for each in found]

    keeps_step(node, changes, expected)
    assert node.variables == ("x", "y", "z")


@given(instants, st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans())
def test_a_slice_is_a_part_of_the_rows_in_order(
    changes: list[tuple[Change]], offset: int, limit: int | None, ordered: bool
) -> None:
    source = Given("xy")
    node = SliceOperator(source, (lambda row: row[1] or "") if ordered else None, offset, limit)

    def expected() -> list[Row]:
        found = sorted(source.held.elements(), key=lambda row: [each or "" for each in row])
        if ordered:
            found.sort(key=lambda row: row[1] or "")
        part = found[offset : None if limit is None else offset + limit]
        assert list(node.rows()) == part
        return part

    keeps_step(node, changes, expected)


ends = st.sampled_from([Variable("x"), Variable("y"), A, B])


@given(instants, ends, ends)
def test_the_ends_of_pairs_are_the_constants_or_one_variable(
    changes: list[tuple[Change]], first: Any, second: Any
) -> None:
    source, wanted = Given("st"), (first, second)
    variables = dict.fromkeys(each.name for each in wanted if isinstance(each, Variable))
    node = RowByRow(source, tuple(variables), ends_of(wanted), certain=())

    def expected() -> list[Row]:
        found = []
        for pair in source.held.elements():
            bound: dict[Any, Any] = {}
            ends = zip(wanted, pair, strict=True)
            if all(
                bound.setdefault(end, term) == term if isinstance(end, Variable) else end == term
                for end, term in ends
            ):
                found.append(tuple(bound[Variable(name)] for name in variables))
        return found

    keeps_step(node, changes, expected)
    assert list(node.rows()) == [], "all pairs have gone"


@given(instants)
def test_filters_and_values_are_those_of_each_row(changes: list[tuple[Change]]) -> None:
    source = Given("xy")
    kept = RowByRow(source, source.variables, partial(filter, _differs), computes=True)
    keeps_step(kept, changes, lambda: filter(_differs, source.held.elements()))
    source = Given("xy")
    more = ExtendOperator(source, "z", lambda row: C if _differs(row) else None)
    extended = lambda row: (*row, C if _differs(row) else None)  # noqa: E731
    keeps_step(more, changes, lambda: map(extended, source.held.elements()))
    assert (kept.variables, more.variables) == (("x", "y"), ("x", "y", "z"))


def _differs(row: Row) -> bool:
    return row[0] != row[1]
