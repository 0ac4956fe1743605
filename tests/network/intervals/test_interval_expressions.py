"""Lengths of intervals are compared, and ranks of rows leave out no row that passes a test."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import UnsupportedQuery
from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Timeline
from sensorstream.network.intervals.interval_expressions import (
    IntervalTime,
    longest,
    timed_test,
    timed_value,
)
from sensorstream.network.rows import ALWAYS, TIMES
from sensorstream.sparql.algebra import Call, Comparison
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


CLOCK = IntervalTime(Timeline.INTEGER, 10)


@given(
    operator=st.sampled_from(["<", "<=", "=", ">", ">=", "!="]),
    start=st.integers(0, 20),
    length=st.integers(0, 40),
    tenths=st.integers(0, 40),
)
def test_a_length_is_compared_on_the_time_line(
    operator: Any, start: int, length: int, tenths: int
) -> None:
    constant = Literal(f"PT{tenths / 10}S", xsd.DURATION)
    condition = Comparison(operator, Call("GETDURATION", ()), constant)
    test = timed_test(condition, (), CLOCK)
    holds = {
        "<": length < tenths,
        "<=": length <= tenths,
        "=": length == tenths,
        ">": length > tenths,
        ">=": length >= tenths,
        "!=": length != tenths,
    }
    assert test((start, start + length)) is holds[operator]
    # What holds always has no length.
    assert not test(ALWAYS)
    most = longest(condition, CLOCK)
    assert most == (tenths if operator in ("<", "<=", "=") else None)


def test_the_functions_of_time_give_terms() -> None:
    found = {
        name: timed_value(Call(name, ()), (*TIMES, "x"), CLOCK)((7, 22, None))
        for name in ("GETSTARTTIME", "GETENDTIME", "GETDURATION")
    }
    assert found == {
        "GETSTARTTIME": Literal("7", xsd.INTEGER),
        "GETENDTIME": Literal("22", xsd.INTEGER),
        "GETDURATION": Literal("PT1.5S", xsd.DURATION),
    }


def test_months_are_those_of_the_calendar_and_a_line_of_numbers_has_none() -> None:
    month = Literal("P1M", xsd.DURATION)
    condition = Comparison("<=", Call("GETDURATION", ()), month)
    clock = IntervalTime(Timeline.DATETIME, 1)
    test, day = timed_test(condition, (), clock), 86_400
    # From the first of January and of February 1970.
    assert [test((0, days * day)) for days in (31, 32)] == [True, False]
    assert [test((31 * day, (31 + days) * day)) for days in (28, 29)] == [True, False]
    with pytest.raises(UnsupportedQuery, match="no months or years"):
        timed_test(condition, (), CLOCK)
