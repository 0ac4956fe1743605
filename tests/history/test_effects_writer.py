"""The runner that a history belongs to, and the engines that a batch wakes, also a repeated one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect
from sensorstream.history.effects_writer import (
    EngineStanding,
    PipelineRunner,
    Standings,
    Writes,
    claim,
    waiting_keys,
)
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits

ENGINE = PipelineRunner("engine", "", by_count=True)
BY_SOURCE = PipelineRunner("engine", "source", by_count=True)
SPARK = PipelineRunner("spark", "source", by_count=True)
EARLY, FAR = (5, 5, 5), (100, 100, 100)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def begun(url: str, runner: PipelineRunner) -> None:
    """A history of a runner, with one entry."""
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        claim(url, runner)
        store.append([Record(1, Message("m1", b"<a/>", 1, ""), NOW)])


def owner(url: str) -> PipelineRunner:
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("select runner from store.pipeline")
        ((found,),) = cursor.fetchall()
    return PipelineRunner(**found)


def test_before_its_first_entry_a_history_takes_any_runner(url: str) -> None:
    with PostgresStore.open(url, Timeline.INTEGER):
        for each in (ENGINE, SPARK, ENGINE):
            claim(url, each)
            assert owner(url) == each


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (ENGINE, SPARK),
        (SPARK, ENGINE),
        (SPARK, replace(SPARK, key="/a/@b")),
        (replace(BY_SOURCE, by_count=False), SPARK),
        (replace(SPARK, by_count=False), BY_SOURCE),
    ],
)
def test_another_runner_is_refused_with_both_names(
    url: str, found: PipelineRunner, wanted: PipelineRunner
) -> None:
    begun(url, found)
    with pytest.raises(HistoryError) as refused:
        claim(url, wanted)
    assert f"belongs to {found}, and this is {wanted}" in refused.value.message
    assert "Set [pipeline] as it was" in refused.value.message
    claim(url, found)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (ENGINE, BY_SOURCE),
        (SPARK, replace(SPARK, by_count=False)),
        (BY_SOURCE, SPARK),
        (SPARK, BY_SOURCE),
    ],
)
def test_a_runner_with_the_same_windows_goes_on(
    url: str, found: PipelineRunner, wanted: PipelineRunner
) -> None:
    begun(url, found)
    for _ in range(2):
        claim(url, wanted)
        assert owner(url) == wanted


def woken(store: PostgresStore, after: int, times: tuple[int, int, int] | None) -> set[str]:
    with store._transaction("test") as cursor:
        return set(waiting_keys(cursor, after, times))


def test_a_repeated_batch_wakes_the_engines_that_it_woke_before(url: str) -> None:
    with PostgresStore.open(url, Timeline.INTEGER, Writes.EFFECTS) as store:
        long = "long" * 5_000
        one = EngineStanding("one", 2, Waits(moved=20), 10, 3)
        store.place(Standings(4, [one, EngineStanding(long, 1, Waits(), 12, 4)]))
        assert woken(store, 4, EARLY) == set()
        assert woken(store, 4, FAR) == {"one"}
        assert woken(store, 4, None) == {"one", long}
        after = Standings(9, [EngineStanding("one", 0, Waits(), 21, None)])
        store.place(after)
        # The batch that begins after 4 has ended with 9: it may be repeated.
        assert woken(store, 4, FAR) == {"one"}
        assert woken(store, 9, FAR) == set()
        store.place(after)
        assert woken(store, 4, FAR) == {"one"}
        store.place(Standings(12, []))
        assert woken(store, 12, None) == {long}
        with store._transaction("test") as cursor:
            cursor.execute("select moved, moved_at, routed, covered from store.pipeline")
            assert cursor.fetchone() == (21, 4, 12, 9)
            cursor.execute("select count(*) from store.engines")
            assert cursor.fetchone() == (1,)
        store.displace()
        assert woken(store, 12, None) == set()


def test_each_kind_of_time_wakes(url: str) -> None:
    waits = (Waits(received=7), Waits(moved=7), Waits(present=7))
    with PostgresStore.open(url, Timeline.INTEGER, Writes.EFFECTS) as store:
        store.place(Standings(1, [EngineStanding(str(n), 0, w, 0, 0) for n, w in enumerate(waits)]))
        assert woken(store, 1, (7, 0, 0)) == {"0"}
        assert woken(store, 1, (0, 7, 0)) == {"1"}
        assert woken(store, 1, (0, 0, 7)) == {"2"}
