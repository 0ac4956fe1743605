"""Columns as arrays of SQL: rows arrive as COPY stores them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg2 import extensions

from sensorstream.history.copying import RowShape, array_of, arrays_of

COLUMNS = {
    "n": "bigint",
    "s": "text",
    "t": "text",
    "b": "bytea",
    "d": "double precision",
    "r": "numeric",
    "y": "boolean",
    "m": "timestamptz",
}
TEXTS = st.text() | st.sampled_from(["", "NULL", "null", "{a,b}", '\\"', "'';", "\x00"])
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        TEXTS,
        st.none() | TEXTS,
        st.none() | st.binary(),
        st.none() | st.floats(),
        st.none() | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30)),
        st.none() | st.booleans(),
        st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def cursor(url: str) -> Iterator[extensions.cursor]:
    connection = psycopg2.connect(url, options="-c TimeZone=UTC")
    connection.autocommit = True
    with connection.cursor() as made:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        made.execute(f"create temporary table tried ({columns})")
        yield made
    connection.close()


def stored(cursor: extensions.cursor) -> list[Any]:
    cursor.execute("select * from tried")
    found = [tuple(map(_comparable, row)) for row in cursor.fetchall()]
    cursor.execute("truncate tried")
    return found


def _comparable(cell: object) -> object:
    if isinstance(cell, memoryview):
        return bytes(cell)
    return "NaN" if isinstance(cell, float) and math.isnan(cell) else cell


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_rows_are_stored_as_copy_stores_them(
    cursor: extensions.cursor, rows: list[tuple[Any, ...]]
) -> None:
    arrays = ", ".join(
        f"{array_of(column)}::{kind}[]"
        for kind, column in zip(COLUMNS.values(), zip(*rows, strict=True), strict=True)
    )
    query = f"insert into tried select * from unnest({arrays})"
    cursor.execute(query.encode("utf-8", "replace"))
    few = stored(cursor)
    RowShape("tried", tuple(COLUMNS)).copy(cursor, rows)
    assert few == stored(cursor)
    assert len(few) == len(rows)


def test_columns_without_rows_are_empty() -> None:
    assert arrays_of([], 2) == "'{}','{}'"
    assert arrays_of([(1, "a"), (2, None)], 2) == "'{1,2}','{\"a\",NULL}'"
