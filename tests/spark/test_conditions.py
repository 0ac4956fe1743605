from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.spark.source_tables import Comparison, Condition, span

NAIVE: Mapping[Comparison, Callable[[int, int], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}
values = st.integers(-5, 5)
conditions = st.builds(
    Condition,
    st.sampled_from(["a", "b"]),
    st.sampled_from(sorted(NAIVE, key=str)),
    st.tuples(values),
) | st.builds(
    Condition,
    st.sampled_from(["a", "b"]),
    st.just(Comparison.IN),
    st.lists(values, min_size=1).map(tuple),
)


def holds(condition: Condition, value: int) -> bool:
    if condition.comparison is Comparison.IN:
        return value in condition.values
    (other,) = condition.values
    assert isinstance(other, int)
    return NAIVE[condition.comparison](value, other)


@given(st.lists(conditions, max_size=5))
def test_no_value_that_fulfils_all_conditions_is_outside_of_the_span(
    several: list[Condition],
) -> None:
    low, high = span(several, "a")
    fulfil = [
        value
        for value in range(-7, 8)
        if all(holds(each, value) for each in several if each.column == "a")
    ]
    assert all(low is None or low <= value for value in fulfil)
    assert all(high is None or value <= high for value in fulfil)
    if not any(each.comparison is Comparison.IN for each in several) and fulfil:
        assert low in (None, min(fulfil))
        assert high in (None, max(fulfil))
