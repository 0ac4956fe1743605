"""Sends events to a topic of Kafka; each is written once by a producer that numbers its records."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError

from sensorstream.alerts.cloudevents import CONTENT_TYPE
from sensorstream.alerts.incidents import AlertChange
from sensorstream.alerts.records import AlertGroup, KeptReport, RaisedAlert, Told
from sensorstream.alerts.sender import DeliveryFailure, LoopThread
from sensorstream.brokers import kafka_arguments
from sensorstream.endpoints import KafkaOutput
from sensorstream.errors import SettingsError


class KafkaSender:
    """A :class:`.Sender`; it connects when the first event is sent, and again when it must.

    The key of a record is the subject of its event, so that the events of one subject are in one
    partition, in order.
    """

    def __init__(self, name: str, options: KafkaOutput, timeout: float) -> None:
        """Check the options.

        Raises:
            SettingsError: a file cannot be used.
        """
        self._name = name
        self._options = options
        self._timeout = timeout
        self._label = f"outputs.{name}.options"
        kafka_arguments(self._label, name, options)
        self._thread = LoopThread(f"output {name}")
        self._producer: AIOKafkaProducer | None = None

    def send(self, event: Told, body: bytes) -> DeliveryFailure | None:
        """See :class:`.Sender`."""
        match event:
            case RaisedAlert():
                key = event.alert.key
            case KeptReport():
                key = event.query
            case AlertChange():
                key = event.key
            case AlertGroup():
                key = ""
        return self._thread.call(self._send(key.encode(errors="replace") or None, body))

    def close(self) -> None:
        """End the connection."""
        self._thread.call(self._disconnect())
        self._thread.close()

    async def _send(self, key: bytes | None, body: bytes) -> DeliveryFailure | None:
        try:
            async with asyncio.timeout(self._timeout):
                if self._producer is None:
                    producer = AIOKafkaProducer(
                        # Read anew for each connection: passwords and certificates are renewed.
                        **kafka_arguments(self._label, self._name, self._options),
                        acks="all",
                        enable_idempotence=True,
                    )
                    self._producer = producer
                    await producer.start()
                # CloudEvents, Kafka protocol binding 1.0.2, section 3.3: structured mode.
                headers = [("content-type", CONTENT_TYPE.encode())]
                await self._producer.send_and_wait(
                    self._options.topic, body, key=key, headers=headers
                )
        except (KafkaError, OSError, TimeoutError, SettingsError) as error:
            await self._disconnect()
            told = f"{type(error).__name__}: {error}"
            answered = isinstance(error, KafkaError) and not isinstance(error, KafkaConnectionError)
            if answered and not getattr(error, "retriable", True):
                return DeliveryFailure(f"refused: {told}")
            brokers = ", ".join(self._options.brokers)
            return DeliveryFailure(f"no connection to {brokers}: {told}", away=True)
        return None

    async def _disconnect(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(self._timeout):
                    await producer.stop()
