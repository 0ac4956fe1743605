"""SPARQL over a large history, on PostgreSQL and on Spark: ``python -m benchmarks.spark_sparql``.

Ten questions; most read all of a property. Spark is
warm: one session answers all questions, each of them twice, and the second time counts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.history import DAY, EX, LINE, ROOMS, START, STATEMENTS, load
from sensorstream.history import embedded
from sensorstream.history.asking import query_run
from sensorstream.history.asking.checked_question import (
    AtInstant,
    CheckedQuestion,
    Interval,
    read_question,
)
from sensorstream.history.asking.query_answer import Answer, Row, Solutions
from sensorstream.history.database import connect
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.launch import spark_session
from sensorstream.spark.sparql.spark_query import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON: Final = AtInstant(LINE.of(START) + 5 * DAY + DAY // 2)
FIFTH: Final = Interval(LINE.of(START) + 5 * DAY, LINE.of(START) + 6 * DAY)
ROOM: Final = f"<{EX}room-{ROOMS // 2}>"
QUESTIONS: Final[Sequence[tuple[str, AtInstant | Interval | None, str]]] = (
    ("count all", None, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
    ("classes", None, "SELECT ?c (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c"),
    (
        "mean by room",
        None,
        "SELECT ?r (AVG(?v) AS ?a) { ?s :isIn ?r ; :hasCertainty ?v } GROUP BY ?r",
    ),
    (
        "mean by room, a day",
        FIFTH,
        "SELECT ?r (AVG(?v) AS ?a) { ?s :isIn ?r ; :hasCertainty ?v } GROUP BY ?r",
    ),
    ("high values", None, "SELECT (COUNT(*) AS ?n) { ?s :hasCertainty ?v FILTER(?v > 50) }"),
    ("in two rooms", None, "SELECT (COUNT(*) AS ?n) { ?s :isIn ?a, ?b FILTER(STR(?a) < STR(?b)) }"),
    ("who is not", None, "SELECT (COUNT(*) AS ?n) { ?s a :Human MINUS { ?s a :Actor } }"),
    ("the highest", None, "SELECT ?s ?v { ?s :hasCertainty ?v } ORDER BY DESC(?v) ?s LIMIT 10"),
    ("the state at noon, counted", NOON, "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"),
    (
        "a room's values",
        None,
        f"SELECT ?s ?v {{ ?s :isIn {ROOM} ; :hasXLocation ?v }} LIMIT 100000",
    ),
)
ROWS: Final = 1_000_000


def main(arguments: Sequence[str]) -> int:
    """Load, ask both, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=float, default=1.0, help="in millions: 1, 5, 20")
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as folder,
        embedded.start(Path(folder)) as server,
    ):
        place = HistoryPlace(server.url, Path(folder) / "archive")
        load(server.url, round(options.statements * 1e6) // STATEMENTS)
        connection = connect(server.url)
        connection.autocommit = True
        connection.cursor().execute("vacuum analyze")
        connection.close()
        with spark_session(SparkSettings(options.master)) as spark:
            print(f"{'question':32}{'rows':>8}{'PostgreSQL s':>14}{'Spark s':>10}{'ratio':>8}")
            for name, moment, text in QUESTIONS:
                asked = read_question(f"PREFIX : <{EX}> {text}", LINE)
                question = replace(asked, time=moment)
                limits = query_run.AskingLimits(900.0, ROWS)
                there, took = _timed(partial(_in_postgresql, server.url, question, limits))
                here = partial(_on_spark, spark, place, question)
                _timed(here)
                found, spent = _timed(here)
                same = "" if Counter(found) == Counter(there) else "  THE ANSWERS DIFFER"
                told = f"{name:32}{len(found):8}{took:14.2f}{spent:10.2f}{took / spent:8.2f}"
                print(f"{told}{same}", flush=True)
    return 0


def _in_postgresql(
    url: str, question: CheckedQuestion, limits: query_run.AskingLimits
) -> list[Row]:
    with query_run.answered(url, question, limits) as answer:
        return _rows(answer)


def _on_spark(spark: SparkSession, place: HistoryPlace, question: CheckedQuestion) -> list[Row]:
    return _rows(ask(spark, place, question, row_limit=ROWS))


def _rows(answer: Answer) -> list[Row]:
    assert isinstance(answer, Solutions)
    return list(answer.rows)


def _timed(asked: Callable[[], list[Row]]) -> tuple[list[Row], float]:
    begun = time.perf_counter()
    rows = asked()
    return rows, time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
