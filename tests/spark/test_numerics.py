from __future__ import annotations

from contextlib import closing
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.history.database import connect
from sensorstream.spark.numerics import divide, numeric, rounded

numbers = st.decimals(min_value=-(10**9), max_value=10**9, places=4) | st.integers(
    -(10**12), 10**12
).map(Decimal)


@settings(max_examples=20)
@given(pairs=st.lists(st.tuples(numbers, numbers.filter(bool)), min_size=20, max_size=60))
def test_quotients_have_the_digits_that_postgresql_gives_them(
    pairs: list[tuple[Decimal, Decimal]], postgres: str
) -> None:
    with closing(connect(postgres)) as connection, connection.cursor() as cursor:
        for one, other in pairs:
            cursor.execute("select %s::numeric / %s::numeric", (one, other))
            ((expected,),) = cursor.fetchall()
            try:
                assert divide(one, other) == expected
            except OverflowError:
                # Refused, not rounded: it is small and has digits after the twentieth.
                assert expected != round(expected, 20) or abs(expected) >= 10**18


@settings(max_examples=20)
@given(values=st.lists(st.floats(-1e15, 1e15), min_size=20, max_size=60))
def test_doubles_become_the_numerics_that_postgresql_makes_of_them(
    values: list[float], postgres: str
) -> None:
    with closing(connect(postgres)) as connection, connection.cursor() as cursor:
        for value in values:
            cursor.execute(
                "select %s::double precision::numeric, round(%s::double precision::numeric, 2)",
                (value, value),
            )
            ((expected, short),) = cursor.fetchall()
            assert rounded(value, 2) == short
            try:
                assert numeric(value) == expected
            except OverflowError:
                assert expected != round(expected, 20)


def test_null_stays_null_and_zero_is_no_divisor() -> None:
    assert divide(None, Decimal(1)) is None
    assert divide(Decimal(1), None) is None
    assert numeric(None) is None
    assert rounded(None, 1) is None
    with pytest.raises(ZeroDivisionError):
        divide(Decimal(1), Decimal(0))
    with pytest.raises(OverflowError):
        numeric(float("nan"))
