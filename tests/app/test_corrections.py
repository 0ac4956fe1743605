"""Spans of time against the naive definition: sets of instants."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.app.why.rereasoning import Spans, clipped, united, without

spans = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda each: (each[0], sum(each)))
)


def instants(of: Spans) -> set[int]:
    return {time for begin, end in of for time in range(begin, end)}


@given(spans, spans, st.integers(0, 20), st.integers(1, 8))
def test_spans_are_sets_of_instants(one: Spans, other: Spans, begin: int, length: int) -> None:
    assert instants(without(one, other)) == instants(one) - instants(other)
    to = (begin, begin + length)
    assert instants(clipped(one, to)) == instants(one) & instants([to])
    joined = united([*one, *other])
    assert instants(joined) == instants(one) | instants(other)
    # In order, and neither overlapping nor touching.
    assert all(a[1] < b[0] for a, b in pairwise(joined))
