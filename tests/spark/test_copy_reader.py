from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pyarrow as pa
import pytest

from sensorstream.errors import HistoryError
from sensorstream.history import copied_rows
from sensorstream.history.database import connect
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline
from sensorstream.spark import copy_reader
from sensorstream.spark.copy_reader import HistoryReader
from sensorstream.spark.history_snapshot import HistoryPlace, HistorySnapshot, snapshot_of
from sensorstream.spark.source_tables import (
    SOURCE_TABLES,
    ColumnComparison,
    ColumnCondition,
    condition_of,
)
from tests.databases import execute, make_views
from tests.waiting import eventually

ROWS = 30_000


@pytest.fixture(scope="module")
def large(new_database: Callable[[], str]) -> str:
    """Statements in two partitions, with a rare predicate, and terms with odd texts."""
    url = new_database()
    with PostgresStore.open(url, Timeline.INTEGER):
        pass
    make_views(url)
    with closing(connect(url)) as connection, connection, connection.cursor() as cursor:
        for low, high in ((0, 20_000), (20_000, 40_000)):
            cursor.execute(
                f"create table store.part_{low} partition of store.statements "
                f"for values from ({low}) to ({high})"
            )
        cursor.execute(
            "insert into store.statements (subject, predicate, object, valid_from, valid_to, stay, "
            "message, number, inferred) select n, case when n %% 1000 = 0 then 7 else 8 end, n, n, "
            "n, n, n, n / 8.0, n %% 2 = 0 from generate_series(0, %s) n",
            (ROWS - 1,),
        )
        cursor.execute(
            "insert into store.terms (id, kind, text, number) values (1000001, 2, '', 'NaN'), "
            "(1000002, 2, repeat('long,\"\n', 300000), 9e30), (1000003, 2, '\\.', 2.0), "
            "(1000004, 2, 'NULL', -9007199254740993), (1000005, 2, '4.5', 4.5)"
        )
    with closing(connect(url)) as connection:
        connection.autocommit = True
        connection.cursor().execute("analyze store.statements")
    return url


def _reader(snapshot: HistorySnapshot, table: str, *columns: str, **equals: int) -> HistoryReader:
    conditions = [
        ColumnCondition(name, ColumnComparison.IN, (value,)) for name, value in equals.items()
    ]
    source = SOURCE_TABLES[table]
    told = condition_of(source, conditions)
    return HistoryReader(source.only(columns), snapshot.url, snapshot.id, told)


def _batches(reader: HistoryReader, snapshot: HistorySnapshot) -> Iterator[pa.RecordBatch]:
    return reader.read(reader.ranges(snapshot.cursor, 2))


def test_every_row_is_in_one_range_and_the_batches_are_small(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_reader, "_MOST_PAGES", 16)
    monkeypatch.setattr(copy_reader, "_FEWEST_PAGES", 4)
    monkeypatch.setattr(copied_rows, "_BLOCK", 1 << 12)
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        reader = _reader(snapshot, "statements", "subject", "number", "inferred")
        ranges = reader.ranges(snapshot.cursor, 2)
        assert len(ranges) > 8
        batches = list(_batches(reader, snapshot))
    rows = pa.Table.from_batches(batches)
    assert Counter(rows["subject"].to_pylist()) == Counter(range(ROWS))
    assert rows["number"].to_pylist() == [n / 8 for n in rows["subject"].to_pylist()]
    assert max(map(len, batches)) < 1000


def test_a_rare_value_is_found_by_its_index_and_a_common_one_by_pages(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_reader, "_MOST_PAGES", 16)
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        rare = _reader(snapshot, "statements", "subject", predicate=7)
        assert [each.high for each in rare.ranges(snapshot.cursor, 2)] == [None, None]
        found = pa.Table.from_batches(_batches(rare, snapshot))["subject"].to_pylist()
        assert sorted(found) == list(range(0, ROWS, 1000))
        common = _reader(snapshot, "statements", "subject", predicate=8)
        assert all(each.high for each in common.ranges(snapshot.cursor, 2))


def test_texts_and_numbers_come_as_they_are(large: str) -> None:
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        reader = _reader(snapshot, "terms", "id", "text", "number", "language")
        rows = pa.Table.from_batches(_batches(reader, snapshot)).to_pylist()
    by_id = {row["id"]: (row["text"], row["number"], row["language"]) for row in rows}
    assert by_id[1000001] == ("", "NaN", None)
    assert by_id[1000002] == ('long,"\n' * 300000, str(9 * 10**30), None)
    assert by_id[1000003] == ("\\.", "2.0", None)
    assert by_id[1000004] == ("NULL", "-9007199254740993", None)
    assert by_id[1000005] == ("4.5", "4.5", None)


def test_rows_of_later_and_partitions_that_would_go_do_not_change_the_answer(large: str) -> None:
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        reader = _reader(snapshot, "statements", "subject")
        with closing(connect(large)) as connection, connection.cursor() as cursor:
            cursor.execute(
                "insert into store.statements (subject, predicate, object, valid_from, valid_to, "
                "stay, message, inferred) values (-1, 8, 0, 0, 1, 0, 0, false)"
            )
            connection.commit()
            cursor.execute("set lock_timeout = '50ms'")
            with pytest.raises(psycopg2.errors.LockNotAvailable):
                cursor.execute("drop table store.part_0")
        rows = pa.Table.from_batches(_batches(reader, snapshot))
        assert Counter(rows["subject"].to_pylist()) == Counter(range(ROWS))
    execute(large, "delete from store.statements where subject = -1")


def test_a_snapshot_that_is_gone_is_an_error(large: str) -> None:
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        reader = _reader(snapshot, "statements", "subject")
        ranges = reader.ranges(snapshot.cursor, 2)
        snapshot.cursor.execute("select pg_backend_pid()")
        [(holder,)] = snapshot.cursor.fetchall()

    def holds() -> bool:
        with closing(connect(large)) as connection, connection.cursor() as cursor:
            cursor.execute("select 1 from pg_stat_activity where pid = %s", (holder,))
            return cursor.fetchone() is not None

    # PostgreSQL ends a transaction a moment after its client has hung up.
    eventually(lambda: not holds())
    with pytest.raises(HistoryError, match="snapshot"):
        list(reader.read(ranges[:1]))


def test_a_reader_that_stops_half_way_ends_its_copy(large: str) -> None:
    with snapshot_of(HistoryPlace(large, Path())) as snapshot:
        reader = _reader(snapshot, "statements", "subject")
        rows = _batches(reader, snapshot)
        assert next(iter(rows)).num_rows
        rows.close()  # type: ignore[attr-defined]
