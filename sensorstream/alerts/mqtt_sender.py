"""Sends events to a topic of MQTT, with QoS 1."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from sensorstream.alerts.cloudevents import CONTENT_TYPE
from sensorstream.alerts.records import Told
from sensorstream.alerts.sender import DeliveryFailure, LoopThread
from sensorstream.brokers import mqtt_arguments
from sensorstream.endpoints import MqttOutput
from sensorstream.errors import SettingsError


class MqttSender:
    """A :class:`.Sender`; it connects when the first event is sent, and again when it must."""

    def __init__(self, name: str, options: MqttOutput, timeout: float) -> None:
        """Check the options.

        Raises:
            SettingsError: the topic or a file cannot be used.
        """
        self._name = name
        self._options = options
        self._timeout = timeout
        self._label = f"outputs.{name}.options"
        try:
            aiomqtt.Topic(options.topic)
        except ValueError as error:
            raise SettingsError(f"{self._label}.topic: {error}") from None
        mqtt_arguments(self._label, name, options)
        self._thread = LoopThread(f"output {name}")
        self._client: aiomqtt.Client | None = None

    def send(self, event: Told, body: bytes) -> DeliveryFailure | None:
        """See :class:`.Sender`."""
        return self._thread.call(self._send(body))

    def close(self) -> None:
        """End the connection."""
        self._thread.call(self._disconnect())
        self._thread.close()

    async def _send(self, body: bytes) -> DeliveryFailure | None:
        try:
            if self._client is None:
                # Read anew for each connection: passwords and certificates are renewed.
                arguments = mqtt_arguments(self._label, self._name, self._options)
                client = aiomqtt.Client(**arguments, timeout=self._timeout)
                await client.__aenter__()
                self._client = client
            # It returns when the broker has acknowledged the message.
            await self._client.publish(
                self._options.topic, body, qos=1, properties=self._properties()
            )
        except (aiomqtt.MqttError, SettingsError) as error:
            await self._disconnect()
            return DeliveryFailure(f"no connection to {self._options.host}: {error}", away=True)
        return None

    def _properties(self) -> Any:
        if self._options.version != "5":
            return None
        # CloudEvents, MQTT protocol binding 1.0.2, section 3.2: the content type says structured.
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ContentType = CONTENT_TYPE
        return properties

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(aiomqtt.MqttError):
                await client.__aexit__(None, None, None)
