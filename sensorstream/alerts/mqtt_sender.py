"""Sends events to a topic of MQTT, with QoS 1."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from sensorstream.alerts.alert_formats import CONTENT_TYPE
from sensorstream.alerts.alert_records import Told
from sensorstream.alerts.sender import DeliveryFailure, EventSender
from sensorstream.errors import SettingsError
from sensorstream.settings.brokers import mqtt_arguments
from sensorstream.settings.endpoints import MqttOutput


class MqttSender(EventSender[MqttOutput]):
    """A sender to MQTT; an event is sent when the broker has acknowledged it."""

    _client: aiomqtt.Client | None = None

    def arguments(self) -> dict[str, Any]:
        label, *_ = self._of
        try:
            aiomqtt.Topic(self.options.topic)
        except ValueError as error:
            raise SettingsError(f"{label}.topic: {error}") from None
        return mqtt_arguments(*self._of)

    async def deliver(
        self, event: Told, body: bytes, headers: Mapping[str, str]
    ) -> DeliveryFailure | None:
        try:
            if self._client is None:
                client = aiomqtt.Client(**self.arguments(), timeout=self.timeout)
                await client.__aenter__()
                self._client = client
            await self._client.publish(
                self.options.topic, body, qos=1, properties=self._properties(headers)
            )
        except (aiomqtt.MqttError, SettingsError) as error:
            await self.disconnect()
            return DeliveryFailure(f"no connection to {self.options.host}: {error}", away=True)
        return None

    def _properties(self, headers: Mapping[str, str]) -> Any:
        if self.options.version != "5":
            return None
        # CloudEvents, MQTT protocol binding 1.0.2, section 3.2: the content type says structured.
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ContentType = CONTENT_TYPE
        if headers:
            properties.UserProperty = list(headers.items())
        return properties

    async def disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(aiomqtt.MqttError):
                await client.__aexit__(None, None, None)
