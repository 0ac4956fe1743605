"""Ranks of rows by a comparison leave out no row that passes it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.streams.processor import StreamEvent
from tests.network.intervals.random_patterns import NAMES, PREFIX, PROPERTIES, run

values = st.one_of(
    st.integers(-3, 3).map(lambda n: Literal(str(n), xsd.INTEGER)),
    st.decimals(-10, 10, places=2).map(lambda n: Literal(f"{n:f}", xsd.DECIMAL)),
    st.sampled_from(
        ["0.7", "-0", "1E308", "-1E308", "1E-310", "2E-310", "INF", "-INF", "NaN", "0.1"]
    ).map(lambda text: Literal(text, xsd.DOUBLE)),
    st.sampled_from([Literal(f"1{'0' * 400}", xsd.INTEGER), Literal("none"), NAMES[0]]),
)


@settings(max_examples=80)
@given(
    said=st.lists(values, min_size=2, max_size=12),
    one=st.sampled_from(["?v", "?v * 0.7", "1e300 * ?v", "?v / 3", "?v / -1e-310", "?v + 1"]),
    order=st.sampled_from(["<", "<=", ">", ">="]),
    other=st.sampled_from(["?w", "?w * 0.7", "?w / 3", "?w - 1"]),
)
def test_the_order_that_finds_rows_leaves_none_out(
    said: list[Any], one: str, order: str, other: str
) -> None:
    events = [StreamEvent(n, ((NAMES[0], PROPERTIES[0], each),)) for n, each in enumerate(said)]
    found = []
    for condition in (f"{one} {order} {other}", f"{one} {order} {other} || false"):
        where = f"{{ ?x :p ?v }} SEQ {{ ?x :p ?w }} FILTER({condition})"
        found.append(run(f"{PREFIX}SELECT * WHERE {{ {where} }}", events, []))
    assert Counter(found[0]) == Counter(found[1])
