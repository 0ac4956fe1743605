from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.datatypes import place, value_of


def of(lexical: str, kind: str) -> Literal:
    return Literal(lexical, f"{XSD}{kind}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of("1", "int"), of("01", "integer")),
        (of("1.50", "decimal"), of("1.5", "decimal")),
        (of("2.0", "decimal"), of("2", "byte")),
        (of("1e1", "double"), of("10", "double")),
        (of("0.1", "float"), of("0.10000000149", "float")),
        (of("1", "boolean"), of("true", "boolean")),
        (of("a", "string"), of("a", "token")),
        (of("PT60S", "duration"), of("PT1M", "dayTimeDuration")),
        (of("2026-01-01T24:00:00Z", "dateTime"), of("2026-01-02T00:00:00Z", "dateTimeStamp")),
        (of("0aff", "hexBinary"), of("0AFF", "hexBinary")),
        (Literal("a", language="EN"), Literal("a", language="en")),
    ],
)
def test_literals_of_one_value(one: Literal, other: Literal) -> None:
    assert value_of(one) == value_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of("1", "integer"), of("1", "double")),
        (of("1", "float"), of("1", "double")),
        (of("0.0", "double"), of("-0.0", "double")),
        (of("a", "string"), of("a", "anyURI")),
        (of("2026-01-01T00:00:00Z", "dateTime"), of("2026-01-01T00:00:00", "dateTime")),
        (of("2026-01-01", "date"), of("2026-01-01Z", "date")),
        (Literal("a", language="en"), Literal("a")),
        (Literal("a", "http://x.example/#one"), Literal("a", "http://x.example/#other")),
    ],
)
def test_literals_of_two_values(one: Literal, other: Literal) -> None:
    assert value_of(one) != value_of(other)


def test_every_nan_is_one_value() -> None:
    assert value_of(of("NaN", "double")) == value_of(of("NaN", "double"))


@pytest.mark.parametrize("kind", ["integer", "double", "boolean", "dateTime", "date", "duration"])
def test_a_text_that_is_no_value_is_an_error(kind: str) -> None:
    with pytest.raises(TermError):
        value_of(of("no value", kind))


finite = st.floats(allow_nan=False)


@given(one=finite, other=finite)
def test_places_are_in_the_order_of_the_numbers(one: float, other: float) -> None:
    first, second = place(one, xsd.DOUBLE), place(other, xsd.DOUBLE)
    assert isinstance(first, int)
    assert isinstance(second, int)
    if one != other:
        assert (first < second) == (one < other)
    else:
        assert (first == second) == (math.copysign(1, one) == math.copysign(1, other))


def test_neighbouring_numbers_have_neighbouring_places() -> None:
    for number in (0.0, 1.5, -1.5, 1e300):
        assert place(math.nextafter(number, math.inf), xsd.DOUBLE) == place(number, xsd.DOUBLE) + 1  # type: ignore[operator]
    assert place(1e300, xsd.FLOAT) == place(math.inf, xsd.FLOAT)
