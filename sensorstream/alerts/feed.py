"""Tells subscribers in an event loop that the pipeline's thread has committed alerts.

The feed carries no alerts, only the news that there are some: each subscriber reads the kept
alerts from its own cursor. So nothing is lost between a resume and the live stream, a slow
subscriber costs no memory and never holds the pipeline up, and there is no queue to overflow.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Lock
from types import TracebackType


class Subscription:
    """One subscriber's ear; belongs to the event loop it was made in.

    A class and no generator-based context manager: an abandoned generator runs its ``finally``
    inside the garbage collector, in whatever thread that runs, and would wait there for a lock
    which that very thread may hold.
    """

    def __init__(self, subscriptions: set[Subscription], lock: Lock) -> None:
        self._subscriptions = subscriptions
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    def __enter__(self) -> Subscription:
        with self._lock:
            self._subscriptions.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._subscriptions.discard(self)

    async def wait(self, seconds: float) -> bool:
        """Wait for news since the last call; False when ``seconds`` passed without any."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def tell(self) -> None:
        """Wake the subscriber; may be called from any thread, never blocks."""
        with suppress(RuntimeError):  # its loop has closed: the subscriber is gone
            self._loop.call_soon_threadsafe(self._news.set)


class AlertFeed:
    """Thread-safe broadcast of "new alerts are committed"."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the application is going down: subscribers then end their streams."""
        return self._closed

    def announce(self) -> None:
        """New alerts can be read; call it after their commit, from any thread."""
        with self._lock:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.tell()

    def close(self) -> None:
        """Wake every subscriber for the last time."""
        self._closed = True
        self.announce()

    def subscribe(self) -> Subscription:
        """A context manager that listens while it lasts; for the subscriber's event loop."""
        return Subscription(self._subscriptions, self._lock)

    def __len__(self) -> int:
        with self._lock:
            return len(self._subscriptions)
