"""What sends events to an output: a receiver that the settings name."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread
from typing import Any, Final, Generic, Protocol, TypeVar

from sensorstream.alerts.records import Told
from sensorstream.endpoints import KafkaOutput, MqttOutput

OUTPUT: Final = "out_"
"""What the id of an output begins with; its name follows."""

Result = TypeVar("Result")
Options = TypeVar("Options", bound=KafkaOutput | MqttOutput)


@dataclass(frozen=True, slots=True)
class DeliveryFailure:
    """Why an attempt failed; ``final`` means that trying again is pointless.

    ``away``: the receiver takes nothing now, so the attempt says nothing about the delivery.
    ``wait``: how long the receiver asks to be left alone.
    """

    reason: str
    final: bool = False
    away: bool = False
    wait: timedelta | None = None


class Sender(Protocol):
    """Sends events to one output; called by one thread at a time."""

    def send(self, event: Told, body: bytes) -> DeliveryFailure | None:
        """Send one event; None: the receiver has it, on its disk or in its care.

        ``body`` is the event as a CloudEvent in structured mode.
        """

    def close(self) -> None:
        """End the connection."""


class LoopSender(ABC, Generic[Options]):
    """A :class:`Sender` whose client needs an event loop between calls, too: it has a thread.

    It connects when the first event is sent, and again when it must.
    """

    def __init__(self, name: str, options: Options, timeout: float) -> None:
        """Check the options.

        Raises:
            SettingsError: the topic or a file cannot be used.
        """
        self.options = options
        self.timeout = timeout
        self._of = (f"outputs.{name}.options", name, options)
        self.arguments()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name=f"output {name}", daemon=True)
        self._thread.start()

    def send(self, event: Told, body: bytes) -> DeliveryFailure | None:
        """See :class:`Sender`."""
        return self._call(self.deliver(event, body))

    def close(self) -> None:
        """End the connection and the thread."""
        self._call(self.disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """Those of the client; read anew for each connection: passwords and certificates are
        renewed.
        """

    @abstractmethod
    async def deliver(self, event: Told, body: bytes) -> DeliveryFailure | None:
        """As :meth:`Sender.send`, in the loop."""

    @abstractmethod
    async def disconnect(self) -> None:
        """End the connection, if there is one."""
