from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.ipc
import pyarrow.parquet
import pytest

from sensorstream.history.asking.answer_formats import ARROW, CSV, PARQUET
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.spark.bulk_sql import prepare_session
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs.answer_files import (
    ANSWER,
    JSON,
    PIECES,
    first_rows,
    read_answer,
    write_plan,
    write_table,
    write_terms,
)
from sensorstream.spark.sparql.spark_query import answering
from tests.spark.conftest import EX, LINE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_table_has_its_rows_in_order_in_each_format(spark: SparkSession, tmp_path: Path) -> None:
    prepare_session(spark)
    frame = spark.sql(
        "select id, 'a\"' as a, null as nothing, id / 4D as a, X'00ff' as bytes, "
        "timestamp '2014-08-01 08:00:00.5' as time from range(0, 5, 1, 3) order by id desc"
    )
    names = ("n", "a", "nothing", "a", "bytes", "time")
    assert write_table(frame, names, tmp_path) == 5
    assert [each.name for each in tmp_path.iterdir()] == [ANSWER]
    time = datetime(2014, 8, 1, 8, 0, 0, 500_000, UTC)
    rows = [(n, 'a"', None, n / 4, b"\0\xff", time) for n in (4, 3, 2, 1, 0)]
    with (tmp_path / ANSWER).open("rb") as file:
        assert first_rows(file, 2) == (names, rows[:2])
        pieces = {}
        for media, made in PIECES.items():
            file.seek(0)
            pieces[media] = b"".join(made(file))
    told = json.loads(pieces[JSON])
    assert (tuple(told["columns"]), told["truncated"]) == (names, False)
    assert [row[:4] for row in told["rows"]] == [list(row[:4]) for row in rows]
    header, *lines = csv.reader(io.StringIO(pieces[CSV].decode()))
    assert tuple(header) == names
    assert [line[:4] for line in lines] == [[f"{n}", 'a"', "", f"{n / 4}"] for n in (4, 3, 2, 1, 0)]
    kept = pyarrow.parquet.ParquetFile(io.BytesIO(pieces[PARQUET])).read()
    assert list(zip(*(each.to_pylist() for each in kept.columns), strict=True)) == rows
    assert pyarrow.ipc.open_stream(pieces[ARROW]).read_all() == kept


def told(answer: Answer) -> object:
    match answer:
        case Solutions(names, rows):
            return names, sorted(rows, key=repr)
        case GraphAnswer(triples):
            return sorted(triples)
    return answer


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?name ?nothing { ?h :hasName ?name OPTIONAL { ?h :no ?nothing } }",
        "SELECT * { :human-7 a :Human }",
        "ASK { ?h :awake true }",
        "CONSTRUCT { ?h :seenAt ?time } { ?h :seen ?time }",
    ],
)
def test_terms_are_those_that_postgresql_answers(
    spark: SparkSession, place: HistoryPlace, tmp_path: Path, text: str
) -> None:
    question = read_question(f"PREFIX : <{EX}> {text}", LINE)
    with answered(place.url, question, AskingLimits(60.0, 10_000)) as answer:
        expected = told(answer)
    with answering(spark, place, question) as (query, frame):
        rows = write_terms(frame, query, tmp_path)
    with (tmp_path / ANSWER).open("rb") as file:
        found = told(read_answer(file))
    assert found == expected
    if isinstance(found, list | tuple):
        assert rows == len(found[1] if isinstance(found, tuple) else found)


def test_a_plan_has_its_parts_that_say_something(tmp_path: Path) -> None:
    assert write_plan({"algebra": "", "sql": "select", "plan": "Scan"}, tmp_path) == 2
    with (tmp_path / ANSWER).open("rb") as file:
        assert first_rows(file, 9) == (("part", "text"), [("sql", "select"), ("plan", "Scan")])
