"""A history belongs to one runner: the windows of another one would end the same stays again."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.database import connect
from sensorstream.history.effects_writer import PipelineRunner, claim
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline

ENGINE = PipelineRunner("engine", "", by_count=True)
BY_SOURCE = PipelineRunner("engine", "source", by_count=True)
SPARK = PipelineRunner("spark", "source", by_count=True)
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
