from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.oxigraph_terms import from_oxigraph, to_oxigraph
from sensorstream.model import xsd
from sensorstream.model.numerals import double_text
from sensorstream.model.terms import Literal, Term
from sensorstream.network.aggregates import SumAndAverage

INTEGERS = st.integers(-(10**30), 10**30).map(lambda n: Literal(str(n), xsd.INTEGER))
DECIMALS = st.decimals(-(10**20), 10**20, places=7).map(
    lambda d: Literal(format(d, "f"), xsd.DECIMAL)
)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).map(
    lambda x: Literal(repr(x), xsd.DOUBLE)
)
FLOATS = st.floats(-1e6, 1e6, width=32).map(lambda x: Literal(repr(x), xsd.FLOAT))
SPECIAL = st.sampled_from([Literal(text, xsd.DOUBLE) for text in ("INF", "-INF", "NaN")])
BROKEN = st.sampled_from([None, Literal("five"), Literal("five", xsd.INTEGER)])


def numbers(values: list[Any]) -> SumAndAverage:
    found = SumAndAverage()
    for value in values:
        found.take(value, 1)
    return found


def double(value: float) -> Literal:
    return Literal(repr(value), xsd.DOUBLE)


def test_a_small_double_survives_a_large_one_that_comes_and_goes() -> None:
    found = numbers([double(1e16), double(1.0)])
    found.take(double(1e16), -1)
    assert found.sum() == Literal("1.0E0", xsd.DOUBLE)


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_a_sum_of_doubles_is_the_one_nearest_to_the_exact_sum(values: list[float]) -> None:
    found = numbers([double(0.0), *map(double, values)]).sum()
    assert found == Literal(double_text(math.fsum(values) + 0.0), xsd.DOUBLE)


@given(
    st.lists(INTEGERS | DECIMALS | DOUBLES | FLOATS | SPECIAL | BROKEN, max_size=20),
    st.lists(INTEGERS | DECIMALS | DOUBLES | FLOATS | SPECIAL | BROKEN, max_size=20),
    st.randoms(use_true_random=False),
)
def test_what_came_and_went_leaves_no_trace(
    staying: list[Any], leaving: list[Any], dice: Any
) -> None:
    found = SumAndAverage()
    coming = [*staying, *leaving]
    dice.shuffle(coming)
    left = list(leaving)
    for value in coming:
        found.take(value, 1)
        if value in left and dice.random() < 0.5:
            left.remove(value)
            found.take(value, -1)
    for value in left:
        found.take(value, -1)
    alone = numbers(staying)
    assert (found.sum(), found.average()) == (alone.sum(), alone.average())


@given(st.lists(INTEGERS | DECIMALS | DOUBLES, min_size=1, max_size=20))
def test_sums_and_averages_are_those_of_exact_fractions(values: list[Literal]) -> None:
    found = numbers(values)
    exact = sum((Fraction(value.value) for value in values), Fraction(0))  # type: ignore[arg-type]
    total, average = found.sum(), found.average()
    assert isinstance(total, Literal)
    assert isinstance(average, Literal)
    kinds = {value.datatype for value in values}
    if xsd.DOUBLE in kinds:
        try:
            nearest = float(exact)
        except OverflowError:
            nearest = math.inf if exact > 0 else -math.inf
        assert total == Literal(double_text(nearest), xsd.DOUBLE)
        assert average == Literal(double_text(nearest / len(values)), xsd.DOUBLE)
        return
    assert total.datatype == (xsd.DECIMAL if xsd.DECIMAL in kinds else xsd.INTEGER)
    assert Fraction(total.lexical) == exact
    assert average.datatype == xsd.DECIMAL
    exact /= len(values)
    assert abs(Fraction(average.lexical) - exact) * 2 <= Fraction(1, 10**28)


def oxigraph_sum(values: list[Term]) -> Term | None:
    rows = " ".join(f"({number} {to_oxigraph(value)})" for number, value in enumerate(values))
    query = f"SELECT (SUM(?v) AS ?s) {{ VALUES (?n ?v) {{ {rows} }} }}"
    solutions = ox.Store().query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    (row,) = solutions
    return None if row["s"] is None else from_oxigraph(row["s"])


small = st.integers(-(10**6), 10**6)


@given(
    st.lists(
        small.map(lambda n: Literal(str(n), xsd.INTEGER))
        | small.map(lambda n: Literal(format(Decimal(n) / 100, "f"), xsd.DECIMAL))
        | small.map(lambda n: double(n / 4))
        | SPECIAL
        | BROKEN.filter(lambda value: value is not None),
        max_size=12,
    )
)
def test_types_are_promoted_as_oxigraph_promotes_them(values: list[Term]) -> None:
    mine, theirs = numbers(values).sum(), oxigraph_sum(values)
    if mine is None or theirs is None:
        assert mine == theirs
        return
    assert isinstance(mine, Literal)
    assert isinstance(theirs, Literal)
    assert mine.datatype == theirs.datatype
    one, other = mine.value, theirs.value
    assert one == pytest.approx(other, nan_ok=True)


def test_doubles_beyond_the_largest_add_up_to_infinity() -> None:
    most = double(1.7e308)
    found = numbers([most, most])
    assert found.sum() == Literal("INF", xsd.DOUBLE)
    found.take(most, -1)
    assert found.sum() == Literal("1.7E308", xsd.DOUBLE)
