"""The records of a part of a topic, which an executor reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from sensorstream.errors import SparkError
from sensorstream.journal.records import TopicSlice
from sensorstream.settings.brokers import kafka_arguments
from sensorstream.settings.endpoints import KafkaInput

_TURN: Final = 1_000
"""Milliseconds to wait for records."""
_PATIENCE: Final = 60
"""Turns without any record, a minute, after which the brokers count as gone."""


def topic_records(name: str, options: KafkaInput, part: TopicSlice) -> Iterator[tuple[int, bytes]]:
    """The offsets and values of the records; those without a value say nothing and are left out.

    Raises:
        SparkError: the brokers do not answer, or the topic has deleted the first ones.
    """
    place, at, idle = TopicPartition(part.topic, part.partition), part.first, 0
    with asyncio.Runner() as runner:
        consumer = runner.run(_started(name, options, place, at))
        try:
            begin = runner.run(consumer.beginning_offsets([place]))[place]
            if begin > at:
                raise SparkError(
                    f"{_where(part)}: it begins at offset {begin} now, and the journal names those "
                    f"from {at} on: keep records longer there than the pipeline may stand still; "
                    "'sensorstream journal list' has the entry, 'sensorstream journal skip NUMBER' "
                    "goes on without its messages"
                )
            while at < part.end:
                found = runner.run(consumer.getmany(timeout_ms=_TURN)).get(place, ())
                for record in found:
                    if record.offset < part.end and record.value is not None:
                        yield record.offset, record.value
                # Offsets without records, as of transactions, are passed over.
                at = runner.run(consumer.position(place))
                idle = 0 if found else idle + 1
                if idle > _PATIENCE:
                    raise SparkError(f"{_where(part)}: no record for a minute, at offset {at}")
        except KafkaError as error:
            raise SparkError(f"{_where(part)}: {type(error).__name__}: {error}") from error
        finally:
            runner.run(consumer.stop())


async def _started(
    name: str, options: KafkaInput, place: TopicPartition, first: int
) -> AIOKafkaConsumer:
    """A consumer that is about to read the first record."""
    arguments = kafka_arguments(f"inputs.{name}.options", name, options)
    consumer = AIOKafkaConsumer(
        **arguments, group_id=None, enable_auto_commit=False, auto_offset_reset="none"
    )
    try:
        await consumer.start()
        consumer.assign([place])
        consumer.seek(place, first)
    except KafkaError as error:
        await consumer.stop()
        told = f"{type(error).__name__}: {error}"
        raise SparkError(f"no connection to {', '.join(options.brokers)}: {told}") from error
    return consumer


def _where(part: TopicSlice) -> str:
    return f"topic {part.topic}, partition {part.partition}"
