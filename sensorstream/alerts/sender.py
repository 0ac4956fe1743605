"""What sends events to an output: a receiver that the settings name."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from threading import Thread
from typing import Any, Final, Protocol, TypeVar

from sensorstream.alerts.records import Told

OUTPUT: Final = "out_"
"""What the id of an output begins with; its name follows."""

Result = TypeVar("Result")


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


class LoopThread:
    """An event loop in a thread, for a client that needs one between calls, too."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine in the loop, and wait for its result."""
        future: Future[Result] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result()

    def close(self) -> None:
        """End the thread; nothing may run in the loop any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
