from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sensorstream.errors import Overrun, QueryError
from sensorstream.history.read_only_sql import SqlResult, open_sql, run_sql
from sensorstream.history.sql_formats import arrow_pieces, arrow_table, csv_pieces, csv_table
from tests.databases import make_history

EVERY_KIND = """
select true as flag, 7::int2 as small, 7 as whole, 7::int8 as large, 0.5::float4 as half,
  0.25::float8 as quarter, 'a,"b"' as text, '\\xff00'::bytea as bytes, 'café'::bytea as letters,
  date '2014-08-01' as day, timestamptz '2014-08-01 12:00:00.000001Z' as moment,
  timestamp '2014-08-01 12:00' as clock, 12.50::numeric(6,2) as price, 1e20::numeric as big,
  array[1,2] as list, '{"a": 1}'::jsonb as object, null as nothing
union all
select null, null, null, null, null, null, null, null, null, null, null, null,
  null::numeric(6,2), null, null, null, null
"""


@pytest.fixture(scope="module")
def history(new_database: Callable[[], str]) -> str:
    url = new_database()
    make_history(url)
    return url


def as_csv(url: str, text: str) -> list[list[str]]:
    with open_sql(url, text, timeout=300) as stream:
        return list(csv.reader(io.StringIO(b"".join(csv_pieces(stream)).decode())))


def as_arrow(url: str, text: str) -> pa.Table:
    with open_sql(url, text, timeout=300) as stream:
        return pa.ipc.open_stream(b"".join(arrow_pieces(stream))).read_all()


def test_every_kind_of_value_has_a_text_in_csv(history: str) -> None:
    head, values, nothing = as_csv(history, EVERY_KIND)
    assert dict(zip(head, values, strict=True)) == {
        "flag": "true",
        "small": "7",
        "whole": "7",
        "large": "7",
        "half": "0.5",
        "quarter": "0.25",
        "text": 'a,"b"',
        "bytes": "/wA=",
        "letters": "café",
        "day": "2014-08-01",
        "moment": "2014-08-01T12:00:00.000001Z",
        "clock": "2014-08-01T12:00:00",
        "price": "12.50",
        "big": "100000000000000000000",
        "list": "[1, 2]",
        "object": '{"a": 1}',
        "nothing": "",
    }
    assert set(nothing) == {""}


def test_every_kind_of_value_has_a_type_in_arrow(history: str) -> None:
    table = as_arrow(history, EVERY_KIND)
    assert {each.name: str(each.type) for each in table.schema} == {
        "flag": "bool",
        "small": "int16",
        "whole": "int32",
        "large": "int64",
        "half": "float",
        "quarter": "double",
        "text": "string",
        "bytes": "binary",
        "letters": "binary",
        "day": "date32[day]",
        "moment": "timestamp[us, tz=UTC]",
        "clock": "timestamp[us]",
        "price": "decimal128(6, 2)",
        "big": "double",
        "list": "string",
        "object": "string",
        "nothing": "string",
    }
    values, nothing = table.to_pylist()
    assert values["bytes"] == b"\xff\x00"
    assert values["day"] == date(2014, 8, 1)
    assert values["moment"] == datetime(2014, 8, 1, 12, 0, 0, 1, tzinfo=UTC)
    assert values["price"] == Decimal("12.50")
    assert (values["big"], values["list"], values["object"]) == (1e20, "[1, 2]", '{"a": 1}')
    assert set(nothing.values()) == {None}


def test_an_answer_of_many_batches_is_whole_and_in_order(history: str) -> None:
    text = "select n, repeat('x', n % 50) as x from generate_series(1, 30000) n"
    expected = run_sql(history, text, timeout=300, row_limit=30_000).rows
    assert [(int(n), x) for n, x in as_csv(history, text)[1:]] == list(expected)
    table = as_arrow(history, text)
    assert [tuple(row.values()) for row in table.to_pylist()] == list(expected)


def test_large_rows_come_few_at_a_time(history: str) -> None:
    text = "select repeat('x', 1000000) as x from generate_series(1, 60)"
    with open_sql(history, text, timeout=60) as stream:
        sizes = [len(rows) for rows in stream.batches]
    assert sum(sizes) == 60
    assert set(sizes) == {5, 0}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select repeat('x', 17000000)", "a row of the answer has 17000002 bytes"),
        ("select repeat('x', 600000000)", "more memory than PostgreSQL has for it"),
        ("select repeat('x', 1000000) from generate_series(1, 200)", "more than 134,217,728 bytes"),
        ("select array_fill(1, array[9000000])", "a row of the answer has"),
    ],
)
def test_an_answer_has_limits_of_memory(history: str, text: str, told: str) -> None:
    with pytest.raises(Overrun, match=told):
        run_sql(history, text, timeout=300, row_limit=1000)


def test_columns_of_every_kind_are_fetched(history: str) -> None:
    rows = run_sql(
        history,
        "select row(n, 'a'), null::text, 'x'::varchar(3), 1.50::numeric(5, 2), pg_sleep(0), "
        "'{1,2}'::int[], 'b'::char(3), n as n, n as n from generate_series(1, 3) n",
        timeout=300,
        row_limit=10,
    ).rows
    assert [(*row[:5], row[5], *row[7:]) for row in rows] == [
        (f"({n},a)", None, "x", Decimal("1.50"), "", [1, 2], n, n) for n in (1, 2, 3)
    ]


def test_no_rows_still_have_columns(history: str) -> None:
    text = "select 1 as n, 'a' as x where false"
    assert as_csv(history, text) == [["n", "x"]]
    table = as_arrow(history, text)
    assert (table.num_rows, table.column_names) == (0, ["n", "x"])


def test_a_fault_among_the_rows_is_told(history: str) -> None:
    text = "select 1 / (9000 - n) as x from generate_series(1, 20000) n"
    with open_sql(history, text, timeout=300) as stream:
        pieces = csv_pieces(stream)
        assert next(pieces).startswith(b"x\n0\n")
        with pytest.raises(QueryError, match="division by zero"):
            list(pieces)


def test_the_time_limit_holds_for_later_batches_too(history: str) -> None:
    text = "select case when n > 1000 then pg_sleep(60) end from generate_series(1, 20000) n"
    with (
        open_sql(history, text, timeout=3) as stream,
        pytest.raises(Overrun, match="took longer than limits"),
    ):
        list(stream.batches)


def test_a_number_without_a_place_in_its_column_is_refused(history: str) -> None:
    with pytest.raises(QueryError, match="column 'n' has a value that is no decimal"):
        as_arrow(history, "select 'NaN'::numeric(5, 2) as n")


def test_a_result_in_memory_has_the_same_forms() -> None:
    table = SqlResult(("n", "x"), ((1, True), (None, "a")))
    assert csv_table(table) == b"n,x\n1,true\n,a\n"
    read = pa.ipc.open_stream(arrow_table(table)).read_all()
    assert read.to_pylist() == [{"n": 1, "x": "True"}, {"n": None, "x": "a"}]
