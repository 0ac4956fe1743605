from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from sensorstream.history.database import connect, engine
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.model.terms import IRI
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.spark.source_tables import SOURCE_TABLES, ColumnComparison, ColumnCondition
from tests.spark.conftest import EX, LINE, SCHEMA


def rows(url: str, text: str) -> list[tuple[int, ...]]:
    with closing(connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchall()


def test_terms_have_the_numbers_of_the_dictionary(place: HistoryPlace) -> None:
    human, nobody = IRI(f"{EX}Human"), IRI(f"{EX}nobody")
    ((number,),) = rows(place.url, f"select id from store.terms where text = '{human}'")
    with snapshot_of(place) as snapshot:
        assert snapshot.numbers([human, nobody]) == {human: number}


@pytest.mark.parametrize(
    ("conditions", "test"),
    [
        ([ColumnCondition("text", ColumnComparison.IN, (f"{EX}x", f"{EX}y"))], "text = '{EX}x'"),
        ([ColumnCondition("kind", ColumnComparison.LESS, (2,))], "kind < 2"),
        (
            [
                ColumnCondition("id", ColumnComparison.MORE, (3,)),
                ColumnCondition("id", ColumnComparison.AT_MOST, (9,)),
            ],
            "id between 4 and 9",
        ),
        ([ColumnCondition("text", ColumnComparison.IN, ("it's",))], "false"),
    ],
)
def test_terms_are_found_by_conditions_unless_they_are_many(
    place: HistoryPlace, conditions: Collection[ColumnCondition], test: str
) -> None:
    told = rows(place.url, f"select id from store.terms where {test.format(EX=EX)}")
    expected = sorted(number for (number,) in told)
    with snapshot_of(place) as snapshot:
        found = snapshot.terms(conditions, len(expected))
        assert found is not None
        assert sorted(found) == expected
        if expected:
            assert snapshot.terms(conditions, len(expected) - 1) is None


def test_what_changes_later_is_not_seen(database: str, tmp_path: Path) -> None:
    PostgresStore.open(database, LINE).close()
    views = engine(database)
    install_views(views, SCHEMA, LINE)
    views.dispose()
    insert = "insert into store.terms (id, kind, text) values ({n}, 0, 'urn:{n}') returning id"
    rows(database, insert.format(n=1001))
    with snapshot_of(HistoryPlace(database, tmp_path)) as snapshot:
        rows(database, insert.format(n=1002))
        every = [ColumnCondition("id", ColumnComparison.MORE, (1000,))]
        assert snapshot.terms(every, 9) == [1001]
        assert snapshot.files(SOURCE_TABLES["statements"], []) == []
        assert snapshot.files(SOURCE_TABLES["messages"], []) == []
