"""For Spark, PostgreSQL and the archive are one table, of which it reads what a question needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sensorstream.archive.archive_moves import archive, restore
from sensorstream.archive.erasure import erase
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.engine.checkpoint import dump
from sensorstream.errors import ArchiveError
from sensorstream.history.database import connect
from sensorstream.history.partitions import partitions
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.store import PostgresStore
from sensorstream.history.view_definitions import view_definitions
from sensorstream.model.terms import IRI
from sensorstream.spark import bulk_sql, spark_relations
from sensorstream.spark.bulk_sql import answering, ask, prepare
from sensorstream.spark.copy_reader import HistoryReader, Range
from sensorstream.spark.history_snapshot import HistoryPlace
from tests.archive.conftest import DAY, EX, LINE, SCHEMA, START, make
from tests.archive.test_erasure import state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sensorstream.spark.source_tables import SourceTable

VIEWS = view_definitions(SCHEMA, LINE)
# Partitions end at the first, third, and fifth midnight.
HALF = LINE.of(START) // DAY * DAY + 3 * DAY
ALL = HALF + 100 * DAY
SECOND, THIRD = "2014-08-02T00:00:00Z", "2014-08-03T00:00:00Z"
MOMENT = "2014-08-02T08:01:00Z"
ONE = f"{EX}human-7"
COUNT = "select count(*), count(distinct subject), max(number) from statements where number < 9"
TEXTS = (
    COUNT,
    "select * from individuals order by iri, time, class",
    "select * from human order by iri, time, x limit 90",
    "select seq, id, source, status, content from messages order by seq",
    f"select * from statements where subject = '{ONE}' order by valid_from, predicate, object",
    f"select count(*), min(valid_from) from statements where subject in ('{ONE}', 'no', 'one')",
    "select iri from human where iri = 'nobody'",
    # As of an instant, a span, an instant at which something began.
    "select subject, predicate, object from statements where "
    f"valid_from <= '{MOMENT}' and valid_to > '{MOMENT}' order by 1, 2, 3",
    f"select count(*) from x where valid_from between '{SECOND}' and '{THIRD}'",
    f"select iri, value from x where valid_from >= '{SECOND}' and valid_to < '{THIRD}' "
    "and number > 11 order by iri, valid_from",
    f"select iri, time, has_name from human where time >= '{THIRD}' order by iri, time",
    f"select count(*) from individuals where expired_at < '{SECOND}' or iri = '{ONE}'",
    # Conditions that hold for one use of a view and not for another.
    f"select count(*) from x a join x b on a.iri = b.iri and a.valid_from < '{SECOND}' "
    f"and b.valid_from > '{THIRD}'",
    f"select count(*) from x where valid_to < '{SECOND}' union all "
    "select count(*) from x union all select count(*) from x where false order by 1",
    f"with a as (select iri, value from x where valid_to > '{SECOND}') "
    "select count(*), max(l.value) from a l left join a r on r.iri = l.iri and r.value > 20",
    f"select i.iri, count(r.value) from individuals i left join has_location r on r.iri = i.iri "
    f"and r.valid_from > '{THIRD}' where not i.iri = '{ONE}' group by i.iri order by i.iri",
    f"select count(*) from statements where valid_to > (select min(time) from human "
    f"where time > '{SECOND}') and inferred and not superseded",
    "select count(*), min(subject) from statements where kind = 'blank'",
)


@pytest.fixture(scope="module")
def before(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> HistoryPlace:
    """A history of four days, of which three are archived; see ``recorded``."""
    url = new_database()
    make(url)
    # A folder whose name means something in a pattern.
    return HistoryPlace(url, tmp_path_factory.mktemp("archive") / "[of] {this}, 50% *")


@pytest.fixture(scope="module")
def recorded(before: HistoryPlace) -> Sequence[SqlResult]:
    """What PostgreSQL answered when it had all; then the first days were archived."""
    told = [run_sql(before.url, text, timeout=300, row_limit=10_000) for text in TEXTS]
    assert archive(before.url, before.archive, HALF, LINE)
    return told


@pytest.fixture
def place(before: HistoryPlace, recorded: Sequence[SqlResult]) -> HistoryPlace:
    assert len(recorded) == len(TEXTS)
    return before


def asked(spark: SparkSession, place: HistoryPlace, text: str) -> SqlResult:
    return ask(spark, place, VIEWS, prepare(place.url, text, timeout=300), row_limit=10_000)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The partitions and the files that are read, and the conditions, by table."""
    found: dict[str, list[str]] = {}
    plain, files = HistoryReader.relation, spark_relations._archived

    def relation(self: HistoryReader, spark: SparkSession, ranges: Sequence[Range]) -> DataFrame:
        told = found.setdefault(self.table.name, [])
        told += [each.relation for each in ranges]
        return plain(self, spark, ranges)

    def archived(spark: SparkSession, table: SourceTable, paths: Sequence[Path]) -> DataFrame:
        found.setdefault(table.name, []).extend(each.name for each in paths)
        return files(spark, table, paths)

    monkeypatch.setattr(HistoryReader, "relation", relation)
    monkeypatch.setattr(spark_relations, "_archived", archived)
    return found


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_an_answer_is_the_same_when_days_are_archived(
    number: int, spark: SparkSession, place: HistoryPlace, recorded: Sequence[SqlResult]
) -> None:
    expected = recorded[number]
    assert expected.rows or "nobody" in TEXTS[number]
    # A NaN does not equal itself, but its text does.
    assert repr(asked(spark, place, TEXTS[number])) == repr(expected)


def test_a_span_of_time_is_read_from_its_partitions_and_files_only(
    spark: SparkSession, place: HistoryPlace, read: dict[str, list[str]]
) -> None:
    with closing(connect(place.url)) as connection, connection.cursor() as cursor:
        (left,) = (each.name for each in partitions(cursor))
    files = [f"{each.name}.{each.id}.parquet" for each in kept_parts(place.url, State.ARCHIVED)]
    assert len(files) == 2
    asked(spark, place, f"select count(*) from x where valid_to < '{SECOND}'")
    assert read["statements"] == files[:1]
    read.clear()
    asked(spark, place, f"select count(*) from x where valid_to >= '{THIRD}'")
    assert sorted(read["statements"]) == sorted([left, files[1]])
    read.clear()
    # What an individual had at its end, ended with it.
    asked(spark, place, f"select max(x), count(*) from human where expired_at < '{SECOND}'")
    assert set(read["statements"]) == {files[0]}
    read.clear()
    asked(spark, place, "select count(*) from x where false")
    assert not read


def test_terms_and_stays_that_are_looked_up_for_nothing_are_not_read(
    spark: SparkSession, place: HistoryPlace, read: dict[str, list[str]]
) -> None:
    for text, tables in (
        ("select count(*), max(number) from statements", {"statements"}),
        ("select count(*) from statements where superseded", {"statements", "stays"}),
        ("select object, count(*) from statements group by 1 order by 1", {"statements", "terms"}),
        ("select min(value), count(*) from x", {"statements"}),
        ("select count(iri) from x", {"statements", "terms"}),
    ):
        expected = asked(spark, place, text)
        assert set(read) == tables, text
        assert expected.rows
        read.clear()


def test_a_subject_is_read_by_its_number_and_only_the_columns_that_are_needed(
    spark: SparkSession, place: HistoryPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[HistoryReader] = []
    plain = HistoryReader.relation

    def relation(self: HistoryReader, spark: SparkSession, ranges: Sequence[Range]) -> DataFrame:
        made.append(self)
        return plain(self, spark, ranges)

    monkeypatch.setattr(HistoryReader, "relation", relation)
    asked(spark, place, f"select max(number) from x where iri = '{ONE}'")
    (statements,) = (each for each in made if each.table.name == "statements")
    assert [each.name for each in statements.table.columns] == ["subject", "predicate", "number"]
    with closing(connect(place.url)) as connection:
        told = statements.tests.as_string(connection)
        cursor = connection.cursor()
        cursor.execute(
            "select id from store.terms where text in (%s, %s) order by text", (ONE, f"{EX}x")
        )
        ((subject,), (predicate,)) = cursor.fetchall()
    assert f"subject in ({subject})" in told
    assert f"predicate in ({predicate})" in told


def test_a_file_that_goes_while_it_is_read_is_an_error_and_the_question_is_repeated(
    spark: SparkSession,
    place: HistoryPlace,
    recorded: Sequence[SqlResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (first, *_) = kept_parts(place.url, State.ARCHIVED)
    prepared = prepare(place.url, COUNT, timeout=300)

    def broken() -> None:
        with answering(spark, place, VIEWS, prepared) as frame:
            restore(place.url, place.archive, first.name, LINE)
            frame.collect()

    with pytest.raises(ArchiveError, match="the archive has changed"):
        broken()
    archive(place.url, place.archive, HALF, LINE)
    plain = bulk_sql.collected
    goes = iter([True, False])

    def result(*given: object) -> SqlResult:
        if next(goes):
            (first, *_) = kept_parts(place.url, State.ARCHIVED)
            restore(place.url, place.archive, first.name, LINE)
        return plain(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(bulk_sql, "collected", result)
    assert ask(spark, place, VIEWS, prepared, row_limit=10) == recorded[0]
    assert next(goes, None) is None
    archive(place.url, place.archive, HALF, LINE)


def test_a_file_that_is_missing_is_an_error(spark: SparkSession, place: HistoryPlace) -> None:
    with pytest.raises(ArchiveError, match="is missing: expected the files"):
        asked(spark, HistoryPlace(place.url, place.archive / "elsewhere"), COUNT)


# The last tests of this module change the history.
def test_counts_are_equal_while_an_archive_runs_beside(
    spark: SparkSession, place: HistoryPlace, recorded: Sequence[SqlResult]
) -> None:
    moved: list[object] = []
    beside = Thread(target=lambda: moved.extend(archive(place.url, place.archive, ALL, LINE)))
    beside.start()
    while beside.is_alive():
        assert asked(spark, place, COUNT) == recorded[0]
        # The archive gets its lock between two questions.
        beside.join(1.0)
    assert moved
    assert asked(spark, place, COUNT) == recorded[0]


def test_an_individual_that_is_erased_is_gone(spark: SparkSession, place: HistoryPlace) -> None:
    with PostgresStore.open(place.url, LINE) as store:
        store.save_checkpoint(store.last_seq(), dump(state(IRI(f"{EX}human-8"))))
    text = "select subject, count(*) from statements group by 1 order by 1"
    before = asked(spark, place, text).rows
    assert ONE in {subject for subject, _ in before}
    stays = asked(spark, place, f"select distinct time from individuals where iri = '{ONE}'").rows
    assert len(stays) == 4
    erase(place.url, place.archive, IRI(ONE), LINE, lambda _: False)
    own = {f"b{number}" for number in (7, 47, 87, 127)}
    assert asked(spark, place, text).rows == tuple(
        row for row in before if row[0] != ONE and row[0] not in own
    )
    assert asked(spark, place, f"select 1 from individuals where iri = '{ONE}'").rows == ()
