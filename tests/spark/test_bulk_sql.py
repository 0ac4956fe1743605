from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.view_definitions import View, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark import bulk_sql
from sensorstream.spark.bulk_sql import answering, ask, prepare, run_spark_sql
from sensorstream.spark.history_snapshot import HistoryPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def views(schema: Schema) -> tuple[View, ...]:
    return view_definitions(schema, Timeline.DATETIME)


# What the translation makes of a text is tested with the corpus; here Spark reads PostgreSQL.
@pytest.mark.parametrize(
    "text",
    [
        "select iri, x, speed, awake, seen, has_name, has_location, time, expired_at, message_id "
        "from human order by time, iri limit 60",
        "select history.human.iri, class, count(*) from history.human join individuals i "
        "on i.iri = human.iri and i.time = human.time where human.x > 70 and human.time >= "
        "timestamptz '2014-08-01 08:01:00Z' group by 1, 2 order by 1, 2",
        # The same view twice with different conditions: each reads what it asked for.
        "select a.object, b.object from statements a join statements b on a.subject = b.subject "
        "and a.valid_from = b.valid_from where a.predicate like '%#hasLocation' "
        "and b.predicate like '%#x' and b.number > 75 order by 1, 2",
        "select * from room",
        "select subject, predicate, object, kind, datatype, language, number, moment, valid_from, "
        "inferred, superseded from statements where superseded or kind = 'blank' "
        "order by subject, object limit 30",
        "select id, rule, severity, text, key, raised_at, message_id from alerts order by seq",
        "select count(*), 1, max(x) from human",
    ],
)
def test_spark_answers_as_postgresql_does(
    spark: SparkSession, place: HistoryPlace, views: Sequence[View], text: str
) -> None:
    expected = run_sql(place.url, text, timeout=300, row_limit=1000)
    answer = ask(spark, place, views, prepare(place.url, text, timeout=300), row_limit=1000)
    assert answer == expected
    assert [_kinds(row) for row in answer.rows] == [_kinds(row) for row in expected.rows]


def _kinds(row: tuple[object, ...]) -> list[type]:
    return [type(each) for each in row]


def test_the_row_limit_cuts_off_and_says_so(
    spark: SparkSession, place: HistoryPlace, views: Sequence[View]
) -> None:
    prepared = prepare(place.url, "select seq from messages order by seq", timeout=300)
    answer = ask(spark, place, views, prepared, row_limit=2)
    assert answer == SqlResult(("seq",), ((1,), (2,)), truncated=True)


def test_the_executors_write_all_rows_to_an_output(
    spark: SparkSession,
    place: HistoryPlace,
    schema: Schema,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk_sql, "spark_session", lambda _: nullcontext(spark))

    def ask(output: str) -> SqlResult:
        return run_spark_sql(
            place,
            "select seq as n, id from messages order by seq",
            schema=schema,
            timeline=Timeline.DATETIME,
            at=SparkSettings(),
            timeout=300,
            row_limit=1,
            output=output,
        )

    output = str(tmp_path / "with space.parquet")
    assert ask(output) == SqlResult(("output", "rows"), ((output, 20),), truncated=False)
    written = pyarrow.parquet.read_table(output)
    assert written["n"].to_pylist() == list(range(1, 21))
    with pytest.raises(QueryError, match="is there already"):
        ask(output)


def test_no_relation_of_unknown_size_is_copied_to_every_task(
    spark: SparkSession, place: HistoryPlace, views: Sequence[View]
) -> None:
    prepared = prepare(place.url, "select class, count(*) from individuals group by 1", timeout=300)
    with answering(spark, place, views, prepared) as frame:
        plan = frame._jdf.queryExecution().sparkPlan().toString()
    assert "Join" in plan
    assert "Broadcast" not in plan


def test_what_is_wrong_with_a_text_is_said_by_postgresql(url: str) -> None:
    with pytest.raises(QueryError, match="no_such_function") as caught:
        prepare(url, "select x,\n  no_such_function(x) from human", timeout=300)
    assert caught.value.position == Position("query", 2, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select sum(1 / (seq - 1)) from messages", "DIVIDE_BY_ZERO"),
        ("select sum(1.0 / (seq - 1)) from messages", "division by zero"),
        ("select sqrt(1 - seq) from messages", "square root of a negative number"),
        ("select sum(object::int) from statements", "invalid input syntax for a whole number"),
        ("select (seq * 1000000000)::int from messages", "CAST_OVERFLOW"),
        ("select seq * 9000000000000000000 from messages", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_what_postgresql_refuses_for_its_values_spark_refuses_too(
    spark: SparkSession, place: HistoryPlace, views: Sequence[View], text: str, reason: str
) -> None:
    with pytest.raises(QueryError):
        run_sql(place.url, text, timeout=300, row_limit=100)
    with pytest.raises(QueryError, match=reason):
        ask(spark, place, views, prepare(place.url, text, timeout=300), row_limit=100)
