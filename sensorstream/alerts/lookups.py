"""Names of hosts are looked up in threads: the system's resolver blocks, for minutes at worst."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread
from typing import TypeAlias

from sensorstream.alerts.targets import Resolver

_Key: TypeAlias = tuple[str, int]


class Lookups:
    """For one event loop. A host has one thread at a time, however many ask for it.

    So there are never more threads than hosts of webhooks, and who hangs keeps no other waiting.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._running: dict[_Key, asyncio.Future[Sequence[str]]] = {}

    async def find(self, host: str, port: int) -> Sequence[str]:
        """All addresses of a host; may be given up at any time.

        Raises:
            OSError, UnicodeError: it has none, or is no name.
        """
        with suppress(ValueError):
            return [str(ip_address(host))]
        key = (host, port)
        found = self._running.get(key)
        if found is None:
            loop = asyncio.get_running_loop()
            found = self._running[key] = loop.create_future()
            Thread(target=self._look, args=(loop, key), name="lookup", daemon=True).start()
        return await asyncio.shield(found)

    def _look(self, loop: asyncio.AbstractEventLoop, key: _Key) -> None:
        found: Sequence[str] | Exception
        try:
            found = self._resolver(*key)
        except Exception as error:
            found = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._done, key, found)

    def _done(self, key: _Key, found: Sequence[str] | Exception) -> None:
        future = self._running.pop(key)
        if isinstance(found, Exception):
            future.set_exception(found)
            future.exception()  # seen, also if all who waited have given up
        else:
            future.set_result(found)
