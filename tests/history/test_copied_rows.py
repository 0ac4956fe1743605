"""Rows as COPY gives them, against those of a cursor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
import pytest
from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history import copied_rows
from sensorstream.history.copied_rows import copied
from sensorstream.history.database import connect

COLUMNS = {
    "n": ("n::bigint", pa.int64()),
    "d": ("n / 8.0::double precision", pa.float64()),
    "y": ("case when n % 3 > 0 then n % 2 = 0 end", pa.bool_()),
    "t": ("(array['', null, 'NULL', '\\N', '\"a,\n', repeat('ü', 999)])[n % 6 + 1]", pa.string()),
    "b": ("case when n % 2 = 0 then sha256(n::text::bytea) end", pa.binary()),
    "m": ("timestamptz '1969-12-31Z' + n * interval '1 hour'", pa.timestamp("us", "UTC")),
}
SCHEMA = pa.schema([(name, kind) for name, (_, kind) in COLUMNS.items()])
TOLD = {"b": "encode({}, 'hex')", "m": "(extract(epoch from {}) * 1000000)::bigint"}


@pytest.fixture
def cursor(postgres: str) -> Iterator[extensions.cursor]:
    with closing(connect(postgres)) as connection, connection.cursor() as made:
        yield made


def query(count: int, *, copy: bool) -> str:
    shown = (
        f"{TOLD.get(name, '{}').format(f'({text})') if copy else text} as {name}"
        for name, (text, _) in COLUMNS.items()
    )
    return f"select {', '.join(shown)} from generate_series(1, {count}) n"


def test_rows_come_as_a_cursor_gives_them(
    cursor: extensions.cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_rows, "_TEXT_BLOCK", 1 << 14)
    batches = list(copied(cursor, query(500, copy=True), SCHEMA))
    assert len(batches) > 9
    found = [tuple(row.values()) for row in pa.Table.from_batches(batches).to_pylist()]
    cursor.execute(query(500, copy=False))
    assert found == [
        (*row[:2], row[2], row[3], None if row[4] is None else bytes(row[4]), row[5])
        for row in cursor.fetchall()
    ]


def test_no_row_is_no_batch(cursor: extensions.cursor) -> None:
    assert list(copied(cursor, query(0, copy=True), SCHEMA)) == []


def test_a_failure_on_the_way_is_an_error_after_the_rows_before_it(
    cursor: extensions.cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_rows, "_BLOCK", 1 << 12)
    rows = copied(
        cursor, "select 1 / (n - 90000) from generate_series(1, 99999) n", pa.schema({"n": "int64"})
    )
    assert next(rows).num_rows
    with pytest.raises(HistoryError, match="cannot read the history: division by zero"):
        list(rows)


def test_a_reader_that_stops_half_way_ends_the_copy(
    cursor: extensions.cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_rows, "_BLOCK", 1 << 12)
    many = "select n from generate_series(1, 3000000) n"
    rows = copied(cursor, many, pa.schema({"n": "int64"}))
    assert next(rows).num_rows
    rows.close()  # type: ignore[attr-defined]
