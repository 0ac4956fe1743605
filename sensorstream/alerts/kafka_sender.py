"""Sends events to a topic of Kafka; each is written once by a producer that numbers its records."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError

from sensorstream.alerts.alert_formats import CONTENT_TYPE
from sensorstream.alerts.alert_records import Told, subject_of
from sensorstream.alerts.sender import DeliveryFailure, EventSender
from sensorstream.errors import SettingsError
from sensorstream.settings.brokers import kafka_arguments
from sensorstream.settings.endpoints import KafkaOutput


class KafkaSender(EventSender[KafkaOutput]):
    """A sender to Kafka; a record's key is its event's subject, so that the events of one subject
    are in one partition, in order.
    """

    _producer: AIOKafkaProducer | None = None

    def arguments(self) -> dict[str, Any]:
        return kafka_arguments(*self._of)

    async def deliver(
        self, event: Told, body: bytes, headers: Mapping[str, str]
    ) -> DeliveryFailure | None:
        key = subject_of(event).encode(errors="replace") or None
        try:
            async with asyncio.timeout(self.timeout):
                if self._producer is None:
                    producer = AIOKafkaProducer(
                        **self.arguments(), acks="all", enable_idempotence=True
                    )
                    self._producer = producer
                    await producer.start()
                # CloudEvents, Kafka protocol binding 1.0.2, section 3.3: structured mode.
                told = {"content-type": CONTENT_TYPE, **headers}
                fields = [(name, value.encode()) for name, value in told.items()]
                await self._producer.send_and_wait(
                    self.options.topic, body, key=key, headers=fields
                )
        except (KafkaError, OSError, TimeoutError, SettingsError) as error:
            await self.disconnect()
            reason = f"{type(error).__name__}: {error}"
            answered = isinstance(error, KafkaError) and not isinstance(error, KafkaConnectionError)
            if answered and not getattr(error, "retriable", True):
                return DeliveryFailure(f"refused: {reason}")
            brokers = ", ".join(self.options.brokers)
            return DeliveryFailure(f"no connection to {brokers}: {reason}", away=True)
        return None

    async def disconnect(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(self.timeout):
                    await producer.stop()
