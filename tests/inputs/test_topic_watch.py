"""The entries of the journal for messages that stay in topics."""

from __future__ import annotations

import asyncio

from aiokafka import TopicPartition
from prometheus_client import CollectorRegistry

from sensorstream.inputs.intake import InputMetrics, Intake
from sensorstream.inputs.topic_watch import TopicWatch, next_entry
from sensorstream.journal.notice import ReportRefused
from sensorstream.settings.endpoints import KafkaInput
from tests.inputs.conftest import LIMIT, Journal

ONE, TWO, NEW = (TopicPartition("seen", each) for each in range(3))


def test_an_entry_has_an_equal_part_of_each_partition_and_the_next_goes_on() -> None:
    begins = dict.fromkeys((ONE, TWO, NEW), 0)
    first = next_entry("k", {ONE: 0, TWO: 5}, begins, {ONE: 9_000, TWO: 5, NEW: 8_000})
    assert first is not None
    assert [(each.first, each.end) for each in first.slices] == [(0, 5_000), (5, 5), (0, 5_000)]
    assert first.numbers == 10_001
    assert first == type(first).decode(*first.encode())
    known = {ONE: 5_000, TWO: 5, NEW: 5_000}
    second = next_entry("k", known, begins, {ONE: 9_000, TWO: 5, NEW: 8_000})
    assert second is not None
    last = [(each.first, each.end) for each in second.slices]
    assert last == [(5_000, 9_000), (5, 5), (5_000, 8_000)]
    assert next_entry("k", known, begins, known) is None


def test_records_that_the_topic_has_deleted_are_told_once() -> None:
    journal = Journal()

    async def look() -> None:
        intake = Intake("k", journal, LIMIT, InputMetrics(CollectorRegistry()))
        watch = TopicWatch("k", KafkaInput(brokers=("h:1",), topics=("seen",)), str)
        known = await watch._still_there({ONE: 3, TWO: 7}, {ONE: 10, TWO: 7, NEW: 4}, intake)
        assert known == {ONE: 10, TWO: 7}
        assert await watch._still_there(known, {ONE: 10, TWO: 7, NEW: 4}, intake) == known

    asyncio.run(look())
    (told,) = journal.entries
    assert isinstance(told, ReportRefused)
    assert told.text.startswith("input k: 7 messages: the topic has deleted them")
