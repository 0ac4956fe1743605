"""Questions of clients: a few at once, each until its answer is there or its client has left."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Final, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Request

from sensorstream.app.application import Application
from sensorstream.app.readiness import Part
from sensorstream.app.running import Asked
from sensorstream.errors import Busy, JobCancelled
from sensorstream.history.asking.question import ARCHIVE, CACHE, HISTORY
from sensorstream.history.asking.stopping import Stop
from sensorstream.server.senders import sender_of
from sensorstream.server.turns import Turns

_PATIENCE: Final = 10.0
"""Seconds that a question waits for its turn."""
_LOOK: Final = 0.25
"""Seconds between two looks whether the client is still there."""
_OF_ARCHIVE: Final = 2
"""Each question to the archive may take all the memory that one may."""
_GRACE: Final = 10.0
"""Seconds beyond its limit after which a question that still runs is stuck."""
_T = TypeVar("_T")


class Questions:
    """Gives questions their turns; those to the cache, history and archive wait apart.

    Clients are told apart as senders of messages are.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        limits = application.settings.limits
        self._seconds = limits.question_seconds
        at_once = {CACHE: limits.questions, HISTORY: limits.questions, ARCHIVE: _OF_ARCHIVE}
        self._turns = {place: Turns(most) for place, most in at_once.items()}
        # Their number is limited already.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._begun: dict[object, tuple[str, float]] = {}

    async def answer(self, request: Request, asked: Asked, work: Callable[[Stop], _T]) -> _T:
        """What ``work`` gives, done in a thread when it is the question's turn.

        Raises:
            Busy: it is not its turn for long.
            SensorStreamError: the question was ended, or cannot be answered.
        """
        async with self.turn(request, asked) as stop:
            return await self.in_thread(lambda: work(stop))

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Do a piece of the work of a question that has its turn."""
        return await run_sync(work, limiter=self._threads)

    @asynccontextmanager
    async def turn(self, request: Request, asked: Asked) -> AsyncIterator[Stop]:
        """A block in which a question is answered; it ends soon when the client leaves.

        Raises:
            Busy: it is not its turn for long.
            Unavailable: the server stops.
        """
        place = asked.on if asked.on in self._turns else HISTORY
        turns, who = self._turns[place], object()
        client = sender_of(request.scope).address
        try:
            with anyio.fail_after(_PATIENCE):
                await turns.take(client)
        except TimeoutError:
            raise Busy(
                f"{turns.held()} questions to the {place} run already, {turns.held(client)} of "
                f"them yours, and {turns.most} may: ask again later (limits.questions)"
            ) from None
        self._begun[who] = (place, monotonic())
        try:
            if await request.is_disconnected():
                raise JobCancelled("the client has left")
            with self._application.running.enter(asked) as stop:
                watch = asyncio.create_task(_watch(request, stop))
                try:
                    yield stop
                finally:
                    watch.cancel()
        finally:
            del self._begun[who]
            turns.give_back(client)

    def parts(self) -> list[Part]:
        """Whether questions can be answered."""
        trouble = self._application.cache.trouble
        late = monotonic() - self._seconds - _GRACE
        begun = list(self._begun.values())
        for place, turns in self._turns.items():
            stuck = sum(each == place and since < late for each, since in begun)
            if stuck >= turns.most:
                trouble = f"{stuck} questions to the {place} do not end: no turn is left"
        return [Part("questions", ready=not trouble, detail=trouble)]


async def _watch(request: Request, stop: Stop) -> None:
    """End the question when its client leaves; again and again, should it be between two steps."""
    while True:
        await asyncio.sleep(_LOOK)
        reason = stop.reason
        if reason is None and await request.is_disconnected():
            reason = JobCancelled("the client has left")
        if reason is not None:
            with suppress(Exception):
                await run_sync(stop.now, reason)


def client_of(request: Request) -> str:
    """Who asks: the address of the client."""
    return "" if request.client is None else request.client.host
