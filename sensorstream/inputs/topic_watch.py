"""The input ``kafka`` whose messages stay in their topics: the journal gets their offsets.

Executors of Spark read the records, so no process has all of them. An entry of the journal is a
batch of at most :data:`_MOST` records; it names the offsets of every partition, so that the last
one says where the next begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from sensorstream.errors import Unavailable
from sensorstream.history.journal_rows import last_entry
from sensorstream.inputs.intake import Intake
from sensorstream.inputs.kafka_input import KafkaReader
from sensorstream.journal.message import TakeTopic
from sensorstream.journal.notice import ReportRefused
from sensorstream.journal.records import TopicSlice, slices_of
from sensorstream.settings.endpoints import KafkaInput

_MOST: Final = 10_000
"""Records of an entry: the pipeline processes all of them in one batch."""
_TURN: Final = 0.2
"""Seconds between two looks at the ends of the partitions."""
_REQUEST: Final = 10_000
"""Milliseconds that brokers get to answer."""


class TopicWatch(KafkaReader):
    """Watches the ends of topics; it is a member of no group."""

    def __init__(self, name: str, options: KafkaInput, history: Callable[[], str]) -> None:
        """Check the options as :class:`.KafkaReader` does; ``history`` gives the address of the
        journal.
        """
        super().__init__(name, name, options)
        self._history = history

    def _membership(self) -> dict[str, Any]:
        return {"group_id": None, "request_timeout_ms": _REQUEST}

    async def _read(self, consumer: AIOKafkaConsumer, intake: Intake) -> None:
        row = await asyncio.to_thread(last_entry, self._history(), TakeTopic.kind, self._name)
        known = None if row is None else _ends(slices_of(row[5]))
        while not intake.stopping:
            assigned = consumer.assignment()
            # It reads no records: their offsets are enough.
            consumer.pause(*assigned)
            missing = set(self._options.topics) - {each.topic for each in assigned}
            if missing:
                raise Unavailable(f"the brokers know no topic {', '.join(sorted(missing))}")
            begins = await consumer.beginning_offsets(assigned)
            ends = await consumer.end_offsets(assigned)
            intake.connected()
            if known is None:
                known = dict(ends if self._options.start == "latest" else begins)
                await intake.change(TakeTopic(self._name, _slices(known, known)))
            known = await self._still_there(known, begins, intake)
            entry = next_entry(self._name, known, begins, ends)
            if entry is None:
                await intake.pause(_TURN)
                continue
            await intake.change(entry, entry.numbers - 1)
            known = _ends(entry.slices)

    async def _still_there(
        self,
        known: Mapping[TopicPartition, int],
        begins: Mapping[TopicPartition, int],
        intake: Intake,
    ) -> dict[TopicPartition, int]:
        """The offsets to go on from; an alert tells of records that are gone."""
        lost = {each: begins[each] for each, at in known.items() if begins.get(each, at) > at}
        if lost:
            count = sum(begin - known[each] for each, begin in lost.items())
            told = "the topic has deleted them before they were read: keep them longer there"
            await intake.change(ReportRefused(f"input {self._name}: {count} messages: {told}"))
        return {**known, **lost}


def next_entry(
    name: str,
    known: Mapping[TopicPartition, int],
    begins: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> TakeTopic | None:
    """The entry for what has come since ``known``, of each partition an equal part; None: nothing.

    A partition that is not known is new, and begins with its first record.
    """
    starts = {each: max(begins[each], known.get(each, 0)) for each in ends}
    waiting = sum(ends[each] > start for each, start in starts.items())
    if not waiting:
        return None
    most = max(1, _MOST // waiting)
    stops = {each: max(start, min(ends[each], start + most)) for each, start in starts.items()}
    return TakeTopic(name, _slices(starts, stops))


def _slices(
    starts: Mapping[TopicPartition, int], stops: Mapping[TopicPartition, int]
) -> tuple[TopicSlice, ...]:
    return tuple(
        TopicSlice(each.topic, each.partition, starts[each], stops[each]) for each in sorted(starts)
    )


def _ends(slices: tuple[TopicSlice, ...]) -> dict[TopicPartition, int]:
    return {TopicPartition(each.topic, each.partition): each.end for each in slices}
