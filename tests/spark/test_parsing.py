from __future__ import annotations

import pytest
from sqlglot import parse_one

from sensorstream.sql.spark_dialect import simplify


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("SELECT (a) AND ((b = 1)) AND (c OR d)", "SELECT a AND b = 1 AND (c OR d)"),
        ("SELECT NOT (a AND b) OR (c AND d)", "SELECT NOT (a AND b) OR c AND d"),
        ("SELECT (1 + x) * (y) - (2 - z)", "SELECT (1 + x) * y - (2 - z)"),
        ("SELECT (LOWER((a))) = (SELECT 1)", "SELECT LOWER(a) = (SELECT 1)"),
        ("SELECT (a OR b) IS NULL", "SELECT (a OR b) IS NULL"),
        ("SELECT CASE WHEN (a = 1) THEN (b) ELSE c END", "SELECT IF(a = 1, b, c)"),
        ("SELECT CASE WHEN a THEN b WHEN c THEN d END", "SELECT IF(a, b, IF(c, d, NULL))"),
        ("SELECT CASE x WHEN 1 THEN b END", "SELECT CASE x WHEN 1 THEN b END"),
        (
            "SELECT CASE WHEN CASE WHEN a THEN b END THEN (1) END FROM t WHERE (a OR b)",
            "SELECT IF(IF(a, b, NULL), 1, NULL) FROM t WHERE a OR b",
        ),
    ],
)
def test_what_says_nothing_is_left_out_and_the_rest_means_the_same(
    given: str, expected: str
) -> None:
    tree = parse_one(given, read="spark")
    simplify(tree)
    assert tree.sql("spark") == expected
