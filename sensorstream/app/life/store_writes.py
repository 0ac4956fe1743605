"""The writes of the pipeline, repeated until they arrive: the journal, effects, checkpoints.

Effects are stored without a wait for the disk. They, and the next group of the journal, are written
by other threads if the first has other work.
Why nothing is lost or doubled by it: docs/decisions/004-effects-need-no-disk.md.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sensorstream.app.life.arrival_clock import Arrival
from sensorstream.app.life.entry_queue import WaitingEntry, described
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.metrics import Metrics
from sensorstream.clock import Clock
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import HistoryError, SensorStreamError, Unavailable, Unstorable, shortened
from sensorstream.journal.entry import Entry
from sensorstream.journal.entry_effects import effects_of, in_order, reports_of
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import is_of_key
from sensorstream.journal.records import Effects, Record, Store
from sensorstream.kb.graph_index import Origin
from sensorstream.logs import concerning
from sensorstream.model.events import Message, Status
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.processes.fork_once import run_apart

if TYPE_CHECKING:  # its packages need not be installed
    from sensorstream.app.life.traces import Traces

_LOG = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_PATIENCE: Final = 1.0
"""Seconds between two attempts to reach a history that is unavailable."""


class Attempts:
    """Work with the history, which is tried until it succeeds. For one thread; :meth:`stop` and
    ``trouble`` are for all.
    """

    def __init__(self) -> None:
        self.trouble: HistoryError | None = None
        """Why the history cannot be written at the moment; None while it can."""
        self._halt = Event()

    def stop(self) -> None:
        """Stop waiting for a history that is unavailable."""
        self._halt.set()

    def surely(self, work: Callable[[bool], _Found]) -> _Found:
        """Write or read; ``work`` is told whether an earlier attempt may have arrived.

        Raises:
            HistoryError: the history is still unavailable after :meth:`stop`.
        """
        again = False
        while True:
            try:
                found = work(again)
            except HistoryError as error:
                if self.trouble is None:
                    _LOG.error("the history is unavailable, messages wait: %s", error)
                self.trouble = error
                again = True
                if self._halt.wait(_PATIENCE):
                    raise
            else:
                if self.trouble is not None:
                    _LOG.warning("the history is available again")
                    self.trouble = None
                return found


class Durable(Attempts):
    """A store that is opened again when it was lost; until that succeeds, its caller waits. Every
    method that writes or reads raises what :meth:`surely` raises.
    """

    def __init__(self, store: Store, reopen: Callable[[], Store]) -> None:
        super().__init__()
        self._store = store
        self._reopen = reopen
        # Effects that are stored, but certainly on disk only after a journal write that begins
        # later.
        self._unsure: list[Effects] = []
        # Those after them, and what Store.commit returns, until somebody has waited for it.
        self._storing: tuple[Effects, Future[bool]] | None = None
        # The number of unsure effects before the write of a group that was begun, and this write.
        self._entering: tuple[int, Future[None]] | None = None
        self._writers = ThreadPoolExecutor(2, thread_name_prefix="store")

    def enter(self, records: Sequence[Record]) -> None:
        """Begin to write entries to the journal, by another thread; :meth:`append` waits for it."""
        self._entering = len(self._unsure), self._writers.submit(self._store.append, records)

    def append(self, records: Sequence[Record]) -> None:
        """Write entries to the journal, or wait for them: nothing else is written meanwhile.

        Raises:
            Unstorable: a value of them can never be stored; none of them was written.
        """

        def append(again: bool) -> Unstorable | None:
            sure, begun = self._entering or (len(self._unsure), None)
            if again and self._store.last_seq() >= records[-1].seq:
                return None
            try:
                self._store.append(records) if again or begun is None else begun.result()
            except Unstorable as error:
                return error
            del self._unsure[:sure]
            return None

        try:
            if (refused := self._surely(append)) is not None:
                raise refused
        finally:
            self._entering = None

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        return self._surely(lambda _: self._store.origins(asked, since))

    def begin(self, effects: Effects, *, beside: bool) -> None:
        """Begin to store effects; ``beside``: by another thread. Wait for those before first."""
        assert self._storing is None
        if beside:
            self._storing = effects, self._writers.submit(self._store.commit, effects)
            return
        queued: Future[bool] = Future()
        try:
            queued.set_result(self._store.commit(effects))
        except Exception as error:
            queued.set_exception(error)
        self._storing = effects, queued

    @property
    def is_stored(self) -> bool:
        """Whether :meth:`wait` would return at once."""
        queued = self._storing and self._storing[1]
        return queued is not None and queued.done() and queued.exception() is None

    def wait(self) -> bool:
        """Wait until the effects that were begun are stored: see :meth:`.Store.commit`."""

        def ask(_: bool) -> bool:
            assert self._storing is not None
            return self._storing[1].result()

        # If they are not stored, they are stored again when the store has been opened again.
        queued = self._surely(ask)
        assert self._storing is not None
        self._unsure.append(self._storing[0])
        self._storing = None
        return queued

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        """See :meth:`.Store.save_checkpoint`; it is tried once, for a later one does as well."""

        def save(again: bool) -> None:
            if not again:
                self._store.save_checkpoint(seq, state)
            else:
                _LOG.error("the checkpoint at entry %d was not stored: a restart takes longer", seq)

        self._surely(save)

    def close(self) -> None:
        """Close the store, when no other thread uses it any more."""
        self._writers.shutdown()
        self._store.close()

    def _surely(self, work: Callable[[bool], _Found]) -> _Found:
        def attempt(again: bool) -> _Found:
            try:
                if again:
                    self._store.close()
                    self._store = self._reopen()
                    self._repeat()
                return work(again)
            except HistoryError:
                # Nobody closes the store while it is in use.
                under_way: list[Future[Any]] = [
                    each[1] for each in (self._storing, self._entering) if each is not None
                ]
                wait_for(under_way)
                raise

        return self.surely(attempt)

    def _repeat(self) -> None:
        """Store again the effects that may be lost; any that did arrive are behind the watermark.

        Raises:
            HistoryError: the history is still unavailable.
        """
        for effects in self._unsure:
            self._store.commit(effects)
        if self._storing is not None:
            effects, _ = self._storing
            queued: Future[bool] = Future()
            # Whether effects that arrived filled the outbox is not known any more: look there.
            queued.set_result(self._store.commit(effects) or True)
            self._storing = effects, queued


LARGE: Final = 20_000
"""Statements in the window, from which on a fork makes the checkpoint: about 0.2 s."""
_LARGE_BYTES: Final = 1 << 20
"""The same for the last checkpoint: queries may hold more than the window does."""
_NICENESS: Final = 10
_PIPELINE = logging.getLogger("sensorstream.app.pipeline")


class Checkpoints:
    """The writer of checkpoints; owned by the pipeline's thread. A fork of this process, which may
    take so many ``seconds``, has the engine's state as it was. Its checkpoint is stored by the
    pipeline's thread, between two groups, ``every`` so many entries; 0: none is written. ``seq`` is
    the entry whose state is known already; ``settle`` of the store waits until nobody else uses it;
    ``read`` lets something be called between two groups.
    """

    def __init__(
        self,
        engine: Engine,
        store: Durable,
        in_work: InWork,
        *,
        seq: int,
        every: int,
        seconds: float,
        settle: Callable[[], None],
        read: Callable[[Callable[[], None]], Future[Any]],
    ) -> None:
        self._engine = engine
        self._store = store
        self._in_work = in_work
        self._seq = seq
        self._every = every
        self._seconds = seconds
        self._settle = settle
        self._read = read
        self._bytes = 0
        self._fork: Thread | None = None
        # A fork has failed: the next one is written in the engine's turn.
        self._failed = False

    def is_due(self, seq: int) -> bool:
        """Whether enough entries have come since the last one, and none is being made."""
        return self._every > 0 and self._fork is None and seq - self._seq >= self._every

    def write(self, seq: int) -> None:
        """Write the engine's state after an entry, if that is new; a large one is only begun."""
        if not self._every or seq <= self._seq or self._fork is not None:
            return
        large = self._engine.kb.size(Origin.WINDOW) > LARGE or self._bytes > _LARGE_BYTES
        if large and not self._failed:
            self._begin(seq)
            return
        self._failed = False
        self._in_work.attend(f"the checkpoint at entry {seq} has been written")
        try:
            self._save(seq, dump(self._engine.state()))
        finally:
            self._in_work.end()

    def finish(self, seq: int) -> None:
        """Write the last one in this thread, since the engine has no more work."""
        if self._fork is not None:
            self._fork.join()
            self._fork = None
        self._failed = True
        self.write(seq)

    def _begin(self, seq: int) -> None:
        """Let a fork make a checkpoint; returns when the fork exists."""
        forked = Event()
        self._fork = Thread(target=self._make, args=(seq, forked), name="checkpoint", daemon=True)
        self._fork.start()
        forked.wait()

    def _make(self, seq: int, forked: Event) -> None:
        @contextmanager
        def quiet() -> Iterator[None]:
            if forked.is_set():
                # The fork hung, and the engine has gone on.
                raise Unavailable("its process did nothing")
            try:
                yield
            finally:
                forked.set()

        def state() -> bytes:
            os.nice(_NICENESS)
            return dump(self._engine.state())

        content: bytes | None = None
        try:
            content = run_apart(
                state,
                self._seconds,
                what=f"the checkpoint at entry {seq}",
                setting="ten times limits.entry_seconds",
                quiet=quiet,
            )
        except SensorStreamError as error:
            _PIPELINE.error("the checkpoint at entry %d was not made by a fork: %s", seq, error)
        except Exception:
            _PIPELINE.exception("internal error: the checkpoint at entry %d was not made", seq)
        finally:
            forked.set()
        # If the pipeline has ended, the last one is written anyway.
        self._read(lambda: self._end(seq, content))

    def _end(self, seq: int, content: bytes | None) -> None:
        self._fork = None
        if content is None:
            self._failed = True
            return
        self._settle()
        self._save(seq, content)

    def _save(self, seq: int, content: bytes) -> None:
        self._store.save_checkpoint(seq, content)
        self._seq, self._bytes = seq, len(content)


_LOUD: Final = frozenset({Status.UNMATCHED, Status.PARTIAL, Status.LATE, Status.REJECTED})


_Group: TypeAlias = tuple[Sequence[WaitingEntry], Sequence[Outcome], Effects]
"""A group whose effects are being stored."""


MOST_AT_ONCE: Final = 10_000
"""Events for another process that are written to the journal together."""


@frozen
class Outlets:
    """The receivers of the pipeline's reports, called in its thread.

    ``on_commit`` is called after every commit that has alerts or entries of the outbox, and told
    whether it has such entries; ``publish`` with the reports of continuous queries, after they are
    committed. ``reopen`` opens the store again when it was lost; until it succeeds, messages wait.
    ``elsewhere`` gives the entries, if any, that another process, which applies the entries, waits
    for at a time of arrival. ``traces`` makes the traces of entries, if there are any.
    """

    on_commit: Callable[[bool], None]
    publish: Callable[[Sequence[EngineReport]], None]
    reopen: Callable[[], Store]
    elsewhere: Callable[[Instant], Sequence[Entry]] | None = None
    traces: Traces | None = None


class EffectWriter:
    """The writer of each group's effects, which then answers the group; owned by the pipeline's
    thread. A group's effects are stored while the engine is at the next one, if there is one: they
    are begun by :meth:`begin`, and :meth:`settle` waits for them.
    """

    def __init__(
        self,
        store: Durable,
        journal: JournalWriter,
        checkpoints: Checkpoints,
        metrics: Metrics,
        out: Outlets,
    ) -> None:
        self.stored = journal.seq
        """The last entry whose effects are stored."""
        self._store = store
        self._journal = journal
        self._checkpoints = checkpoints
        self._metrics = metrics
        self._out = out
        # The last group, until its effects are stored.
        self._storing: _Group | None = None

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether enough entries have come since the last checkpoint."""
        return self._checkpoints.is_due(self._journal.seq)

    def begin(
        self,
        records: Sequence[Record],
        group: Sequence[WaitingEntry],
        outcomes: Sequence[Outcome],
        *,
        beside: bool,
    ) -> None:
        """Begin to store the effects of a group; the one before it is settled. ``beside``: by
        another thread, while this one goes on.
        """
        came = {
            record.seq: waiting.trace.came
            for record, waiting in zip(records, group, strict=True)
            if waiting.trace is not None
        }
        effects = effects_of(records, outcomes, came)
        self._store.begin(effects, beside=beside)
        self._storing = group, outcomes, effects

    def settle_if_stored(self) -> None:
        """Do :meth:`settle`, if there is nothing to wait for."""
        if self._store.is_stored:
            self.settle()

    def settle(self) -> None:
        """Wait until the effects of the last group are stored; then answer and publish, once."""
        storing = self._storing
        if storing is None:
            return
        queued = self._store.wait()
        self._storing = None
        group, outcomes, effects = storing
        self.stored = effects.watermark
        entries = [waiting.entry for waiting in group]
        exemplars = (waiting.exemplar for waiting in group)
        self._metrics.observe_entries(entries, outcomes, exemplars)
        if any(entry.costly for entry in entries):
            self._checkpoints.write(self._journal.seq)
        for waiting, outcome in zip(group, outcomes, strict=True):
            waiting.end(outcome)
            if self._out.traces is not None:
                self._out.traces.end(waiting, outcome)
        self._tell(storing, queued)

    def finish(self) -> None:
        self.settle()
        self._checkpoints.finish(self._journal.seq)

    def _tell(self, stored: _Group, queued: bool) -> None:
        """Log and publish stored effects, and write a checkpoint when it is due."""
        group, outcomes, effects = stored
        for waiting, outcome in zip(group, outcomes, strict=True):
            for each in in_order(outcome):
                if each.status in _LOUD:
                    told = shortened("; ".join(each.warnings))
                    # A held message that is released now came by another request.
                    facts = waiting.facts if each is outcome else {}
                    with concerning(**{**facts, **facts_of(each.message)}):
                        _PIPELINE.warning(
                            "message %s %s: %s", each.message.id, each.status.value, told
                        )
        if queued or effects.alerts:
            self._out.on_commit(queued)
        self._out.publish(reports_of(outcomes))
        # While the engine is at the next group, its state is that of no entry.
        if self.is_checkpoint_due and self.stored == self._journal.seq:
            self._checkpoints.write(self._journal.seq)


def facts_of(message: Message) -> dict[str, str]:
    """The facts that the log adds to each line about a message."""
    return {"message_id": message.id, "source": message.source}


Refused: TypeAlias = tuple[WaitingEntry, Unstorable]
"""An entry that the journal can never hold, and why."""

_NAMED: Final = 10
"""Entries that an alert names, of all that the journal cannot hold."""


class JournalWriter:
    """The writer of the journal, which numbers the entries; owned by one thread. ``seq`` is the
    number of the last entry, ``keys_last`` how long an idempotency key is known.
    """

    def __init__(
        self, store: Durable, seq: int, *, clock: Clock, arrival: Arrival, keys_last: timedelta
    ) -> None:
        self.seq = seq
        self._store = store
        self._clock = clock
        self._arrival = arrival
        self._keys_last = keys_last
        self._begun: Sequence[Record] = ()
        self.refused: list[Refused] = []
        """The entries that the journal can never hold; who has told of them empties it."""

    def known(self, group: Iterable[WaitingEntry]) -> set[str]:
        """The origins that the journal has, of those messages that may have been sent before."""
        origins = {waiting.origin for waiting in group if waiting.repeated}
        if not origins:
            return set()
        keys = {each for each in origins if is_of_key(each)}
        since = self._clock.now() - self._keys_last
        return {*self._store.origins(origins - keys), *self._store.origins(keys, since)}

    def begin(self, group: Sequence[WaitingEntry]) -> None:
        """Begin to write the entries that :meth:`append` is called with next."""
        self._begun = self._numbered(group)
        self._store.enter(self._begun)

    def append(
        self, group: Sequence[WaitingEntry]
    ) -> tuple[Sequence[Record], Sequence[WaitingEntry]]:
        """Write entries to the journal; those that it can never hold are kept aside."""
        records, self._begun = self._begun or self._numbered(group), ()
        try:
            self._store.append(records)
        except Unstorable as error:
            if len(group) == 1:
                self.refused.append((group[0], error))
                return [], []
        else:
            self.seq = records[-1].seq
            return records, group
        # One bad entry does not keep the others out.
        parts = [self.append([waiting]) for waiting in group]
        return [r for records, _ in parts for r in records], [w for _, kept in parts for w in kept]

    def _numbered(self, group: Sequence[WaitingEntry]) -> Sequence[Record]:
        now, arrival, last = self._clock.now(), self._arrival.now(), self.seq
        return [
            new_record(waiting.entry, last := last + waiting.entry.numbers, now, arrival)
            for waiting in group
        ]


def refusal_text(refused: Sequence[Refused]) -> str:
    """The entries that the journal cannot hold, and why; of many, the first."""
    told = [f"{described(waiting.entry)}: {error}" for waiting, error in refused]
    more = [f"and {len(told) - _NAMED} more"] if len(told) > _NAMED else []
    return "; ".join((*told[:_NAMED], *more))
