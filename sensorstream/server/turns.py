"""Turns at something of which there are few at once, shared fairly between clients."""

from __future__ import annotations

import asyncio
from collections import Counter, deque


class Turns:
    """So many turns at once; a client may take one while it holds fewer than are free.

    So one client alone has half of them, and one that comes later finds a turn. Those who may not
    wait; what is given back goes to waiting clients in turn. For one event loop.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, client: str) -> None:
        """Wait for a turn, and take it; who is cancelled meanwhile has none."""
        # Nobody waits who may take one.
        if self._may(client):
            self._held[client] += 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if not given.cancelled():
                self.give_back(client)
            elif given in self._waiting.get(client, ()):
                self._forget(client, given)
            raise

    def give_back(self, client: str) -> None:
        """The turn of a client has ended."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        while (next_ := self._next()) is not None:
            waiting = self._waiting.pop(next_)
            given = waiting.popleft()
            if waiting:
                # They are the last to have a turn.
                self._waiting[next_] = waiting
            if not given.cancelled():
                self._held[next_] += 1
                given.set_result(None)

    def held(self, client: str | None = None) -> int:
        """How many turns a client has; or all."""
        return self._held.total() if client is None else self._held[client]

    def _may(self, client: str) -> bool:
        return self._held[client] < self.most - self._held.total()

    def _next(self) -> str | None:
        return next(filter(self._may, self._waiting), None)

    def _forget(self, client: str, given: asyncio.Future[None]) -> None:
        waiting = self._waiting[client]
        waiting.remove(given)
        if not waiting:
            del self._waiting[client]
