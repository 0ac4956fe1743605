from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.spark.source_tables import ColumnComparison, ColumnCondition, span

NAIVE: Mapping[ColumnComparison, Callable[[int, int], bool]] = {
    ColumnComparison.LESS: operator.lt,
    ColumnComparison.AT_MOST: operator.le,
    ColumnComparison.MORE: operator.gt,
    ColumnComparison.AT_LEAST: operator.ge,
}
values = st.integers(-5, 5)
conditions = st.builds(
    ColumnCondition,
    st.sampled_from(["a", "b"]),
    st.sampled_from(sorted(NAIVE, key=str)),
    st.tuples(values),
) | st.builds(
    ColumnCondition,
    st.sampled_from(["a", "b"]),
    st.just(ColumnComparison.IN),
    st.lists(values, min_size=1).map(tuple),
)


def holds(condition: ColumnCondition, value: int) -> bool:
    if condition.comparison is ColumnComparison.IN:
        return value in condition.values
    (other,) = condition.values
    assert isinstance(other, int)
    return NAIVE[condition.comparison](value, other)


@given(st.lists(conditions, max_size=5))
def test_no_value_that_fulfils_all_conditions_is_outside_of_the_span(
    several: list[ColumnCondition],
) -> None:
    low, high = span(several, "a")
    fulfil = [
        value
        for value in range(-7, 8)
        if all(holds(each, value) for each in several if each.column == "a")
    ]
    assert all(low is None or low <= value for value in fulfil)
    assert all(high is None or value <= high for value in fulfil)
    if not any(each.comparison is ColumnComparison.IN for each in several) and fulfil:
        assert low in (None, min(fulfil))
        assert high in (None, max(fulfil))
