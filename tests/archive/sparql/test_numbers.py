"""Numbers as lists of doubles: their order, arithmetic and texts are those of exact numbers."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.archive import archive_sparql as numbers
from sensorstream.model.numerals import doubles
from sensorstream.model.xsd import XSD
from tests.archive.sparql.world import World

decimals = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40),
    st.integers(-(10**60), 10**60).map(Decimal),
    st.sampled_from(
        ("0", "0.1", "7", "1e-30", "1e300", "9007199254740993", "0.30000000000000000001")
    ).map(Decimal),
)
WIDE = Context(prec=800)


@given(one=decimals, other=decimals)
def test_the_order_of_lists_is_that_of_numbers(one: Decimal, other: Decimal) -> None:
    first, second = doubles(one), doubles(other)
    assert (first < second, first == second) == (one < other, one == other)
    assert numbers.number(first) == one


@given(one=decimals, other=decimals)
def test_sums_and_products_are_exact(one: Decimal, other: Decimal) -> None:
    first, second = doubles(one), doubles(other)
    assert numbers.number(numbers.add(first, second)) == WIDE.add(one, other)
    assert numbers.number(numbers.subtract(first, second)) == WIDE.subtract(one, other)
    assert numbers.number(numbers.total(None, [first, second]) or []) == WIDE.add(one, other)
    if abs(one) < 10**40 and abs(other) < 10**40:
        assert numbers.number(numbers.multiply(first, second)) == WIDE.multiply(one, other)


@given(number=decimals)
def test_a_text_reads_back_as_the_number(number: Decimal) -> None:
    found = doubles(number)
    assert Decimal(numbers.plain_text(found)) == number
    assert numbers.number_of_text(format(number, "f")) == found


forms = st.from_regex(r"[+-]?[0-9]{1,20}([.][0-9]{0,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@settings(max_examples=12)
@given(texts=st.lists(forms, min_size=20))
def test_duckdb_reads_a_literal_as_the_model_does(archive_world: World, texts: list[str]) -> None:
    names = [f"{XSD}{name}" for name in ("integer", "decimal", "double", "byte", "string")]
    rows = archive_world.ask(
        "select t, d, literal_number(t, d) from (select unnest(?::varchar[]) as t), "
        "(select unnest(?::varchar[]) as d)",
        texts,
        names,
    )
    for text, datatype, found in rows:
        assert found == numbers.literal_number(text, datatype), (text, datatype)


@settings(max_examples=60)
@given(one=decimals, other=decimals)
def test_duckdb_compares_as_python_does(archive_world: World, one: Decimal, other: Decimal) -> None:
    query = "select a < b, a = b, a > b from (select ?::double[] as a, ?::double[] as b)"
    (found,) = archive_world.ask(query, doubles(one), doubles(other))
    assert found == (one < other, one == other, one > other)


def test_what_doubles_cannot_hold_is_an_error_and_never_rounded() -> None:
    for text in ("1e400", "1e-400", "1." + "0" * 400 + "1"):
        with pytest.raises(ArithmeticError, match="--on history"):
            doubles(Decimal(text))


def test_nan_comes_back_from_python_as_nan(archive_world: World) -> None:
    text = f"literal_number('NaN', '{XSD}double')"
    asked = f"select {text} = ['NaN'::double], number_plain(number_add({text}, [1, 0]))"
    assert archive_world.ask(asked) == [(True, "NaN")]
