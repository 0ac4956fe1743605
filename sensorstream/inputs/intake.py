"""The way from one input to the application: bounded, and each message named.

An input reads only as fast as the application takes: :meth:`Intake.take` waits while too much of
its input is under way.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

from sensorstream.app.life.entry_queue import HERE, MessageSender
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import RepeatedMessage, SensorStreamError, Unavailable, Unstorable
from sensorstream.journal.entry import Entry
from sensorstream.logs import concerning, trace_facts
from sensorstream.model.events import Status
from sensorstream.model.frozen import frozen
from sensorstream.settings.endpoints import most_kept

_LOG = logging.getLogger(__name__)
_MOST_MESSAGES: Final = 1_000
"""Messages of one input that may be under way at a time: two groups of the journal."""
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one input that may be under way at a time."""
_FAREWELL: Final = 10.0
"""Seconds that messages which have been read get when an input is stopped."""
_FULL: Final = 0.05
"""Seconds between two attempts while the application takes nothing."""


class Taker(Protocol):
    """The pipeline, as inputs see it."""

    def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        sender: MessageSender = HERE,
    ) -> Future[Outcome]:
        """See :meth:`.Pipeline.take`."""

    def change(self, entry: Entry) -> Future[Outcome]:
        """See :meth:`.Pipeline.change`."""


@frozen
class Taken:
    """The outcome of a message that is in the journal now.

    ``message`` is its id there; ``status`` is that of its outcome, or ``repeated`` for one that was
    there before. ``fault`` says why it was not taken in, ``code`` is its error's. ``replies`` are
    the answers of semantic rules.
    """

    message: str
    status: str
    fault: str = ""
    code: str = ""
    replies: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it was taken in whole; if not, the quarantine has it."""
        return self.status in ("accepted", "held", "journalled", "late", "repeated")


class InputMetrics:
    """The metrics of all inputs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        told, by = "Messages of an input, by outcome; repeated: known already.", ["input", "status"]
        self.messages = Counter("sensorstream_input_messages", told, by, registry=registry)
        gauge = partial(Gauge, labelnames=["input"], registry=registry)
        told = "1 while an input is connected to where its messages come from."
        self.connected = gauge("sensorstream_input_connected", told)
        told = "Messages of an input that are read, and not acknowledged yet."
        self.under_way = gauge("sensorstream_input_waiting_messages", told)


def origin_of(*parts: str | int | bytes) -> str:
    """A name for a message, from what tells it from all others; equal parts give equal names."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        # The name of a file need not be UTF-8: its other bytes are surrogates.
        data = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


class Intake:
    """Belongs to the event loop of its input; :meth:`stop` and ``state`` to any thread."""

    def __init__(self, name: str, taker: Taker, limit: int, metrics: InputMetrics) -> None:
        """``limit`` is the most bytes of a message that are worth reading."""
        self.name = name
        self.limit = limit
        self.state = "not connected yet"
        """Why it does not read at the moment; empty while it does."""
        self.fault = ""
        """The fault of the program that ended its reading, until it has taken a message again."""
        self._taker = taker
        self._sender = MessageSender(f"input {name}")
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._freed = asyncio.Event()
        self._messages = self._bytes = 0
        metrics.connected.labels(name).set(0)

    @property
    def stopping(self) -> bool:
        """Whether the input is to end: it reads no further, and finishes what it has read."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the input to end; may be called from any thread."""
        with suppress(RuntimeError):  # its loop has ended already
            self._loop.call_soon_threadsafe(self._halt)

    async def pause(self, seconds: float | None = None) -> None:
        """Wait for some time, or (None) without end, but only until the stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    def connected(self) -> None:
        """Note that the input reads now."""
        if self.state:
            _LOG.warning("input %s: reading", self.name)
        self.state = ""
        self._metrics.connected.labels(self.name).set(1)

    def lost(self, reason: str) -> None:
        """Note that the input cannot read; logged once, until it reads again."""
        # The reason may name a file, whose name need not be UTF-8.
        reason = reason.encode(errors="backslashreplace").decode()
        if not self.state or self.state == "not connected yet":
            _LOG.error("input %s: %s; it is tried again", self.name, reason)
        self._metrics.connected.labels(self.name).set(0)
        self.state = reason

    def works(self) -> None:
        """Note that the input has taken a message, or reads for long: no fault stops it."""
        self.fault = ""

    async def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        headers: Iterable[tuple[str, str | bytes]] = (),
    ) -> asyncio.Future[Taken]:
        """Hand a message over; returns when the application has it in its queue.

        The future is done when the message is in the journal, and processed. It raises
        :class:`Unavailable` if that is not certain: then the message is not acknowledged. The
        arguments are those of :meth:`.Pipeline.take`; a ``traceparent`` among the ``headers`` that
        came with the message names its trace.

        Raises:
            Unavailable: the input is to end before the application takes the message.
        """
        most = most_kept(self.limit)
        if len(content) > most:
            _LOG.warning(
                "input %s: of a message of %d bytes the first %d are kept",
                self.name,
                len(content),
                most,
            )
            content = content[:most]
        size = len(content)
        while self._messages and not (
            self._messages < _MOST_MESSAGES and self._bytes + size <= _MOST_BYTES
        ):
            if self.stopping:
                raise Unavailable("the input is stopping")
            self._freed.clear()
            await self._freed.wait()
        self._count(1, size)
        try:
            while True:
                with concerning(**_trace_of(headers)):
                    future = self._taker.take(
                        content, source, origin, repeated=repeated, sender=self._sender
                    )
                if not (future.done() and isinstance(future.exception(), Unavailable)):
                    break
                await self.pause(_FULL)
                if self.stopping:
                    raise Unavailable("the input is stopping")
        except BaseException:
            self._count(-1, -size)
            raise
        taken: asyncio.Future[Taken] = self._loop.create_future()

        def settle(done: Future[Outcome]) -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody waits
                self._loop.call_soon_threadsafe(self._settle, done, taken, size)

        future.add_done_callback(settle)
        return taken

    async def change(self, entry: Entry, messages: int = 0) -> None:
        """Hand over an entry that stands for so many messages; returns when the journal has it.

        Raises:
            Unavailable: that is not certain.
        """
        await asyncio.wrap_future(self._taker.change(entry))
        self.works()
        if messages:
            self._metrics.messages.labels(self.name, Status.JOURNALLED.value).inc(messages)

    async def finish(self) -> None:
        """Wait until all messages handed over are settled; once stopping, only for some seconds."""
        while self._messages and not self.stopping:
            self._freed.clear()
            await self._freed.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                while self._messages:
                    self._freed.clear()
                    await self._freed.wait()

    def _halt(self) -> None:
        self._stop.set()
        self._freed.set()

    def _settle(self, done: Future[Outcome], taken: asyncio.Future[Taken], size: int) -> None:
        self._count(-1, -size)
        try:
            result = _result(done)
        except Exception as error:
            if not taken.done():
                taken.set_exception(error)
                taken.exception()  # whoever waited for it may be gone
            return
        self.works()
        self._metrics.messages.labels(self.name, result.status).inc()
        if not taken.done():
            taken.set_result(result)

    def _count(self, messages: int, size: int) -> None:
        self._messages += messages
        self._bytes += size
        self._metrics.under_way.labels(self.name).set(self._messages)
        self._freed.set()


def _trace_of(headers: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    for name, value in headers:
        if name == "traceparent":
            return trace_facts(value if isinstance(value, str) else value.decode("latin-1"))
    return {}


def _result(done: Future[Outcome]) -> Taken:
    """The outcome by a settled future; raises its exception if it is not surely in the journal."""
    try:
        outcome = done.result()
    except RepeatedMessage:
        return Taken("", "repeated")
    except Unstorable as error:
        # Delivered again, it would be refused again: an alert tells of it.
        return Taken("", "rejected", error.message, error.code)
    except SensorStreamError as error:
        if error.message_id is None:
            raise
        return Taken(error.message_id, "rejected", error.message, error.code)
    told = "; ".join(outcome.warnings)
    return Taken(outcome.message.id, outcome.status.value, told, replies=outcome.replies)
