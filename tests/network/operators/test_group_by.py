"""Aggregates of groups are kept in step, and the group of nothing is there without keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import Literal, Term
from sensorstream.network.operators.group_by import GroupOperator, columns_of
from sensorstream.network.plan.nodes import ConstantPlan, GroupPlan
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Aggregate, Variable
from tests.network.operators.given_rows import Change, Given, keeps_step

Y = Variable("y")
ASKED = {
    "all": Aggregate("COUNT", None),
    "different": Aggregate("COUNT", Y, distinct=True),
    "sum": Aggregate("SUM", Y),
    "least": Aggregate("MIN", Y),
    "most": Aggregate("MAX", Y),
    "sum again": Aggregate("SUM", Y),
}


def number(value: int) -> Literal:
    return Literal(str(value), xsd.INTEGER)


rows: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(*[st.integers(0, 2).map(number)] * 3), max_size=5
)
instants = st.lists(st.tuples(st.tuples(rows, rows)), min_size=1, max_size=6)


def grouped(source: Given, places: list[int]) -> Iterator[Row]:
    """The definition (section 18.5.1), on the rows as they are."""
    groups: dict[tuple[Term | None, ...], list[int]] = {} if places else {(): []}
    for row in source.held.elements():
        values = groups.setdefault(tuple(row[place] for place in places), [])
        values.append(int(row[2].lexical))  # type: ignore[union-attr]
    for key, of in groups.items():
        ends = [number(min(of)), number(max(of))] if of else [None, None]
        found = [number(each) for each in (len(of), len(set(of)), sum(of))]
        yield (*key, *found, *ends, found[2])


@given(st.sampled_from([[], [0], [1, 0]]), instants)
def test_each_group_has_the_aggregates_of_its_rows(
    places: list[int], changes: list[tuple[Change]]
) -> None:
    names: Any = ("a", "b", "y")
    aggregates = tuple((Variable(name), each) for name, each in ASKED.items())
    plan = GroupPlan(ConstantPlan(names, ()), tuple(names[each] for each in places), aggregates)
    source = Given(names)
    columns = columns_of(plan, lambda each: lambda row: row[2] if each.expression else True)
    node = GroupOperator(plan, source, columns)
    keeps_step(node, changes, lambda: grouped(source, places))
    assert node.of_nothing() == list(node.rows()) == list(grouped(source, places))
