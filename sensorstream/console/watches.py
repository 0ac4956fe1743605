"""Readings of the server's figures: one reader for all pages that show the same key."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from itertools import pairwise
from typing import Final
from weakref import WeakValueDictionary

from sensorstream.console.figures import Figures, mean, rate, read
from sensorstream.console.visits import Upstream
from sensorstream.errors import SensorStreamError

_LOG: Final = logging.getLogger(__name__)
_PAUSE: Final = 1.0
"""Seconds between two readings."""
_KEPT: Final = 300
"""Readings: five minutes."""


class Watch:
    """Reads the figures while somebody looks, and keeps the latest readings."""

    def __init__(self, upstream: Upstream, key: str) -> None:
        self.readings: deque[Figures] = deque(maxlen=_KEPT)
        self.fault: SensorStreamError | None = None
        """Why there is no newer reading."""
        self.watchers = 0
        self._upstream = upstream
        self._key = key
        self._task: asyncio.Task[None] | None = None

    @property
    def now(self) -> Figures | None:
        """The latest reading."""
        return self.readings[-1] if self.readings else None

    def rate(self, name: str) -> float | None:
        """How a counter grows a second now; None if nobody knows yet."""
        return rate(self.readings[-2], self.readings[-1], name) if len(self.readings) > 1 else None

    def rates(self, name: str) -> list[tuple[float, float | None]]:
        """How a counter grew a second, reading by reading: seconds before now, and growth.

        Where nobody looked there is None.
        """
        if not self.readings:
            return []
        last = self.readings[-1].at
        return [
            (round(each.at - last, 1), rate(before, each, name))
            for before, each in pairwise(self.readings)
            if last - each.at <= _KEPT * _PAUSE
        ]

    def mean(self, histogram: str, **labels: str) -> float | None:
        """The mean over the readings kept."""
        return mean(self.readings[0], self.readings[-1], histogram, **labels) if self.now else None

    def enter(self) -> None:
        """Somebody begins to look."""
        self.watchers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self) -> None:
        """Somebody looks no more."""
        self.watchers -= 1

    async def _run(self) -> None:
        async with self._upstream.client(self._key) as client:
            while self.watchers > 0:
                try:
                    text = await client.metrics()
                except SensorStreamError as error:
                    self.fault = error
                else:
                    self.readings.append(read(text, time.monotonic()))
                    self.fault = None
                await asyncio.sleep(_PAUSE)
        self._task = None


class Watches:
    """The watch of each key that looks now."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._by_key: WeakValueDictionary[str, Watch] = WeakValueDictionary()

    def of(self, key: str) -> Watch:
        """The watch for a key, which all open pages with this key share."""
        watch = self._by_key.get(key)
        if watch is None:
            watch = self._by_key[key] = Watch(self._upstream, key)
        return watch
