"""The one thread that owns the engine: journal first, then the engine, then the effects.

Messages that arrive while a group is being worked on form the next group, so the cost of
making them durable is shared, and a lone message waits for nobody.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Final

from sensorstream.app.metrics import Metrics
from sensorstream.clock import Clock
from sensorstream.engine.arrival import Mapper, Reading
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.engine.queries import QueryReport
from sensorstream.errors import (
    Contradiction,
    HistoryError,
    Inconsistent,
    MalformedMessage,
    SensorStreamError,
    Unavailable,
)
from sensorstream.history.records import (
    Effects,
    EntryKind,
    JournalEntry,
    MessageStatus,
    Settled,
)
from sensorstream.history.store import Store
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline
from sensorstream.reasoning.resilient import ResilientReasoner

_LOG = logging.getLogger(__name__)
_GROUP: Final = 500
"""The most messages made durable together: bounds the wait of the group's first."""
_PATIENCE: Final = 1.0
"""Seconds between two attempts to reach a history that is away."""
_QUEUE: Final = 10_000
"""Messages that may wait; beyond it senders are told to come back."""
_NAP: Final = 1.0
"""The most seconds between two looks at the clock while something waits for it."""
_LOUD: Final = frozenset({Status.UNMATCHED, Status.PARTIAL, Status.LATE, Status.REJECTED})
_COSTLY: Final = frozenset({EntryKind.ONTOLOGY, EntryKind.REASONER})


@dataclass(slots=True)
class _Waiting:
    content: bytes
    source: str
    reading: Reading
    future: Future[Outcome] = field(default_factory=Future)


@dataclass(slots=True)
class _Change:
    """Something else than a message that changes the engine, between two messages."""

    kind: EntryKind
    content: bytes
    source: str
    check: Callable[[], object]
    apply: Callable[[Message], Outcome]
    future: Future[Outcome] = field(default_factory=Future)


def message_id(seq: int) -> str:
    """The id of the journal's message number ``seq``."""
    return f"m{seq}"


def effects_of(entries: Sequence[JournalEntry], outcomes: Sequence[Outcome]) -> Effects:
    """All that a group of entries leaves behind, for one transaction.

    What a held message did when it was released belongs to the entry that released it: effects
    are stored once just because their entry passes the watermark once.
    """
    every = [each for outcome in outcomes for each in _in_order(outcome)]
    return Effects(
        watermark=entries[-1].seq,
        departures=tuple(d for each in every for d in (*each.departures, *each.archived)),
        superseded=tuple(s for each in every for s in each.superseded),
        alerts=tuple(a for each in every for a in each.alerts),
        statuses=tuple(
            MessageStatus(
                entry.seq,
                outcome.status,
                _reason(outcome),
                _contradiction(outcome),
                outcome.degraded,
            )
            for entry, outcome in zip(entries, outcomes, strict=True)
        ),
        raised_at=entries[-1].received_at,
        settled=tuple(
            Settled(each.message.id, each.status, _reason(each), _contradiction(each))
            for outcome in outcomes
            for each in outcome.released
        ),
        reports=tuple(r for each in every for r in each.reports),
    )


def reports_of(outcomes: Sequence[Outcome]) -> list[QueryReport]:
    """What continuous queries reported, in order."""
    return [r for outcome in outcomes for each in _in_order(outcome) for r in each.reports]


def _in_order(outcome: Outcome) -> Iterator[Outcome]:
    """An entry's outcomes in the order of application time."""
    yield from outcome.released
    yield outcome


def _reason(outcome: Outcome) -> str | None:
    return "; ".join(outcome.warnings) or None


def _contradiction(outcome: Outcome) -> Contradiction | None:
    error = outcome.rejection
    return error.contradiction if isinstance(error, Inconsistent) else None


class Pipeline:
    """Takes messages from any thread, in the order they come.

    ``lock`` is held while the engine changes: readers of the knowledge base take it briefly.
    ``on_commit`` is called in the pipeline's thread after every commit that holds alerts or put
    something into the outbox, ``publish`` with what continuous queries reported, once that is
    committed.
    ``reopen`` opens the store again when it was lost; until it succeeds, messages wait.
    """

    def __init__(
        self,
        engine: Engine,
        mapper: Mapper,
        store: Store,
        *,
        timeline: Timeline,
        clock: Clock,
        metrics: Metrics,
        checkpoint_every: int,
        on_commit: Callable[[], None],
        publish: Callable[[Sequence[QueryReport]], None],
        reopen: Callable[[], Store],
    ) -> None:
        self.lock = Lock()
        self._engine = engine
        self._mapper = mapper
        self._store = store
        self._timeline = timeline
        self._clock = clock
        self._metrics = metrics
        self._checkpoint_every = max(1, checkpoint_every)
        self._on_commit = on_commit
        self._publish = publish
        self._reopen = reopen
        self._seq = self._checkpoint_seq = store.last_seq()
        self._queue: queue.Queue[_Waiting | _Change | None] = queue.Queue(_QUEUE)
        # A change that was met while a group was collected: its turn is after the group.
        self._change: _Change | None = None
        self._gate = Lock()
        self._stopping = False
        self._halt = Event()
        self._trouble: HistoryError | None = None
        # The effects of the last group: not on disk for sure before the next journal write is.
        self._latest: Effects | None = None
        self._queued = False
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="pipeline", daemon=True)

    def start(self) -> None:
        """Begin to take messages in."""
        self._engine.queries.resume(self._timeline.of(self._clock.now()))
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
            waiting = _Waiting(content, source, self._mapper.read(content))
        except MalformedMessage as error:
            return _failed(error)
        return self._enqueue(waiting)

    def change(
        self,
        kind: EntryKind,
        check: Callable[[], object],
        apply: Callable[[Message], Outcome],
        *,
        content: bytes = b"",
        source: str = "",
    ) -> Future[Outcome]:
        """Change the engine between two messages, as an entry of the journal.

        ``check`` and ``apply`` are called in the pipeline's thread, holding the lock: the first
        before anything is written, the second with the journal's entry. Replaying the entry must
        make the same change. The future raises what ``check`` raises, and the rejection of the
        outcome.
        """
        return self._enqueue(_Change(kind, content, source, check, apply))

    def _enqueue(self, waiting: _Waiting | _Change) -> Future[Outcome]:
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
            while (group := self._take()) is not None:
                if group:
                    self._work(group)
                change, self._change = self._change, None
                if change is not None:
                    self._exchange(change)
                elif not group:
                    self._tick()
                self._metrics.waiting.set(self._queue.qsize())
            self._checkpoint()
        except BaseException as error:
            _LOG.critical("the pipeline stopped: %s", error, exc_info=error)
            self._failure = error
            self._drain()

    def _take(self) -> list[_Waiting] | None:
        """The next group of messages; none when the clock is to be looked at, None at the end."""
        group: list[_Waiting] = []
        try:
            first = self._queue.get(timeout=self._nap())
        except queue.Empty:
            return group
        while first is not None:
            if isinstance(first, _Change):
                self._change = first
                return group
            group.append(first)
            if len(group) >= _GROUP:
                break
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                break
            if first is None:
                self._queue.put(None)
        return group or None

    def _nap(self) -> float | None:
        """Seconds to wait for a message before the clock may change something; None: no end."""
        due = self._engine.due
        if due is None:
            return None
        left = due - self._timeline.of(self._clock.now())
        return min(max(left / self._timeline.of_wall_time(1), 0.0), _NAP)

    def _work(self, group: list[_Waiting]) -> None:
        try:
            now = self._clock.now()
            entries = [
                self._entry(offset, now, EntryKind.MESSAGE, waiting.content, waiting.source)
                for offset, waiting in enumerate(group, 1)
            ]
            self._journal(entries)
            outcomes = []
            for entry, waiting in zip(entries, group, strict=True):
                with self.lock:
                    arrived = self._mapper.map(entry.message, waiting.reading)
                    outcomes.append(self._engine.take(arrived))
            self._commit(entries, outcomes)
        except BaseException as error:
            for waiting in group:
                waiting.future.set_exception(
                    Unavailable(f"the message could not be taken in: {error}")
                )
            raise
        self._metrics.group.observe(len(group))
        for outcome in outcomes:
            self._metrics.observe(outcome)
        for waiting, outcome in zip(group, outcomes, strict=True):
            if outcome.rejection is None:
                waiting.future.set_result(outcome)
            else:
                waiting.future.set_exception(outcome.rejection)
        self._settle_down(outcomes)

    def _exchange(self, change: _Change) -> None:
        try:
            with self.lock:
                change.check()
        except SensorStreamError as error:
            change.future.set_exception(error)
            return
        try:
            entry = self._entry(1, self._clock.now(), change.kind, change.content, change.source)
            self._journal([entry])
            with self.lock:
                try:
                    outcome = change.apply(entry.message)
                except SensorStreamError as error:
                    outcome = self._engine.reject(entry.message, error)
            self._commit([entry], [outcome])
        except BaseException as error:
            change.future.set_exception(Unavailable(f"the change could not be made: {error}"))
            raise
        if change.kind in _COSTLY:
            # Or a replay would have to make the change again.
            self._checkpoint()
        if outcome.rejection is None:
            change.future.set_result(outcome)
        else:
            change.future.set_exception(outcome.rejection)
        self._settle_down([outcome])

    def _tick(self) -> None:
        """Let the clock release what waits for silent sources, if it is time."""
        now, due = self._clock.now(), self._engine.due
        if due is None or self._timeline.of(now) < due:
            return
        content = self._engine.tick_content(self._timeline.of(now))
        entry = self._entry(1, now, EntryKind.TICK, content)
        self._journal([entry])
        with self.lock:
            outcome = self._engine.tick(entry.message)
        self._commit([entry], [outcome])
        self._metrics.observe_tick(outcome)
        self._settle_down([outcome])

    def _entry(
        self, offset: int, now: datetime, kind: EntryKind, content: bytes = b"", source: str = ""
    ) -> JournalEntry:
        seq = self._seq + offset
        message = Message(message_id(seq), content, self._timeline.of(now), source)
        return JournalEntry(seq, message, now, kind=kind)

    def _journal(self, entries: Sequence[JournalEntry]) -> None:
        def append(store: Store, again: bool) -> None:
            if not again or store.last_seq() < entries[-1].seq:
                store.append(entries)

        self._durably(append)
        self._seq += len(entries)

    def _commit(self, entries: Sequence[JournalEntry], outcomes: Sequence[Outcome]) -> None:
        effects = effects_of(entries, outcomes)

        def commit(store: Store, _: bool) -> None:
            # One that arrived although its answer did not is not made twice: the watermark.
            self._queued = store.commit(effects)

        self._durably(commit)
        self._latest = effects

    def _settle_down(self, outcomes: Sequence[Outcome]) -> None:
        """Tell of what has been committed, and keep a checkpoint when it is time."""
        for outcome in outcomes:
            for each in _in_order(outcome):
                if each.status in _LOUD:
                    told = "; ".join(each.warnings)
                    _LOG.warning("message %s %s: %s", each.message.id, each.status.value, told)
        engine = self._engine
        self._metrics.individuals.set(len(engine.window))
        self._metrics.triples.set(len(engine.kb))
        self._metrics.held.set(engine.held)
        if isinstance(engine.reasoner, ResilientReasoner):
            self._metrics.watch_reasoner(engine.reasoner)
        if self._queued or (self._latest is not None and self._latest.alerts):
            self._on_commit()
        self._publish(reports_of(outcomes))
        if self._seq - self._checkpoint_seq >= self._checkpoint_every:
            self._checkpoint()

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
        if self._change is not None:
            self._change.future.set_exception(Unavailable("the server broke: try again later"))
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
