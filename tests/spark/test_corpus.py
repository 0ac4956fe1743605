"""Each query of the corpus means the same on Spark as in PostgreSQL, or is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from sensorstream.errors import QueryError
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.view_definitions import view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.spark.bulk_sql import (
    collected,
    define_views,
    prepare,
    prepare_session,
    spark_errors,
)
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.sql.postgres.sql_reader import view_name
from tests.spark.corpus import Text, sql_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = sql_texts()
# Sums of doubles depend on the order of the rows in their last digits.
CLOSE = 1e-12


@pytest.fixture(scope="module")
def tables(spark: SparkSession, place: HistoryPlace, schema: Schema) -> None:
    """All views, held by Spark: reading them from PostgreSQL is tested elsewhere."""
    views = view_definitions(schema, Timeline.DATETIME)
    prepare_session(spark)
    with snapshot_of(place) as snapshot:
        define_views(spark, snapshot, views)
        for view in views:
            table = spark.table(view_name(view.name)).toArrow()
            spark.createDataFrame(table).coalesce(1).createOrReplaceTempView(view_name(view.name))


def test_the_corpus_has_two_hundred_texts() -> None:
    assert len(TEXTS) >= 200
    assert len({each.query for each in TEXTS}) == len(TEXTS)


def answered(spark: SparkSession, url: str, text: Text) -> SqlResult:
    prepared = prepare(url, text.query, timeout=300)
    with spark_errors():
        return collected(spark.sql(prepared.query.text), prepared, 1000)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("text", TEXTS, ids=[each.query[:60] for each in TEXTS])
def test_spark_and_postgresql_agree_or_spark_refuses(
    spark: SparkSession, url: str, text: Text
) -> None:
    if text.refused is not None:
        with pytest.raises(Exception, match=f"(?i){text.refused}") as caught:
            answered(spark, url, text)
        assert isinstance(caught.value, QueryError)
        return
    expected = run_sql(url, text.query, timeout=300, row_limit=1000)
    answer = answered(spark, url, text)
    assert answer.columns == expected.columns
    assert "order by" in text.query or len(expected.rows) <= 1
    _same(answer.rows, expected.rows)


def _same(given: Sequence[tuple[object, ...]], expected: Sequence[tuple[object, ...]]) -> None:
    assert [tuple(map(type, row)) for row in given] == [tuple(map(type, row)) for row in expected]
    assert [tuple(map(_close, row)) for row in given] == [
        tuple(map(_close, row)) for row in expected
    ]


def _close(value: object) -> object:
    """A double that equals another up to its last digits; everything else exactly."""
    if isinstance(value, float):
        return pytest.approx(value, rel=CLOSE, nan_ok=True)
    return value
