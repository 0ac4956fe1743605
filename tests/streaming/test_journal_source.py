"""What Spark reads of the journal in a batch, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import pytest

from sensorstream.history.effects_writer import EngineStanding, Standings
from sensorstream.history.store import PostgresStore
from sensorstream.journal.message import PassTime
from sensorstream.journal.records import Record
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits
from sensorstream.streaming.journal_source import JournalReader
from tests.streaming.conftest import seen
from tests.streaming.stand_in import reader, rows_between

NOTHING = {"seq": 0, "controls": 0}
Batch = dict[str, list[int]]


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    with PostgresStore.open(database, Timeline.INTEGER) as found:
        yield found


def read(source: JournalReader, start: dict[str, int], end: dict[str, int]) -> Batch:
    """The numbers of the entries of each key, none for those that are woken."""
    found: Batch = {}
    for row in rows_between(source, start, end):
        assert row["controls"] == end["controls"]
        seqs = [each[0] for each in pickle.loads(row["entries"])]
        assert row["first"] == (seqs[0] if seqs else 0)
        found.setdefault(row["key"], []).extend(seqs)
    return found


def test_a_batch_has_the_entries_by_key_and_wakes_who_waits_for_the_time_that_it_tells(
    store: PostgresStore, record: Callable[..., Record]
) -> None:
    store.append([record(n, seen("x", n, (1, 1)), f"cam{n % 2}") for n in range(1, 5)])
    source = reader(store.url)
    first = source.latestOffset(NOTHING, source.getDefaultReadLimit())
    assert first == {"seq": 4, "controls": 0}
    assert read(source, NOTHING, first) == {"=cam1": [1, 3], "=cam0": [2, 4]}

    changed = [
        EngineStanding(f"=cam{n}", 1, Waits(moved=moved), 4, 4) for n, moved in ((0, 9), (1, 20))
    ]
    store.place(Standings(4, changed))
    time = PassTime(9, 9).encode()[0]
    store.append([record(5, time, kind="time"), record(6, seen("x", 6, (1, 1)), "cam2")])
    second = source.latestOffset(first, source.getDefaultReadLimit())
    assert second == {"seq": 6, "controls": 5}
    expected: Batch = {"": [5], "=cam2": [6], "=cam0": []}
    assert read(source, first, second) == expected
    store.place(Standings(6, [EngineStanding("=cam0", 0, Waits(), 9, None)]))
    assert read(source, first, second) == expected, "a repeated batch is the same"

    store.append([record(7, b"ASK {}", "q", kind="query"), record(8, time, kind="time")])
    third = source.latestOffset(second, source.getDefaultReadLimit())
    assert read(source, second, third) == {"": [7, 8], "=cam1": []}, "a query is for all that hold"


def test_a_batch_has_at_most_so_many_entries(
    store: PostgresStore, record: Callable[..., Record]
) -> None:
    store.append([record(n, b"<a/>", "cam") for n in range(1, 8)])
    source = reader(store.url, batch=5)
    end = source.latestOffset(NOTHING, source.getDefaultReadLimit())
    assert end["seq"] == 5
    assert read(source, NOTHING, end) == {"=cam": [1, 2, 3, 4, 5]}
