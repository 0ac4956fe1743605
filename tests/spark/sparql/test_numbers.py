"""Numbers without bounds in Spark: their keys."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.numerals import sortable as key
from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.numbers import register
from sensorstream.sql.dialects import java_pattern, java_replacement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(-5, 5, places=2)


@given(DECIMALS, DECIMALS)
def test_keys_are_in_the_order_of_the_numbers(one: Decimal, other: Decimal) -> None:
    a, b = Fraction(one), Fraction(other)
    assert (key(one) < key(other), key(one) == key(other)) == (a < b, a == b)


def test_infinities_and_nan_are_where_postgresql_has_them() -> None:
    order = ["-Infinity", "-1e300", "-1.23", "-1.2", "0", "1e-9", "2", "10", "Infinity", "NaN"]
    assert sorted(order, key=lambda text: key(Decimal(text))) == order


def test_java_makes_the_same_keys_and_computes_exactly(spark: SparkSession) -> None:
    register(spark)
    texts = ["0", "-0.0", "7.50", "-1e-7", "1e40", "-123456789012345678901234567890.25", "NaN"]
    texts += ["Infinity", "-Infinity", "0.1"]
    rows = ", ".join(f"('{text}')" for text in texts)
    read = f"{numbers.READ}(t)"
    table = spark.sql(
        f"select {read} k, {numbers.TEXT}({read}) w, {numbers.DOUBLE}({read}) d, "
        f"{numbers.READ}({numbers.TEXT}({read})) again, "
        f"{numbers.TEXT}({numbers.ADDED}({read}, {numbers.READ}('0.25'))) s from values {rows} v(t)"
    ).collect()
    for text, row in zip(texts, table, strict=True):
        value = Decimal(text)
        assert row.k == row.again == key(value)
        if value.is_finite():
            assert Fraction(row.w) == Fraction(value)
            assert Fraction(row.s) == Fraction(value) + Fraction(1, 4)
            assert row.d == float(value)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("^a.$", r"(?sU)\Aa.\z"),
        (r"(?iw)^\^[$^&[]\$$", r"(?sUiu)(?:\A|(?<=\n))\^[$^\&\[]\$(?:\z|(?=\n))"),
        ("[]a]b", r"(?sU)[\]a]b"),
    ],
)
def test_patterns_keep_their_meaning_in_java(written: str, expected: str) -> None:
    assert java_pattern(written) == expected


def test_replacements_keep_their_meaning_in_java() -> None:
    assert java_replacement(r"$\1\\\&") == r"\$$1\\$0"
