"""The one thread that owns the engine: journal first, then the engine, then the effects.

Messages that arrive while a group is processed form the next group, so the cost of making them
durable is shared, and a single message is processed at once. While the engine is at a group, other
threads store the effects of the one before it and journal the next one, if it is there.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from functools import partial
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from sensorstream.app.life.arrival_clock import Arrival
from sensorstream.app.life.entry_queue import HERE, EntryQueue, MessageSender, WaitingEntry
from sensorstream.app.life.in_work import COSTLY_TIMES, InWork
from sensorstream.app.life.metrics import Metrics
from sensorstream.app.life.process_memory import give_back
from sensorstream.app.life.store_writes import (
    MOST_AT_ONCE,
    Checkpoints,
    Durable,
    EffectWriter,
    JournalWriter,
    Outlets,
    facts_of,
    refusal_text,
)
from sensorstream.clock import Clock
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Busy,
    HistoryError,
    InternalFault,
    MessageError,
    RepeatedMessage,
    SensorStreamError,
    Unavailable,
)
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.message import TakeMessage, Tick
from sensorstream.journal.notice import ReportRefused
from sensorstream.journal.records import Record, Store
from sensorstream.journal.registration import QueryStopped, stops_of
from sensorstream.kb.graph_index import Origin
from sensorstream.logs import concerning
from sensorstream.model.events import Status
from sensorstream.model.timeline import Instant
from sensorstream.settings.settings import LimitSettings

_LOG = logging.getLogger("sensorstream.app.pipeline")
_NAP: Final = 1.0
"""The most seconds between two readings of the clock while the engine has something due."""
_LATER: Final = 5.0
"""Seconds after which a batch of Spark may have made room in the journal."""
_MUCH: Final = 4 << 20
"""Bytes of messages after which a pipeline that rests returns memory to the system."""
_NONE: Final[frozenset[str]] = frozenset()
_MOST_SOURCES: Final = 10_000
_CHANGES: Final = MessageSender("changes")
_PARTS: Final = {
    "asserted": Origin.WINDOW,
    "inferred": Origin.INFERRED,
    "static": Origin.STATIC,
    "static_inferred": Origin.STATIC_INFERRED,
}
"""The parts of the knowledge base, by their names in the metrics."""

_Seen = TypeVar("_Seen")


class Pipeline:
    """The thread that applies messages and other entries from any thread, from their senders in
    turn.

    ``lock`` is held while the engine changes: readers of the knowledge base take it briefly.
    ``out`` are its reports to others; ``in_work`` gets the entry that is being applied. Where
    ``out.elsewhere`` is given, another process applies the entries: messages enter the journal, and
    no more; the engine here is empty and knows the continuous queries only, to check new ones.
    """

    def __init__(
        self,
        target: Target,
        store: Store,
        out: Outlets,
        *,
        clock: Clock,
        metrics: Metrics,
        checkpoint_every: int,
        limits: LimitSettings,
        in_work: InWork | None = None,
    ) -> None:
        self.lock = Lock()
        self._target = target
        self._engine = target.engine
        self._timeline = store.timeline
        self._metrics = metrics
        self._elsewhere = out.elsewhere
        self._traces = out.traces
        self.applies = out.elsewhere is None
        """Whether entries are applied here; else engines elsewhere do that."""
        self._in_work = InWork() if in_work is None else in_work
        # From which time of arrival on it is asked again.
        self._ask_at = 0
        self._arrival = Arrival(clock, store.timeline, store.last_arrival())
        self._queue = EntryQueue(limits)
        # The group that is being journalled while the engine is at the one before it.
        self._ahead: Sequence[WaitingEntry] = ()
        self.sources: set[str] = set()
        """Names of sources of messages, for notes on queries; not all, where there are many."""
        self._store = Durable(store, out.reopen)
        self._journal = JournalWriter(
            self._store,
            store.last_seq(),
            clock=clock,
            arrival=self._arrival,
            keys_last=timedelta(hours=limits.idempotency_hours),
        )
        checkpoints = Checkpoints(
            self._engine,
            self._store,
            self._in_work,
            seq=self._journal.seq,
            every=max(1, checkpoint_every) if self.applies else 0,
            seconds=COSTLY_TIMES * limits.entry_seconds,
            settle=lambda: self._effects.settle(),
            read=self.settled,
        )
        self._effects = EffectWriter(self._store, self._journal, checkpoints, metrics, out)
        # Queries that the group at work has stopped; the journal is told of it after the group.
        self._stops: list[QueryStopped] = []
        self._most_waiting = limits.waiting_entries
        self.stored_elsewhere: Callable[[], int | None] = lambda: None
        """The last entry that is stored, where others apply them; None: it is not known."""
        self.failure: BaseException | None = None
        """The error that stopped the pipeline; None while it runs."""
        self._thread = Thread(target=self._run, name="pipeline", daemon=True)
        self._measure()

    def _measure(self) -> None:
        tell = self._metrics.tell
        told = "Messages that wait for the engine now."
        tell("sensorstream_waiting_messages", told, lambda: len(self._queue))
        told = "Bytes of the messages that wait for the engine."
        tell("sensorstream_waiting_bytes", told, lambda: self._queue.bytes)
        told = "Senders whose next message is large, and waits for its turn among such."
        tell("sensorstream_waiting_heavy_senders", told, lambda: self._queue.heavy_senders)
        told = "Seconds that the engine has been at this entry or a checkpoint; 0: it waits."
        tell("sensorstream_entry_seconds", told, lambda: self._in_work.seconds)
        told = "Number of the journal's last entry."
        tell("sensorstream_journal_entry", told, lambda: self._journal.seq)
        if not self.applies:
            return
        told = "Number of the last entry whose effects are stored; later ones are under way."
        tell("sensorstream_stored_entry", told, lambda: self._effects.stored)
        told = "Application time: the latest of a message; of dates in seconds since 1970."
        tell("sensorstream_watermark", told, self._watermark)
        told = "Individuals in the window."
        tell("sensorstream_individuals", told, lambda: len(self._engine.window))
        told = "Messages that wait for earlier ones."
        tell("sensorstream_held_messages", told, lambda: self._engine.held)
        told = "Triples in the cache, inferred ones and the ontology's included."
        tell("sensorstream_triples", told, lambda: len(self._engine.kb))
        told = "Triples by where they come from; one of several kinds counts in each."
        sizes = {part: partial(self._engine.kb.size, origin) for part, origin in _PARTS.items()}
        self._metrics.tell_parts("sensorstream_statements", told, "kind", sizes)
        self._metrics.watch_reasoner(lambda: self._engine.reasoner)

    def _watermark(self) -> float:
        now = self._engine.now
        return math.nan if now is None else now / self._timeline.of_wall_time(1)

    def start(self) -> None:
        if self.applies:
            self._engine.queries.resume(self._arrival.now())
        self._thread.start()

    def stop(self) -> None:
        """Process the waiting entries, write a checkpoint, end the thread, close the store. If the
        history is unavailable, entries that were not acknowledged are dropped.
        """
        if not self._queue.close():
            return
        self._store.stop()
        self._thread.join()
        self._queue.turn_away_readers()
        self._store.close()

    @property
    def trouble(self) -> HistoryError | None:
        """The reason why the history cannot be written at the moment; None while it can."""
        return self._store.trouble

    @property
    def running(self) -> bool:
        """Whether messages are accepted."""
        return self._thread.is_alive() and self.failure is None and not self._queue.closed

    def submit(
        self,
        content: bytes,
        source: str,
        sender: MessageSender = HERE,
        *,
        origin: str = "",
        early: bool = False,
    ) -> Future[Outcome]:
        """Accept a message; the future is done when its effects are committed, or, if ``early``,
        when it is in the journal. ``origin`` is that of an idempotency key.

        The future raises a kind of :class:`MessageError` for faults of the message, :class:`Busy`
        when too many wait already, and :class:`Unavailable` when the pipeline cannot take it now;
        :class:`RepeatedMessage` when the journal has a message of this origin.
        """
        try:
            reading = self._target.mapper.read(content)
        except MessageError as error:
            return failed(error)
        entry = TakeMessage(content, source, reading, origin)
        return self._enqueue(WaitingEntry(entry, sender, repeated=bool(origin), early=early))

    def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        sender: MessageSender = HERE,
    ) -> Future[Outcome]:
        """Accept a message of an input, which has no sender that could get an error. So it enters
        the journal in any case: what :meth:`submit` refuses is quarantined.

        ``origin`` names the message among all that inputs have delivered; empty: nothing does.
        ``repeated``: it may have been delivered before. Then it is looked for in the journal, and
        the future raises :class:`RepeatedMessage` if it is there.
        """
        try:
            reading = self._target.mapper.read(content)
        except MessageError:
            reading = None
        entry = TakeMessage(content, source, reading, origin)
        return self._enqueue(WaitingEntry(entry, sender, repeated=repeated and bool(origin)))

    def change(self, entry: Entry) -> Future[Outcome]:
        """Carry out an entry that is not a message, between two messages. It is checked, journalled
        and applied in the pipeline's thread. The future raises what :meth:`.Entry.check` raises,
        and the rejection of the outcome.
        """
        return self._enqueue(WaitingEntry(entry, _CHANGES))

    def settled(self, read: Callable[[], _Seen]) -> Future[_Seen]:
        """Call ``read`` when all effects of the messages that the engine has taken are stored.

        It is called in the pipeline's thread after the present group, which no message can enter
        meanwhile: departed individuals are in the store, all others in the window. It must be
        quick. The future raises what it raises.
        """
        try:
            return self._queue.read(read)
        except Unavailable as error:
            return failed(error)

    def _enqueue(self, waiting: WaitingEntry) -> Future[Outcome]:
        # A sender that disconnects cannot cancel an entry that may be in the journal already.
        waiting.future.set_running_or_notify_cancel()
        if isinstance(waiting.entry, TakeMessage) and len(self.sources) < _MOST_SOURCES:
            self.sources.add(waiting.entry.source)
        try:
            if self._elsewhere is not None and isinstance(waiting.entry, TakeMessage):
                self._check_room()
            self._queue.put(waiting)
        except (Busy, Unavailable) as error:
            return failed(error)
        return waiting.future

    def _check_room(self) -> None:
        """Check that the journal is not too far ahead of those who apply it; O(1)."""
        stored = self.stored_elsewhere()
        if stored is None:
            return
        ahead = self._journal.seq + len(self._queue) - stored
        if ahead >= self._most_waiting:
            raise Busy(
                f"{ahead} entries of the journal wait for the pipeline on Spark: send it again "
                "later; limits.waiting_entries allows more",
                retry_after=_LATER,
            )

    def _run(self) -> None:
        queue, taken = self._queue, 0
        try:
            while (group := self._ahead or queue.take(self._due_in)) is not None:
                self._ahead = ()
                if group:
                    begun = time.perf_counter()
                    self._work_new(group)
                    queue.worked(group, time.perf_counter() - begun)
                    taken += sum(each.size for each in group)
                if self._ahead:
                    continue
                alone = queue.alone()
                if alone is not None:
                    begun = time.perf_counter()
                    self._work_alone(alone)
                    queue.worked([alone], time.perf_counter() - begun)
                elif not group:
                    self._tick()
                if self._elsewhere is not None:
                    self._pass_time(self._elsewhere)
                if queue.rests:
                    self._effects.settle()
                    if taken > _MUCH:
                        group, taken = (), 0
                        give_back()
                queue.let_read()
            self._effects.finish()
        except BaseException as error:
            _LOG.critical("the pipeline stopped: %s", error, exc_info=error)
            self.failure = error
            self._in_work.attend("the pipeline has stopped")
            queue.turn_all_away(error)

    def _due_in(self) -> float | None:
        """Seconds until the clock is to be read again; None: nothing is due."""
        due = self._engine.dues.tick if self.applies else self._ask_at
        if due is None:
            return None
        left = due - self._arrival.now()
        return min(max(left / self._timeline.of_wall_time(1), 0.0), _NAP)

    def _work_new(self, group: Sequence[WaitingEntry]) -> None:
        """Do :meth:`_work` for those messages that are not in the journal yet."""
        if group[0].heavy:
            # No other sender's answer waits for it.
            self._effects.settle()
        known = self._journal.known(group)
        new: list[WaitingEntry] = []
        again: list[WaitingEntry] = []
        for waiting in group:
            (again if waiting.repeated and waiting.origin in known else new).append(waiting)
            known.add(waiting.origin)
        if new:
            self._work(new)
        if again:
            # The sender of a repeated message reads its first outcome.
            self._effects.settle()
        for waiting in again:
            waiting.future.set_exception(RepeatedMessage("it is in the journal already"))

    def _work(self, group: Sequence[WaitingEntry]) -> None:
        """Write entries of any kind to the journal, apply them, store their effects, answer."""
        begun = time.perf_counter()
        records, group = self._journal.append(group)
        if self._traces is not None:
            for record, waiting in zip(records, group, strict=True):
                self._traces.begin(record, waiting, begun)
        for waiting in group:
            if isinstance(waiting.entry, TakeMessage):
                self._metrics.queue.observe(begun - waiting.since, waiting.exemplar)
        if not (self.applies and group):
            self._leave(records, group)
            self._tell_refused()
            return
        for record, waiting in zip(records, group, strict=True):
            if waiting.early:
                waiting.end(Outcome(record.message, Status.JOURNALLED))
        if len(self._queue) >= len(group):
            self._look_ahead(group)
        outcomes = []
        for record, waiting in zip(records, group, strict=True):
            with self.lock:
                # A fault leaves it there: the next start then knows what was in work.
                self._in_work.begin(record)
                with concerning(**{**waiting.facts, **facts_of(record.message)}):
                    outcomes.append(waiting.entry.apply(self._target, record, _NONE))
                if self._traces is not None:
                    self._traces.applied(waiting, outcomes[-1], self._in_work.seconds)
                self._stops += stops_of(self._target, record.seq)
                self._queue.applied(waiting, self._in_work.seconds)
            self._effects.settle_if_stored()
        self._in_work.end()
        self._effects.settle()
        beside = bool(self._ahead or self._look_ahead(group)) and not (
            self._stops or self._effects.is_checkpoint_due
        )
        self._effects.begin(records, group, outcomes, beside=beside)
        if not beside:
            self._effects.settle()
        if self._stops and not self._ahead:
            stops, self._stops = self._stops, []
            self._work([WaitingEntry(each) for each in stops])
        self._tell_refused()

    def _look_ahead(self, group: Sequence[WaitingEntry]) -> bool:
        """Begin to journal the next group, if nothing else is to be done before it."""
        first = group[0]
        if (
            isinstance(first.entry, TakeMessage)
            and not (first.heavy or self._stops or self._journal.refused)
            and not self._effects.is_checkpoint_due
        ):
            self._ahead = self._queue.ahead()
        if self._ahead and not any(waiting.repeated for waiting in self._ahead):
            self._journal.begin(self._ahead)
        return bool(self._ahead)

    def _leave(self, records: Sequence[Record], group: Sequence[WaitingEntry]) -> None:
        """Answer for entries that another process applies."""
        outcomes = []
        for record, waiting in zip(records, group, strict=True):
            if not isinstance(waiting.entry, TakeMessage):
                with self.lock:
                    waiting.entry.apply(self._target, record, _NONE)
            outcomes.append(Outcome(record.message, Status.JOURNALLED))
        self._in_work.end()
        self._metrics.observe_entries([waiting.entry for waiting in group], outcomes)
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.future.set_result(outcome)
            if self._traces is not None:
                self._traces.end(waiting, outcome)

    def _work_alone(self, waiting: WaitingEntry) -> None:
        # The check needs stored effects.
        self._effects.settle()
        try:
            with self.lock:
                self._in_work.attend(f"an entry ({waiting.entry.kind}) has been checked")
                waiting.entry.check(self._target)
        except SensorStreamError as error:
            self._in_work.end()
            waiting.future.set_exception(error)
        except Exception as error:
            self._in_work.end()
            # Nothing is in the journal yet, so only this entry fails.
            _LOG.exception("internal error: an entry of kind %s is refused", waiting.entry.kind)
            fault = InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
            waiting.future.set_exception(fault)
        else:
            self._work([waiting])

    def _tick(self) -> None:
        """Advance the engine to the clock's time, if it has something due by then."""
        now, due = self._arrival.now(), self._engine.dues.tick
        if self.applies and due is not None and now >= due:
            self._work([WaitingEntry(Tick(self._engine.dues.tick_content(now)))])

    def _pass_time(self, elsewhere: Callable[[Instant], Sequence[Entry]]) -> None:
        """Send the process that applies the entries what it waits for: events, and the time."""
        now = self._arrival.now()
        entries = elsewhere(now) if now >= self._ask_at else ()
        if entries:
            self._work([WaitingEntry(each) for each in entries])
        if len(entries) < MOST_AT_ONCE:
            self._ask_at = max(self._ask_at, now + self._timeline.of_wall_time(_NAP))

    def _tell_refused(self) -> None:
        """Raise an alert for what the journal cannot hold, and answer its senders."""
        refused, self._journal.refused = self._journal.refused, []
        if not refused:
            return
        text = refusal_text(refused)
        _LOG.error("the journal can never hold %s", text)
        self._metrics.refused.inc(len(refused))
        if not any(isinstance(waiting.entry, ReportRefused) for waiting, _ in refused):
            self._work(
                [WaitingEntry(ReportRefused(f"refused, for the journal cannot hold it: {text}"))]
            )
        for waiting, error in refused:
            waiting.end(error)


def failed(error: SensorStreamError) -> Future[Any]:
    """A future that is done, and raises the error."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future
