"""The one thread that owns the engine: journal first, then the engine, then the effects.

Messages that arrive while a group is processed form the next group, so the cost of making them
durable is shared, and a single message is processed at once. While the effects of a group are
stored, by a second thread, the engine goes on with the next one if it is there.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Condition, Lock, Thread
from typing import Any, Final, TypeVar

from sensorstream.app.arrival import Arrival
from sensorstream.app.durable import Durable
from sensorstream.app.heavy import Heavy
from sensorstream.app.in_work import InWork
from sensorstream.app.metrics import Metrics
from sensorstream.app.waiting import HERE, Path, Sender, Waiting
from sensorstream.clock import Clock
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import (
    Busy,
    HistoryError,
    InternalFault,
    MessageError,
    RepeatedMessage,
    SensorStreamError,
    Unavailable,
    Unstorable,
)
from sensorstream.journal.effects import effects_of, in_order, reports_of
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import TakeMessage, is_of_key
from sensorstream.journal.notice import ReportRefused
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.registration import QueryStopped, stops_of
from sensorstream.journal.store import Store
from sensorstream.journal.tick import Tick
from sensorstream.logs import concerned, concerning
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant
from sensorstream.settings import LimitSettings

_LOG = logging.getLogger(__name__)
_GROUP: Final = 100
"""The most messages made durable together: of more, the effects could not be stored meanwhile."""
_GROUP_BYTES: Final = 16 * 1024 * 1024
"""The most bytes made durable together, but for a single message."""
_GROUP_SECONDS: Final = 0.03
"""How long a group may take while there are several senders: it is answered whole."""
_COMPANY: Final = 1.0
"""Seconds for which there are several senders after two have been seen together."""
_NAP: Final = 1.0
"""The most seconds between two readings of the clock while the engine has something due."""
_NAMED: Final = 10
"""Entries that an alert names, of all that the journal cannot hold."""
_LOUD: Final = frozenset({Status.UNMATCHED, Status.PARTIAL, Status.LATE, Status.REJECTED})
_NONE: Final[frozenset[str]] = frozenset()
_CHANGES: Final = Sender("changes")

_Seen = TypeVar("_Seen")


@dataclass(slots=True)
class _Waiting:
    entry: Entry
    sender: Sender = HERE
    future: Future[Outcome] = field(default_factory=Future)
    repeated: bool = False
    """Whether it is a message that the journal may have already: it is looked for there."""
    heavy: bool = False
    """Whether it was taken as a heavy one."""
    early: bool = False
    """Whether its sender is answered as soon as it is in the journal."""
    since: float = field(default_factory=time.perf_counter)
    concerned: Mapping[str, str] = field(default_factory=concerned)
    """Of what the log speaks with it: the request that brought it."""

    @property
    def origin(self) -> str:
        return self.entry.origin if isinstance(self.entry, TakeMessage) else ""

    @property
    def path(self) -> Path:
        """Its place in the queue; changes of one kind keep their order."""
        entry = self.entry
        return self.sender.path(entry.source if isinstance(entry, TakeMessage) else entry.kind)

    @property
    def size(self) -> int:
        """The bytes that it occupies while it waits."""
        return len(self.entry.content) if isinstance(self.entry, TakeMessage) else 0

    def end(self, outcome: Outcome | SensorStreamError) -> None:
        """Answer; who was answered early hears no more."""
        if self.early and self.future.done():
            return
        error = outcome.rejection if isinstance(outcome, Outcome) else outcome
        if isinstance(outcome, Outcome) and error is None:
            self.future.set_result(outcome)
        else:
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class _Storing:
    """A group whose effects are being stored."""

    group: Sequence[_Waiting]
    outcomes: Sequence[Outcome]
    effects: Effects


class Pipeline:
    """Takes messages and other entries from any thread, from their senders in turn.

    ``lock`` is held while the engine changes: readers of the knowledge base take it briefly.
    ``on_commit`` is called in the pipeline's thread after every commit that has alerts or entries
    of the outbox, and told whether it has such entries; ``publish`` with the reports of continuous
    queries, after they are committed.
    ``reopen`` opens the store again when it was lost; until it succeeds, messages wait.
    ``elsewhere`` is given where another process applies the entries: messages enter the journal,
    and no more; the engine here is empty and knows the continuous queries only, to check new ones.
    Asked with a time of arrival, it gives the entry by which that process is to hear of it, if any.
    ``in_work`` is told which entry is being applied.
    """

    def __init__(
        self,
        target: Target,
        store: Store,
        *,
        clock: Clock,
        metrics: Metrics,
        checkpoint_every: int,
        limits: LimitSettings,
        on_commit: Callable[[bool], None],
        publish: Callable[[Sequence[QueryReport]], None],
        reopen: Callable[[], Store],
        elsewhere: Callable[[Instant], Entry | None] | None = None,
        in_work: InWork | None = None,
    ) -> None:
        self.lock = Lock()
        self._target = target
        self._engine = target.engine
        self._store = Durable(store, reopen)
        self._timeline = store.timeline
        self._clock = clock
        self._arrival = Arrival(clock, store.timeline, store.last_arrival())
        self._metrics = metrics
        self._checkpoint_every = max(1, checkpoint_every)
        self._on_commit = on_commit
        self._publish = publish
        self._elsewhere = elsewhere
        self._applies = elsewhere is None
        self._in_work = InWork() if in_work is None else in_work
        self._keys_last = timedelta(hours=limits.idempotency_hours)
        # From which time of arrival on it is asked again.
        self._ask_at = 0
        self._seq = self._stored = self._checkpoint_seq = store.last_seq()
        self._heavy = Heavy()
        self._waiting: Waiting[_Waiting] = Waiting(
            limits.waiting_messages, limits.waiting_bytes, self._heavy.expects
        )
        # What waits to read between two groups, with its future.
        self._readers: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        # An entry that needs its own group, found while a group was collected: it is next.
        self._next: _Waiting | None = None
        # Queries that the group at work has stopped; the journal is told of it after the group.
        self._stops: list[QueryStopped] = []
        # Entries of the group at work that the journal can never hold.
        self._refused: list[tuple[_Waiting, Unstorable]] = []
        self._gate = Condition()
        # Seconds that a message of a group took, lately; and when there were several senders last.
        self._pace = 0.0
        self._company = -_COMPANY
        self._last_path: Path | None = None
        self._stopping = False
        # The last group, until its effects are stored.
        self._storing: _Storing | None = None
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="pipeline", daemon=True)
        self._measure()

    def _measure(self) -> None:
        tell = self._metrics.tell
        told = "Messages that wait to be processed."
        tell("sensorstream_waiting_messages", told, lambda: len(self._waiting))
        told = "Bytes of the messages that wait to be processed."
        tell("sensorstream_waiting_bytes", told, lambda: self._waiting.bytes)
        told = "Senders whose next message is heavy, and waits for its turn among the heavy ones."
        tell("sensorstream_waiting_heavy_senders", told, lambda: self._waiting.senders(heavy=True))
        told = "Seconds for which the engine has been at the present entry."
        tell("sensorstream_entry_seconds", told, lambda: self._in_work.seconds)
        told = "Number of the journal's last entry."
        tell("sensorstream_journal_entry", told, lambda: self._seq)
        if not self._applies:
            return
        told = "Number of the last entry whose effects are stored."
        tell("sensorstream_stored_entry", told, lambda: self._stored)
        told = "Application time: the latest time a message brought, in seconds or whole units."
        tell("sensorstream_watermark", told, self._watermark)
        self._metrics.watch_reasoner(lambda: self._engine.reasoner)

    def _watermark(self) -> float:
        now = self._engine.now
        return math.nan if now is None else now / self._timeline.of_wall_time(1)

    def start(self) -> None:
        """Start to accept messages."""
        if self._applies:
            self._engine.queries.resume(self._arrival.now())
        self._thread.start()

    def stop(self) -> None:
        """Process the waiting entries, write a checkpoint, end the thread, close the store.

        If the history is unavailable, entries that were not acknowledged are dropped.
        """
        with self._gate:
            if self._stopping:
                return
            self._stopping = True
            self._gate.notify()
        self._store.stop()
        self._thread.join()
        self._turn_away()
        self._store.close()

    @property
    def trouble(self) -> HistoryError | None:
        """Why the history cannot be written at the moment; None while it can."""
        return self._store.trouble

    @property
    def failure(self) -> BaseException | None:
        """The error that stopped the pipeline; None while it runs."""
        return self._failure

    @property
    def running(self) -> bool:
        """Whether messages are accepted."""
        return self._thread.is_alive() and self._failure is None and not self._stopping

    def submit(
        self,
        content: bytes,
        source: str,
        sender: Sender = HERE,
        *,
        origin: str = "",
        early: bool = False,
    ) -> Future[Outcome]:
        """Accept a message; the future is done when its effects are committed.

        Or, if ``early``, when it is in the journal. ``origin`` is that of an idempotency key.

        The future raises a kind of :class:`MessageError` for faults of the message,
        :class:`Busy` when too many wait already, and :class:`Unavailable` when the pipeline cannot
        take it now; :class:`RepeatedMessage` when the journal has a message of this origin.
        """
        try:
            reading = self._target.mapper.read(content)
        except MessageError as error:
            return failed(error)
        entry = TakeMessage(content, source, reading, origin)
        return self._enqueue(_Waiting(entry, sender, repeated=bool(origin), early=early))

    def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        sender: Sender = HERE,
    ) -> Future[Outcome]:
        """Accept a message of an input, which has no sender who could be told of a fault.

        So it enters the journal in any case: what :meth:`submit` refuses is quarantined.

        Args:
            content: the message, XML or not.
            source: the name of its source.
            origin: names the message among all that inputs have delivered; empty: nothing does.
            repeated: whether it may have been delivered before. Then it is looked for in the
                journal, and the future raises :class:`RepeatedMessage` if it is there.
            sender: the input.
        """
        try:
            reading = self._target.mapper.read(content)
        except MessageError:
            reading = None
        entry = TakeMessage(content, source, reading, origin)
        return self._enqueue(_Waiting(entry, sender, repeated=repeated and bool(origin)))

    def change(self, entry: Entry) -> Future[Outcome]:
        """Carry out an entry that is not a message, between two messages.

        Checked, journalled and applied in the pipeline's thread. The future raises what
        :meth:`.Entry.check` raises, and the rejection of the outcome.
        """
        return self._enqueue(_Waiting(entry, _CHANGES))

    def settled(self, read: Callable[[], _Seen]) -> Future[_Seen]:
        """Call ``read`` when all effects of what the engine has taken are stored.

        It is called in the pipeline's thread after the present group, which no message can enter
        meanwhile: what departed is in the store, and all else in the window. It must be quick. The
        future raises what it raises.
        """
        future: Future[_Seen] = Future()
        future.set_running_or_notify_cancel()
        with self._gate:
            if self._stopping or self._failure is not None:
                return failed(Unavailable("the server is stopping or broken: ask again later"))
            self._readers.append((read, future))
            self._gate.notify()
        return future

    def _enqueue(self, waiting: _Waiting) -> Future[Outcome]:
        # A sender that disconnects cannot cancel an entry that may be in the journal already.
        waiting.future.set_running_or_notify_cancel()
        with self._gate:
            if self._stopping or self._failure is not None:
                return failed(Unavailable("the server is stopping or broken: send it again later"))
            try:
                self._waiting.put(waiting.path, waiting.size, waiting)
            except Busy as error:
                return failed(error)
            self._gate.notify()
        return waiting.future

    def _run(self) -> None:
        try:
            while (group := self._take()) is not None:
                if group:
                    begun = time.perf_counter()
                    if group[0].heavy:
                        # Nobody's answer waits for it.
                        self._settle()
                    self._work_new(group)
                    self._count(group, time.perf_counter() - begun)
                alone, self._next = self._next, None
                if alone is not None:
                    begun = time.perf_counter()
                    self._work_alone(alone)
                    self._count([alone], time.perf_counter() - begun)
                elif not group:
                    self._tick()
                if self._elsewhere is not None:
                    self._pass_time(self._elsewhere)
                if self._readers or not self._light:
                    self._settle()
                self._let_read()
            self._settle()
            self._checkpoint()
        except BaseException as error:
            _LOG.critical("the pipeline stopped: %s", error, exc_info=error)
            self._failure = error
            self._give_up(error)
            self._in_work.attend("the pipeline has stopped")
            self._drain()

    def _count(self, group: Sequence[_Waiting], seconds: float) -> None:
        first = group[0]
        if not isinstance(first.entry, TakeMessage):
            if self._heavy.took(first.path, first.size, seconds) or first.heavy:
                self._heavy.turn(first.path, seconds, waited=0)
        elif first.heavy:
            self._heavy.turn(first.path, seconds, waited=self._light)
        else:
            self._pace = (self._pace + seconds / len(group)) / 2

    def _take(self) -> list[_Waiting] | None:
        """The next group of messages; empty when somebody or the clock is due, None at the end."""
        with self._gate:
            if not (self._light or self._is_heavy_due or self._readers or self._stopping):
                self._gate.wait(self._nap())
            group = self._take_heavy() if self._is_heavy_due else self._take_light()
            done = not (group or self._next or self._waiting)
            return None if self._stopping and done else group

    @property
    def _light(self) -> int:
        return self._waiting.senders(heavy=False)

    @property
    def _is_heavy_due(self) -> bool:
        waits = self._waiting.senders(heavy=True) > 0
        return waits and (self._stopping or not self._heavy.pause(others=self._light > 0))

    def _take_heavy(self) -> list[_Waiting]:
        """A group of its own: nobody's answer waits for it but the sender's."""
        first = self._waiting.take(heavy=True)
        first.heavy = True
        return self._messages_of(first)

    def _take_light(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        size = 0
        most = self._most()
        while self._light and len(group) < most and size < _GROUP_BYTES:
            first = self._waiting.take()
            if not self._messages_of(first):
                return group
            self._heavy.others(first.path)
            if first.path != self._last_path:
                self._last_path, self._company = first.path, time.monotonic()
            group.append(first)
            size += first.size
        return group

    def _messages_of(self, first: _Waiting) -> list[_Waiting]:
        if isinstance(first.entry, TakeMessage):
            return [first]
        self._next = first
        return []

    def _most(self) -> int:
        """The most messages of the next group: as many as were lately processed in that time."""
        if not self._pace or time.monotonic() - self._company > _COMPANY:
            return _GROUP
        return max(1, min(_GROUP, int(_GROUP_SECONDS / self._pace)))

    def _nap(self) -> float | None:
        """Seconds to wait for a message before something else is due; None: no limit."""
        pause = self._heavy.pause(others=False) if self._waiting else None
        due = self._engine.due if self._applies else self._ask_at
        if due is None:
            return pause
        left = due - self._arrival.now()
        nap = min(max(left / self._timeline.of_wall_time(1), 0.0), _NAP)
        return nap if pause is None else min(nap, pause)

    def _work_new(self, group: Sequence[_Waiting]) -> None:
        """:meth:`_work` for those messages that are not in the journal yet."""
        try:
            known = self._known({waiting.origin for waiting in group if waiting.repeated})
        except BaseException as error:
            for waiting in group:
                waiting.future.set_exception(Unavailable(f"it could not be processed: {error}"))
            raise
        new: list[_Waiting] = []
        again: list[_Waiting] = []
        for waiting in group:
            (again if waiting.repeated and waiting.origin in known else new).append(waiting)
            known.add(waiting.origin)
        try:
            if new:
                self._work(new)
            if again:
                # Who sent a message again reads what became of it.
                self._settle()
        except BaseException as error:
            for waiting in again:
                waiting.future.set_exception(Unavailable(f"it could not be processed: {error}"))
            raise
        for waiting in again:
            waiting.future.set_exception(RepeatedMessage("it is in the journal already"))

    def _known(self, origins: set[str]) -> set[str]:
        if not origins:
            return set()
        keys = {each for each in origins if is_of_key(each)}
        since = self._clock.now() - self._keys_last
        return {*self._store.origins(origins - keys), *self._store.origins(keys, since)}

    def _work(self, group: Sequence[_Waiting]) -> None:
        """Write entries to the journal, apply them, store their effects, answer: for all kinds."""
        begun = time.perf_counter()
        for waiting in group:
            if isinstance(waiting.entry, TakeMessage):
                self._metrics.queue.observe(begun - waiting.since)
        try:
            records, group = self._journal(group)
            if not self._applies:
                self._leave(records, group)
                self._tell_refused()
                return
            if not group:
                self._tell_refused()
                return
            for record, waiting in zip(records, group, strict=True):
                if waiting.early:
                    waiting.end(Outcome(record.message, Status.JOURNALLED))
            outcomes = []
            for record, waiting in zip(records, group, strict=True):
                with self.lock:
                    # A fault leaves it there: the next start then knows what was in work.
                    self._in_work.begin(record)
                    with concerning(**waiting.concerned, **_facts(record.message)):
                        outcomes.append(waiting.entry.apply(self._target, record, _NONE))
                    self._stops += stops_of(self._target, record.seq)
                    self._heavy.took(waiting.path, waiting.size, self._in_work.seconds)
                if self._store.is_stored:
                    self._settle()
            self._in_work.end()
            self._settle()
            effects = effects_of(records, outcomes)
            beside = self._goes_on(group)
            self._store.begin(effects, beside=beside)
        except BaseException as error:
            for waiting in group:
                waiting.end(Unavailable(f"it could not be processed: {error}"))
            raise
        self._storing = _Storing(group, outcomes, effects)
        if not beside:
            self._settle()
        if self._stops:
            stops, self._stops = self._stops, []
            self._work([_Waiting(each) for each in stops])
        self._tell_refused()

    def _leave(self, records: Sequence[Record], group: Sequence[_Waiting]) -> None:
        """Answer for entries that another process applies."""
        outcomes = []
        for record, waiting in zip(records, group, strict=True):
            if not isinstance(waiting.entry, TakeMessage):
                with self.lock:
                    waiting.entry.apply(self._target, record, _NONE)
            outcomes.append(Outcome(record.message, Status.JOURNALLED))
        self._metrics.observe_entries([waiting.entry for waiting in group], outcomes)
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.future.set_result(outcome)

    def _work_alone(self, waiting: _Waiting) -> None:
        # What it is checked against is stored.
        self._settle()
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

    def _let_read(self) -> None:
        # Those who come meanwhile have their turn after the next group.
        for _ in range(len(self._readers)):
            read, future = self._readers.popleft()
            try:
                future.set_result(read())
            except Exception as error:
                future.set_exception(error)

    def _tick(self) -> None:
        """Advance the engine to the clock's time, if it has something due by then."""
        now, due = self._arrival.now(), self._engine.due
        if self._applies and due is not None and now >= due:
            self._work([_Waiting(Tick(self._engine.tick_content(now)))])

    def _pass_time(self, elsewhere: Callable[[Instant], Entry | None]) -> None:
        """Tell time to those who apply the entries, if they wait for it."""
        now = self._arrival.now()
        if now >= self._ask_at and (entry := elsewhere(now)) is not None:
            self._work([_Waiting(entry)])
        self._ask_at = max(self._ask_at, now + self._timeline.of_wall_time(_NAP))

    def _journal(self, group: Sequence[_Waiting]) -> tuple[Sequence[Record], Sequence[_Waiting]]:
        """Write entries to the journal, but for those that it can never hold."""
        now, arrival = self._clock.now(), self._arrival.now()
        records = [
            new_record(waiting.entry, seq, now, arrival)
            for seq, waiting in enumerate(group, self._seq + 1)
        ]
        try:
            self._store.append(records)
        except Unstorable as error:
            if len(group) == 1:
                self._refused.append((group[0], error))
                return [], []
        else:
            self._seq += len(records)
            return records, group
        # The others do not suffer for one.
        parts = [self._journal([waiting]) for waiting in group]
        return [r for records, _ in parts for r in records], [w for _, kept in parts for w in kept]

    def _tell_refused(self) -> None:
        """Raise an alert for what the journal cannot hold, and answer its senders."""
        refused, self._refused = self._refused, []
        if not refused:
            return
        told = [f"{_described(waiting.entry)}: {error}" for waiting, error in refused]
        more = [f"and {len(told) - _NAMED} more"] if len(told) > _NAMED else []
        text = "; ".join((*told[:_NAMED], *more))
        _LOG.error("the journal can never hold %s", text)
        self._metrics.refused.inc(len(refused))
        if not any(isinstance(waiting.entry, ReportRefused) for waiting, _ in refused):
            self._work(
                [_Waiting(ReportRefused(f"refused, for the journal cannot hold it: {text}"))]
            )
        for waiting, error in refused:
            waiting.end(error)

    def _goes_on(self, group: Sequence[_Waiting]) -> bool:
        """Whether the next group is begun before the effects of this one are stored."""
        return (
            self._light > 0
            and self._next is None
            and not (self._stops or self._readers or self._stopping or self._is_checkpoint_due)
            and not any(waiting.heavy or waiting.entry.costly for waiting in group)
        )

    def _settle(self) -> None:
        """Wait until the effects of the last group are stored; then answer and publish, once."""
        storing = self._storing
        if storing is None:
            return
        try:
            queued = self._store.wait()
        except BaseException as error:
            self._give_up(error)
            raise
        self._storing = None
        self._stored = storing.effects.watermark
        entries = [waiting.entry for waiting in storing.group]
        self._metrics.observe_entries(entries, storing.outcomes)
        if any(entry.costly for entry in entries):
            self._checkpoint()
        for waiting, outcome in zip(storing.group, storing.outcomes, strict=True):
            waiting.end(outcome)
        self._settle_down(storing, queued)

    def _give_up(self, error: BaseException) -> None:
        """Answer those whose effects may not be stored."""
        storing, self._storing = self._storing, None
        refused, self._refused = self._refused, []
        for waiting in (*(storing.group if storing is not None else ()), *(w for w, _ in refused)):
            waiting.end(Unavailable(f"it could not be processed: {error}"))

    def _settle_down(self, stored: _Storing, queued: bool) -> None:
        """Publish what has been stored, and write a checkpoint when it is due."""
        for waiting, outcome in zip(stored.group, stored.outcomes, strict=True):
            for each in in_order(outcome):
                if each.status in _LOUD:
                    told = "; ".join(each.warnings)
                    # One that was held and is released now came by another request.
                    brought = waiting.concerned if each is outcome else {}
                    with concerning(**brought, **_facts(each.message)):
                        _LOG.warning("message %s %s: %s", each.message.id, each.status.value, told)
        engine = self._engine
        self._metrics.individuals.set(len(engine.window))
        self._metrics.triples.set(len(engine.kb))
        self._metrics.held.set(engine.held)
        if queued or stored.effects.alerts:
            self._on_commit(queued)
        self._publish(reports_of(stored.outcomes))
        # While the engine is at the next group, its state is that of no entry.
        if self._is_checkpoint_due and self._stored == self._seq:
            self._checkpoint()

    @property
    def _is_checkpoint_due(self) -> bool:
        return self._seq - self._checkpoint_seq >= self._checkpoint_every

    def _checkpoint(self) -> None:
        if self._applies and self._seq > self._checkpoint_seq:
            state = dump(self._engine.state())
            self._store.save_checkpoint(self._seq, state)
            self._checkpoint_seq = self._seq

    def _drain(self) -> None:
        with self._gate:
            self._stopping = True
        self._turn_away()
        if self._next is not None:
            self._next.future.set_exception(
                Unavailable("the server stopped after an error: send it again later")
            )
        while self._waiting:
            self._waiting.take().future.set_exception(
                Unavailable("the server stopped after an error: send it again later")
            )

    def _turn_away(self) -> None:
        """Tell those who still wait to read that nothing will come."""
        while self._readers:
            _, future = self._readers.popleft()
            future.set_exception(Unavailable("the server is stopping or broken: ask again later"))


def failed(error: SensorStreamError) -> Future[Any]:
    """A future that is done, and raises the error."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _described(entry: Entry) -> str:
    if isinstance(entry, TakeMessage):
        # Maybe it is the source that cannot be stored.
        return f"a message of {len(entry.content)} bytes from {entry.source[:80]!a}"
    return f"an entry of the kind '{entry.kind}'"


def _facts(message: Message) -> dict[str, str]:
    return {"message_id": message.id, "source": message.source}
