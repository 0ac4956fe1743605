"""Notifies subscribers in an event loop that the pipeline's thread has committed alerts.

The feed carries no alerts, only the notification that there are new ones: each subscriber reads the
stored alerts from its own cursor. So no alert is lost between a resume and the live stream, a slow
subscriber costs no memory and never delays the pipeline, and no queue can overflow.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Lock


class Subscription:
    """The subscription of one subscriber; belongs to the event loop it was made in.

    It is no generator-based context manager, because an abandoned generator runs its ``finally``
    inside the garbage collector, in any thread, and would wait there for a lock that this thread
    may hold.
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

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._subscriptions.discard(self)

    async def wait(self, seconds: float) -> bool:
        """Wait for a notification since the last call; False if none came within ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def wake(self) -> None:
        """Wake the subscriber; may be called from any thread, never blocks."""
        with suppress(RuntimeError):  # its loop has closed: the subscriber is gone
            self._loop.call_soon_threadsafe(self._news.set)


class AlertFeed:
    """Thread-safe broadcast of "new alerts are committed"."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscriptions: set[Subscription] = set()
        self.closed = False
        """Whether the application is stopping: subscribers then end their streams."""

    def announce(self) -> None:
        """Note that new alerts can be read; call it after their commit, from any thread."""
        with self._lock:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.wake()

    def close(self) -> None:
        """Wake every subscriber for the last time."""
        self.closed = True
        self.announce()

    def subscribe(self) -> Subscription:
        """A context manager for a subscription; use it in the subscriber's event loop."""
        return Subscription(self._subscriptions, self._lock)

    def __len__(self) -> int:
        with self._lock:
            return len(self._subscriptions)
