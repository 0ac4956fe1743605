"""The input ``kafka``: a member of a consumer group; offsets are committed after the journal.

A record is named by its topic, partition, offset, time and content, so that one delivered again,
after a crash or to another member of the group, is recognised.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from sensorstream.errors import Unavailable
from sensorstream.inputs.intake import Intake, Taken, origin_of
from sensorstream.settings.brokers import kafka_arguments
from sensorstream.settings.endpoints import KafkaInput

_LOG = logging.getLogger(__name__)
_BATCH: Final = 500
"""Records between two commits of offsets."""
_TURN: Final = 500
"""Milliseconds to wait for records."""
_QUIET: Final = 10.0
"""Seconds without records after which the brokers are asked whether they are there."""
_PATIENCE: Final = 10.0
"""Seconds that brokers get to answer."""


class KafkaReader:
    """Reads topics."""

    def __init__(self, name: str, source: str, options: KafkaInput) -> None:
        """Check the options; raises SettingsError if a file cannot be used."""
        self._name = name
        self._source = source
        self._options = options
        self._label = f"inputs.{name}.options"
        kafka_arguments(self._label, name, options)

    async def run(self, intake: Intake) -> None:
        """See :class:`.Reader`."""
        options = self._options
        consumer = AIOKafkaConsumer(
            *options.topics,
            # Read anew for each connection, because passwords and certificates are renewed.
            **kafka_arguments(self._label, self._name, options),
            **self._membership(),
            enable_auto_commit=False,
        )
        try:
            await consumer.start()
            await self._read(consumer, intake)
        except (KafkaError, OSError) as error:
            told = f"{type(error).__name__}: {error}"
            raise Unavailable(f"no connection to {', '.join(options.brokers)}: {told}") from None
        finally:
            await consumer.stop()

    def _membership(self) -> dict[str, Any]:
        """The arguments of a consumer that say how it takes part."""
        group = self._options.group or f"sensorstream-{self._name}"
        return {"group_id": group, "auto_offset_reset": self._options.start}

    async def _read(self, consumer: AIOKafkaConsumer, intake: Intake) -> None:
        loop = asyncio.get_running_loop()
        asked = -_QUIET
        while not intake.stopping:
            if loop.time() - asked >= _QUIET:
                await self._check(consumer, intake)
                asked = loop.time()
            fetched = await consumer.getmany(timeout_ms=_TURN, max_records=_BATCH)
            under_way: list[asyncio.Future[Taken]] = []
            upto: dict[TopicPartition, int] = {}
            for partition, records in fetched.items():
                for record in records:
                    upto[partition] = record.offset + 1
                    if record.value is None:  # a tombstone says nothing
                        continue
                    place = (record.topic, record.partition, record.offset, record.timestamp)
                    origin = origin_of("kafka", self._name, *place, record.value)
                    source = record.topic if self._options.topic_is_source else self._source
                    headers = record.headers
                    taken = await intake.take(record.value, source, origin, headers=headers)
                    under_way.append(taken)
            await intake.finish()
            for future in under_way:
                if not future.done():  # stopped: what is not in the journal is not committed
                    return
                result = future.result()
                if not result.whole:
                    _LOG.warning("input %s: %s: %s", self._name, result.status, result.fault)
            if upto:
                asked = loop.time()
                await self._commit(consumer, upto)

    async def _check(self, consumer: AIOKafkaConsumer, intake: Intake) -> None:
        """Ask whether the brokers and the topics are there.

        Raises:
            KafkaError: no broker answers.
            Unavailable: they do not know a topic.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                known = await consumer.topics()
        except TimeoutError:
            raise KafkaError("no broker answers") from None
        missing = set(self._options.topics) - known
        if missing:
            raise Unavailable(f"the brokers know no topic {', '.join(sorted(missing))}")
        intake.connected()

    async def _commit(self, consumer: AIOKafkaConsumer, upto: dict[TopicPartition, int]) -> None:
        try:
            await consumer.commit(upto)
        except (CommitFailedError, IllegalStateError) as error:
            # Another member has the partition now; it gets the records again, as repeats.
            _LOG.info("input %s: offsets are not committed: %s", self._name, error)
