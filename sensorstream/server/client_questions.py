"""Questions of clients, each until its client has left, and answers in the format it prefers."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from tempfile import SpooledTemporaryFile
from time import monotonic
from typing import IO, Annotated, Any, Final, TypeAlias, TypeVar

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from fastapi.responses import StreamingResponse

from sensorstream.app.application import Application
from sensorstream.app.cache.cache_messages import Answered, Formats
from sensorstream.app.life.health import HealthPart
from sensorstream.app.questions.one_time_questions import AskedText
from sensorstream.errors import Busy, JobCancelled, Overrun
from sensorstream.history.asking import answer_formats
from sensorstream.history.asking.checked_question import ARCHIVE, CACHE, HISTORY
from sensorstream.history.asking.query_answer import Answer
from sensorstream.processes.stopping import Stop
from sensorstream.server.addresses import sender_of
from sensorstream.server.negotiation import choose, chosen, not_acceptable


class ClientTurns:
    """A number of turns; a client may take one while it holds fewer than are free. So one client
    alone has half of them, and one that comes later finds a turn. The others wait; returned turns
    go to waiting clients in turn. For one event loop.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, client: str) -> None:
        """Wait for a turn, and take it; a cancelled call takes none."""
        # No client waits that may take a turn.
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
            elif given in (waiting := self._waiting.get(client, deque())):
                waiting.remove(given)
                if not waiting:
                    del self._waiting[client]
            raise

    def give_back(self, client: str) -> None:
        """Give back a turn of a client."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        while (next_ := next(filter(self._may, self._waiting), None)) is not None:
            waiting = self._waiting.pop(next_)
            given = waiting.popleft()
            if waiting:
                # They are the last to have a turn.
                self._waiting[next_] = waiting
            if not given.cancelled():
                self._held[next_] += 1
                given.set_result(None)

    def held(self, client: str | None = None) -> int:
        """The number of turns that a client has; or all."""
        return self._held.total() if client is None else self._held[client]

    def _may(self, client: str) -> bool:
        return self._held[client] < self.most - self._held.total()


_PATIENCE: Final = 10.0
"""Seconds that a question waits for its turn."""
_LOOK: Final = 0.25
"""Seconds between two looks whether the client is still there."""
_OF_ARCHIVE: Final = 2
"""Each question to the archive may take all the memory that one may."""
_GRACE: Final = 10.0
"""Seconds beyond its limit after which a question that still runs is stuck."""
_T = TypeVar("_T")


class QuestionTurns:
    """The turns of questions; those to the cache, history and archive wait apart. Clients are told
    apart as senders of messages are.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        limits = application.settings.limits
        self._seconds = limits.question_seconds
        at_once = {CACHE: limits.questions, HISTORY: limits.questions, ARCHIVE: _OF_ARCHIVE}
        self._turns = {place: ClientTurns(most) for place, most in at_once.items()}
        # Their number is limited already.
        self._threads = anyio.CapacityLimiter(math.inf)
        self._begun: dict[object, tuple[str, float]] = {}

    async def answer(self, request: Request, asked: AskedText, work: Callable[[Stop], _T]) -> _T:
        """Call ``work`` in a thread when it is the question's turn, and return its result.

        Raises:
            Busy: its turn does not come for long.
            SensorStreamError: the question was ended, or cannot be answered.
        """
        async with self.turn(request, asked) as stop:
            return await self.in_thread(lambda: work(stop))

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Do a piece of the work of a question that has its turn."""
        return await run_sync(work, limiter=self._threads)

    @asynccontextmanager
    async def turn(self, request: Request, asked: AskedText) -> AsyncIterator[Stop]:
        """A block in which a question is answered; it ends soon when the client leaves.

        Raises:
            Busy: its turn does not come for long.
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

    def parts(self) -> list[HealthPart]:
        """Whether questions can be answered."""
        trouble = self._application.cache.trouble
        late = monotonic() - self._seconds - _GRACE
        begun = list(self._begun.values())
        for place, turns in self._turns.items():
            stuck = sum(each == place and since < late for each, since in begun)
            if stuck >= turns.most:
                trouble = f"{stuck} questions to the {place} do not end: no turn is left"
        return [HealthPart("questions", ready=not trouble, detail=trouble)]


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


async def _questions(request: Request) -> QuestionTurns:
    found: QuestionTurns = request.app.state.questions
    return found


ClientQuestions: TypeAlias = Annotated[QuestionTurns, Depends(_questions)]
"""Where a route puts the questions of its clients."""


def client_of(request: Request) -> str:
    """The client of a request: its address."""
    return "" if request.client is None else request.client.host


_IN_MEMORY: Final = 4 * 1024 * 1024
_MOST_KEPT: Final = 256 * 1024 * 1024
_PIECE: Final = 64 * 1024


class _Kept(SpooledTemporaryFile[bytes]):
    """A buffer for an answer, with a size limit."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _MOST_KEPT:
            raise Overrun(
                f"the answer is larger than {_MOST_KEPT} bytes: ask for less, or add LIMIT"
            )
        return super().write(data)


def answer_response(answer: Answer, accept: str) -> Response:
    """An answer, in a format of ``accept``; it is read to its end here.

    Raises:
        QueryError: the answer cannot be computed.
        Overrun: it is too large.
        HTTPException: 406, no format suits.
    """
    writers = answer_formats.writers(answer)
    media_type = chosen(accept, list(writers))

    def write(out: IO[bytes]) -> str:
        writers[media_type](answer, out)
        return media_type

    return _kept(write)


def cache_response(ask: Callable[[Formats, IO[bytes]], Answered], accept: str) -> Response:
    """The answer of the cache, in a format of ``accept``; it is read to its end here.

    Raises:
        SensorStreamError: there is no answer, or it is too large.
        HTTPException: 406, no format suits.
    """
    wanted = Formats(
        *(
            choose(accept, list(each))
            for each in (answer_formats.SOLUTIONS, answer_formats.BOOLEANS, answer_formats.GRAPHS)
        )
    )

    def write(out: IO[bytes]) -> str:
        answered = ask(wanted, out)
        if answered.media_type is None:
            raise not_acceptable(accept, answered.offered)
        return answered.media_type

    return _kept(write)


def _kept(write: Callable[[IO[bytes]], str]) -> Response:
    """Write an answer and respond with it; ``write`` returns its media type. It is kept in memory
    while it is small, else in a file without a name. So an error at its end still reaches the
    client, and a slow client keeps no question running.
    """
    kept = _Kept(max_size=_IN_MEMORY)
    try:
        media_type = write(kept)
        size = kept.tell()
        kept.seek(0)
    except BaseException:
        kept.close()
        raise
    vary = {"Vary": "Accept"}
    if size <= _IN_MEMORY:
        with kept:
            return Response(kept.read(), media_type=media_type, headers=vary)
    pieces = pieces_of(kept, iter(partial(kept.read, _PIECE), b""))
    return StreamingResponse(pieces, media_type=media_type, headers=vary)


async def pieces_of(file: IO[bytes], pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces of a file, which is closed at the end, or when the client leaves half-way."""
    # Asynchronous for that.
    with file:
        while (piece := await run_sync(next, pieces, None)) is not None:
            yield piece
