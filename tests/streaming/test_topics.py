"""Messages that stay in a topic: the journal has their offsets, and Spark's readers fetch them."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.wiring import read_deployment
from sensorstream.errors import SettingsError, SparkError
from sensorstream.history.effects_writer import Standings, Writes
from sensorstream.history.journal_rows import JournalRow, journal_rows, last_entry, record_of
from sensorstream.history.store import PostgresStore
from sensorstream.inputs.inputs import Inputs, reader_of
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.message import TakeTopic
from sensorstream.journal.records import Effects, TopicSlice, slices_of
from sensorstream.model.timeline import Timeline
from sensorstream.settings.endpoints import KafkaInput
from sensorstream.settings.settings import Settings
from sensorstream.streaming.journal_source import JournalReader
from sensorstream.streaming.message_sources import with_source
from sensorstream.streaming.spark_stream import topics_of
from sensorstream.streaming.topic_records import topic_records
from tests.databases import execute
from tests.inputs.kafka_broker import KafkaBroker
from tests.streaming.conftest import seen
from tests.streaming.stand_in import Keys, of_one_engine, reader, rows_between, told
from tests.waiting import eventually

CAMERAS = ("north", "south", "east")


@pytest.fixture(scope="module")
def broker() -> KafkaBroker:
    return KafkaBroker()


def stream(settings: Settings, database: str, broker: KafkaBroker, topic: str) -> Settings:
    ours = replace(settings, history=replace(settings.history, url=database))
    found = with_source(ours, f"kafka:{broker.address}/{topic}")
    return replace(found, pipeline=replace(found.pipeline, key="string(/seen/@by)"))


def journalled(settings: Settings, database: str, count: int) -> None:
    """Let the input write the journal until that many records are in it."""

    def there() -> bool:
        row = last_entry(database, TakeTopic.kind, "stream")
        return row is not None and sum(e.end for e in slices_of(row[5])) == count

    with Application.open(settings) as application, Inputs(application):
        eventually(there)


def reader_at(settings: Settings, database: str) -> JournalReader:
    """The reader as the pipeline makes it."""
    inputs = pickle.dumps(topics_of(settings)).hex()
    size = str(settings.server.max_message_bytes)
    return reader(database, 8, key=settings.pipeline.key, inputs=inputs, size=size)


def batches(found: JournalReader, after: int = 0) -> list[tuple[int, list[JournalRow]]]:
    """The batches after an entry, each with its last entry."""
    start, every = {"seq": after, "controls": 0}, []
    while (end := found.latestOffset(start, found.getDefaultReadLimit())) != start:
        rows = [
            r for each in rows_between(found, start, end) for r in pickle.loads(each["entries"])
        ]
        every.append((end["seq"], sorted(rows)))
        start = end
    return every


def test_a_topic_says_what_a_journal_says_that_has_its_messages(
    settings: Settings, database: str, broker: KafkaBroker
) -> None:
    dice = random.Random(3)
    ours = stream(settings, database, broker, "seen")
    for turn in range(2):
        for time in range(10 * turn, 10 * turn + 10):
            place = dice.randrange(3)
            people = [(dice.randrange(5), dice.randrange(101)) for _ in range(2)]
            content = b"<not xml" if time == 13 else seen(CAMERAS[place], time, *people)
            broker.produce("seen", [content], partition=place)
        journalled(ours, database, 10 * turn + 10)
    assert not [r for r in journal_rows(database, 0) if r[7] == "message"], "nothing is copied"

    deployment = read_deployment(ours)
    keys = Keys(deployment)
    keys.key_of = lambda kind, source, content: f"={camera_of(content)}" * (kind == "message")
    effects: list[Effects] = []
    taken: list[JournalRow] = []
    with PostgresStore.open(database, Timeline.INTEGER, Writes.EFFECTS) as store:
        for upto, rows in batches(reader_at(ours, database)):
            keys.take(rows, commit=False)
            keys.lose_engines()
            found = keys.take(rows)
            store.commit(merged(found), Standings(upto, list(keys.standings.values())))
            assert store.watermark() == upto
            effects += found
            taken += rows
        assert store.whole(), "the numbers of the topic's messages count"
    messages = [row for row in taken if row[7] == "message"]
    assert len(messages) == len({row[0] for row in messages}) == 20
    assert {row[2] for row in messages} == {"stream"}
    said, expected = told(merged(effects)), of_engines(ours, messages)
    for each in ("departures", "ended", "alerts"):
        assert said[each] == expected[each]
    seen_there = "select content, status, reason from store.messages where kind = 'message'"
    kept = {
        bytes(content): (status, reason)
        for content, status, reason in execute(database, seen_there)
    }
    assert kept.pop(b"<not xml")[0] == "rejected"
    assert len(kept) < 19, "the journal has what is whole only where there is a remark"
    assert all(status == "accepted" and reason for status, reason in kept.values())
    again = [row for _, rows in batches(reader_at(ours, database)) for row in rows]
    assert [row[:2] for row in again] == [row[:2] for row in taken], "a later run reads the same"


def of_engines(settings: Settings, rows: list[JournalRow]) -> dict[str, object]:
    """What an engine for each camera says that gets its messages from a journal."""
    deployment = read_deployment(settings)
    groups = [[r for r in rows if camera_of(r[5]) == each] for each in (*CAMERAS, "")]
    parts = [of_one_engine(deployment, [*map(record_of, each)]) for each in groups if each]
    return told(merged(parts))


def camera_of(content: bytes) -> str:
    return next((each for each in CAMERAS if each.encode() in content), "")


def test_records_that_are_gone_are_told_and_those_without_a_value_left_out(
    broker: KafkaBroker,
) -> None:
    broker.produce("holes", [b"a", None, b"c", b"d"])  # type: ignore[list-item]
    options = KafkaInput(brokers=(broker.address,), topics=("holes",), copy=False)
    found = list(topic_records("x", options, TopicSlice("holes", 0, 0, 3)))
    assert found == [(0, b"a"), (2, b"c")]
    nobody = replace(options, brokers=("127.0.0.1:1",))
    with pytest.raises(SparkError, match=r"no connection to 127\.0\.0\.1:1"):
        list(topic_records("x", nobody, TopicSlice("holes", 0, 0, 3)))


def test_only_spark_reads_a_topic(
    settings: Settings, database: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    broker.produce("alone", [seen("north", 1, (1, 2))])
    ours = stream(settings, database, broker, "alone")
    with pytest.raises(SettingsError, match=r"copy: expected true, or pipeline.runner = \"spark\""):
        reader_of(ours.inputs[0])
    journalled(ours, database, 1)
    execute(database, "update store.messages set status = 'accepted'")
    execute(database, "update store.pipeline set runner = null")
    here = replace(ours, pipeline=replace(ours.pipeline, runner="engine"), inputs=())
    with pytest.raises(SettingsError, match="messages that stay in topics"):
        Application.open(here).__enter__()
