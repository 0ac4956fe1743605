"""Senders of events to an output: a receiver that the settings name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar

from sensorstream.alerts.alert_records import Told
from sensorstream.model.frozen import frozen
from sensorstream.settings.endpoints import KafkaOutput, MqttOutput

OUTPUT: Final = "out_"
"""The beginning of the id of an output; its name follows."""

Options = TypeVar("Options", bound=KafkaOutput | MqttOutput)


@frozen
class DeliveryFailure:
    """The reason why an attempt failed; ``final`` means that trying again is pointless.

    ``away``: the receiver takes nothing now, so the attempt says nothing about the delivery.
    ``wait``: how long the receiver asks to be left alone.
    """

    reason: str
    final: bool = False
    away: bool = False
    wait: timedelta | None = None


class EventSender(ABC, Generic[Options]):
    """Sends events to one output, from within one event loop, one at a time; it connects when the
    first event is sent, and again when it must.
    """

    def __init__(self, name: str, options: Options, timeout: float) -> None:
        """Check the options; raises SettingsError if the topic or a file cannot be used."""
        self.options = options
        self.timeout = timeout
        self._of = (f"outputs.{name}.options", name, options)
        self.arguments()

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """The client's arguments, read for each connection: passwords and certificates change."""

    @abstractmethod
    async def deliver(
        self, event: Told, body: bytes, headers: Mapping[str, str]
    ) -> DeliveryFailure | None:
        """Send one event, as ``body`` a CloudEvent in structured mode, with further ``headers``;
        None: the receiver has it, on its disk or in its care.
        """

    @abstractmethod
    async def disconnect(self) -> None:
        """End the connection, if there is one."""
