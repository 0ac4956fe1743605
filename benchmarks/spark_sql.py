"""Questions over a large history, on PostgreSQL and on Spark: ``python -m benchmarks.spark_sql``.

The history is that of :mod:`benchmarks.history`: eight statements an individual. Spark is warm: one
session answers all questions, each of them twice, and the second time counts. The ratio is how many
times faster than PostgreSQL Spark is. The memory is the
most that this process, the JVM and Spark's Python workers had in all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

import psutil

from benchmarks.history import DAY, DAYS, EX, LINE, SCHEMA, START, STATEMENTS, load
from sensorstream.archive.archive_moves import archive
from sensorstream.history import embedded
from sensorstream.history.database import connect
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.view_definitions import view_definitions
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.bulk_sql import ask, prepare
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.launch import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUESTIONS: Final = {
    "count the statements": "select count(*) from statements",
    "classes": "select class, count(*) as n from individuals group by class order by class",
    "mean certainty by room": (
        "select is_in, count(*) as n, avg(has_certainty) as mean from human "
        "group by is_in order by n desc, is_in limit 10"
    ),
    "certainty by hour": (
        "select date_trunc('hour', time) as hour, avg(has_certainty) as mean, "
        "percentile_cont(0.9) within group (order by has_certainty) as high "
        "from human group by 1 order by 1"
    ),
    "pairs in a room at one place": (
        "select count(*) from human a join human b on a.is_in = b.is_in "
        "and a.has_x_location = b.has_x_location and a.iri < b.iri"
    ),
    "one property": "select min(value) as low, max(value) as high from has_x_location",
    "one hour": (
        "select count(*), avg(number) from statements where valid_from <= '2014-08-05T12:00:00Z' "
        "and valid_to > '2014-08-05T11:00:00Z'"
    ),
    "one human": f"select count(*), max(object) from statements where subject = '{EX}human-77'",
}
VIEWS: Final = view_definitions(SCHEMA, LINE)
TIMEOUT: Final = 900


def main(arguments: Sequence[str]) -> int:
    """Load, ask both, print; for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--statements", type=float, nargs="+", default=[1.0], help="in millions: 1 5 20"
    )
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--archived", action="store_true", help="once more, with half in Parquet")
    options = parser.parse_args(arguments)
    for millions in options.statements:
        print(f"{millions:g} million statements")
        with (
            tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as folder,
            embedded.start(Path(folder)) as server,
        ):
            place = HistoryPlace(server.url, Path(folder) / "archive")
            load(place.url, round(millions * 1e6) // STATEMENTS)
            _vacuum(place.url)
            begun = time.perf_counter()
            with spark_session(SparkSettings(options.master)) as spark, _Memory() as memory:
                print(f"{'Spark starts':40}{time.perf_counter() - begun:12.1f} s")
                told = _compared(spark, place)
                if options.archived:
                    archive(place.url, place.archive, LINE.of(START) + DAYS // 2 * DAY, LINE)
                    _vacuum(place.url)
                    print("half of the days archived, beside PostgreSQL with all")
                    _compared(spark, place, told)
                print(f"{'most memory of Spark':40}{memory.most / 2**20:12.0f} MiB")
    return 0


def _vacuum(url: str) -> None:
    with closing(connect(url)) as connection:
        connection.autocommit = True
        connection.cursor().execute("vacuum analyze")


def _compared(
    spark: SparkSession,
    place: HistoryPlace,
    before: Mapping[str, tuple[SqlResult, float]] | None = None,
) -> Mapping[str, tuple[SqlResult, float]]:
    """Ask both and print; ``before``: what PostgreSQL has answered, and in how many seconds."""
    told = dict(before or {})
    print(f"{'question':40}{'PostgreSQL s':>14}{'Spark s':>10}{'ratio':>8}")
    for name, text in QUESTIONS.items():
        if before is None:
            told[name] = _timed(partial(run_sql, place.url, text, timeout=TIMEOUT, row_limit=1000))
        there, took = told[name]
        prepared = prepare(place.url, text, timeout=TIMEOUT)
        for _ in range(2):
            here, spent = _timed(partial(ask, spark, place, VIEWS, prepared, row_limit=1000))
        same = "" if here == there else "  THE ANSWERS DIFFER"
        print(f"{name:40}{took:14.2f}{spent:10.2f}{took / spent:8.2f}{same}", flush=True)
    return told


def _timed(question: Callable[[], SqlResult]) -> tuple[SqlResult, float]:
    begun = time.perf_counter()
    answer = question()
    return answer, time.perf_counter() - begun


class _Memory:
    """The most resident memory of this process and those below it, looked at ten times a second."""

    def __init__(self) -> None:
        self.most = 0
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        own = psutil.Process()
        while not self._over.wait(0.1):
            total = 0
            for each in (own, *own.children(recursive=True)):
                try:
                    if "postgres" not in each.name():
                        total += each.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.most = max(self.most, total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
