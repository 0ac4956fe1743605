"""The one thread that owns the engine: journal first, then the engine, then the effects.

Messages that arrive while a group is being worked on form the next group, so the cost of
making them durable is shared, and a lone message waits for nobody.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Final

from sensorstream.app.metrics import Metrics
from sensorstream.clock import Clock
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine import Engine, Reading
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import (
    HistoryError,
    MalformedMessage,
    ReasonerError,
    SensorStreamError,
    Unavailable,
)
from sensorstream.history.records import Effects, JournalEntry, MessageStatus
from sensorstream.history.store import Store
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline

_LOG = logging.getLogger(__name__)
_GROUP: Final = 500
"""The most messages made durable together: bounds the wait of the group's first."""
_PATIENCE: Final = 1.0
"""Seconds between two attempts to reach a history that is away."""
_QUEUE: Final = 10_000
"""Messages that may wait; beyond it senders are told to come back."""


@dataclass(slots=True)
class _Waiting:
    content: bytes
    source: str
    reading: Reading
    future: Future[Outcome] = field(default_factory=Future)


def message_id(seq: int) -> str:
    """The id of the journal's message number ``seq``."""
    return f"m{seq}"


def effects_of(entries: Sequence[JournalEntry], outcomes: Sequence[Outcome]) -> Effects:
    """All that a group of messages leaves behind, for one transaction."""
    return Effects(
        watermark=entries[-1].seq,
        departures=tuple(d for outcome in outcomes for d in outcome.departures),
        superseded=tuple(s for outcome in outcomes for s in outcome.superseded),
        alerts=tuple(a for outcome in outcomes for a in outcome.alerts),
        statuses=tuple(
            MessageStatus(entry.seq, outcome.status, "; ".join(outcome.warnings) or None)
            for entry, outcome in zip(entries, outcomes, strict=True)
        ),
        raised_at=entries[-1].received_at,
    )


def process(engine: Engine, message: Message, reading: Reading) -> Outcome:
    """One message through the engine; a reasoner that fails twice costs only this message.

    The reasoner restarts between the two attempts. The message stays in the journal with its
    reason, as any that cannot be taken in.
    """
    try:
        return engine.process(message, reading)
    except ReasonerError as first:
        _LOG.warning("the reasoner failed at message %s, trying again: %s", message.id, first)
    try:
        return engine.process(message, reading)
    except ReasonerError as second:
        return engine.reject(message, second)


class Pipeline:
    """Takes messages from any thread, in the order they come.

    ``lock`` is held while the engine changes: readers of the knowledge base take it briefly.
    ``on_commit`` is called in the pipeline's thread after every commit that holds alerts.
    ``reopen`` opens the store again when it was lost; until it succeeds, messages wait.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        *,
        timeline: Timeline,
        clock: Clock,
        metrics: Metrics,
        checkpoint_every: int,
        on_commit: Callable[[], None],
        reopen: Callable[[], Store],
    ) -> None:
        self.lock = Lock()
        self._engine = engine
        self._store = store
        self._timeline = timeline
        self._clock = clock
        self._metrics = metrics
        self._checkpoint_every = max(1, checkpoint_every)
        self._on_commit = on_commit
        self._reopen = reopen
        self._seq = self._checkpoint_seq = store.last_seq()
        self._queue: queue.Queue[_Waiting | None] = queue.Queue(_QUEUE)
        self._gate = Lock()
        self._stopping = False
        self._halt = Event()
        self._trouble: HistoryError | None = None
        # The effects of the last group: not on disk for sure before the next journal write is.
        self._latest: Effects | None = None
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="pipeline", daemon=True)

    def start(self) -> None:
        """Begin to take messages in."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what waits, keep a checkpoint, end the thread, close the store.

        A history that is away is not waited for: what was not acknowledged is given up.
        """
        with self._gate:
            if self._stopping:
                return
            self._stopping = True
        self._halt.set()
        self._queue.put(None)
        self._thread.join()
        self._store.close()

    @property
    def trouble(self) -> HistoryError | None:
        """Why the history cannot be written at the moment; None while it can."""
        return self._trouble

    @property
    def failure(self) -> BaseException | None:
        """What broke the pipeline; None while it runs."""
        return self._failure

    @property
    def running(self) -> bool:
        """Whether messages are taken in."""
        return self._thread.is_alive() and self._failure is None and not self._stopping

    def submit(self, content: bytes, source: str) -> Future[Outcome]:
        """Take a message in; the future is done when its effects are committed.

        The future raises :class:`MessageError` kinds for the message's own faults and
        :class:`Unavailable` when the pipeline cannot take it now.
        """
        try:
            waiting = _Waiting(content, source, self._engine.read(content))
        except MalformedMessage as error:
            return _failed(error)
        # A sender that goes away cannot call back what the journal may hold already.
        waiting.future.set_running_or_notify_cancel()
        with self._gate:
            if self._stopping or self._failure is not None:
                return _failed(Unavailable("the server is stopping or broken: send it again later"))
            try:
                self._queue.put_nowait(waiting)
            except queue.Full:
                return _failed(
                    Unavailable(f"{_QUEUE} messages are waiting already: send it again later")
                )
        return waiting.future

    def _run(self) -> None:
        try:
            while group := self._take():
                self._work(group)
                self._metrics.waiting.set(self._queue.qsize())
            self._checkpoint()
        except BaseException as error:
            _LOG.critical("the pipeline stopped: %s", error, exc_info=error)
            self._failure = error
            self._drain()

    def _take(self) -> list[_Waiting]:
        """The next group: at least one message, or none at the end."""
        group: list[_Waiting] = []
        first = self._queue.get()
        while first is not None:
            group.append(first)
            if len(group) >= _GROUP:
                break
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                break
            if first is None:
                self._queue.put(None)
        return group

    def _work(self, group: list[_Waiting]) -> None:
        try:
            entries = self._journal(group)
            outcomes = []
            for entry, waiting in zip(entries, group, strict=True):
                with self.lock:
                    outcomes.append(process(self._engine, entry.message, waiting.reading))
            effects = effects_of(entries, outcomes)
            # A commit that arrived although its answer did not is not made twice: the watermark.
            self._durably(lambda store, _: store.commit(effects))
            self._latest = effects
        except BaseException as error:
            for waiting in group:
                waiting.future.set_exception(
                    Unavailable(f"the message could not be taken in: {error}")
                )
            raise
        self._metrics.group.observe(len(group))
        for waiting, outcome in zip(group, outcomes, strict=True):
            self._metrics.observe(outcome)
            if outcome.status is not Status.ACCEPTED:
                _LOG.warning(
                    "message %s %s: %s",
                    outcome.message.id,
                    outcome.status.value,
                    "; ".join(outcome.warnings),
                )
            if outcome.rejection is None:
                waiting.future.set_result(outcome)
            else:
                waiting.future.set_exception(outcome.rejection)
        self._metrics.individuals.set(len(self._engine.window))
        self._metrics.triples.set(len(self._engine.kb))
        if effects.alerts:
            self._on_commit()
        if self._seq - self._checkpoint_seq >= self._checkpoint_every:
            self._checkpoint()

    def _journal(self, group: list[_Waiting]) -> list[JournalEntry]:
        now = self._clock.now()
        received = self._timeline.of(now)
        entries = []
        for offset, waiting in enumerate(group, 1):
            seq = self._seq + offset
            message = Message(message_id(seq), waiting.content, received, waiting.source)
            entries.append(JournalEntry(seq, message, now))

        def append(store: Store, again: bool) -> None:
            if not again or store.last_seq() < entries[-1].seq:
                store.append(entries)

        self._durably(append)
        self._seq += len(group)
        return entries

    def _durably(self, write: Callable[[Store, bool], None]) -> None:
        """Carry out a write, however long the history is away.

        ``write`` gets the store, and whether an earlier attempt may have arrived.

        Raises:
            HistoryError: it is still away when the pipeline stops.
        """
        again = False
        while True:
            try:
                if again:
                    self._store.close()
                    self._store = self._reopen()
                    if self._latest is not None:
                        self._store.commit(self._latest)
                write(self._store, again)
            except HistoryError as error:
                if self._trouble is None:
                    _LOG.error("the history is away, messages wait: %s", error)
                self._trouble = error
                again = True
                if self._halt.wait(_PATIENCE):
                    raise
            else:
                if self._trouble is not None:
                    _LOG.warning("the history is back")
                    self._trouble = None
                return

    def _checkpoint(self) -> None:
        if self._seq > self._checkpoint_seq:
            state = dump(self._engine.state())
            self._durably(lambda store, _: store.save_checkpoint(self._seq, state))
            self._checkpoint_seq = self._seq

    def _drain(self) -> None:
        with self._gate:
            self._stopping = True
        while True:
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                return
            if waiting is not None:
                waiting.future.set_exception(Unavailable("the server broke: send it again later"))


def _failed(error: SensorStreamError) -> Future[Outcome]:
    future: Future[Outcome] = Future()
    future.set_exception(error)
    return future
