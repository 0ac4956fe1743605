"""The outputs of a deployment: their senders, and the receivers that the outbox knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sensorstream.alerts.alert_records import Webhook
from sensorstream.alerts.sender import OUTPUT, EventSender
from sensorstream.installation import require
from sensorstream.settings.endpoints import KafkaOutput, MqttOutput, OutputSetting


def receiver_of(output: OutputSetting, now: datetime) -> Webhook:
    """An output as the outbox keeps it; its URL is for people who read the log."""
    match output.options:
        case MqttOutput(host=host, topic=topic):
            url = f"mqtt://{host}/{topic}"
        case KafkaOutput(brokers=brokers, topic=topic):
            url = f"kafka://{','.join(brokers)}/{topic}"
    name, queries, changes = f"{OUTPUT}{output.name}", output.queries, output.changes
    form = output.format
    return Webhook(name, url, "", now, queries, output=True, changes=changes, format=form)


def senders_of(outputs: Sequence[OutputSetting], timeout: float) -> Mapping[str, EventSender[Any]]:
    """The senders of all outputs, by the id of the receiver; nothing is connected.

    ``timeout`` is the number of seconds an output may take for one event.

    Raises:
        SettingsError: an option cannot be used.
        MissingExtra: a package is not installed.
    """
    return {f"{OUTPUT}{each.name}": _sender(each, timeout) for each in outputs}


def _sender(output: OutputSetting, timeout: float) -> EventSender[Any]:
    # A package that no output needs is not imported, so that it need not be installed.
    who = f"outputs.{output.name}"
    match output.options:
        case MqttOutput():
            require("mqtt", f"{who}: the type 'mqtt'")
            from sensorstream.alerts.mqtt_sender import MqttSender

            return MqttSender(output.name, output.options, timeout)
        case KafkaOutput():
            require("kafka", f"{who}: the type 'kafka'")
            from sensorstream.alerts.kafka_sender import KafkaSender

            return KafkaSender(output.name, output.options, timeout)
