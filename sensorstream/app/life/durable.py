"""The store as the pipeline writes it: a write is repeated until it has arrived.

Effects are stored without a wait for the disk, and by a second thread if the first has other work.
Why nothing is lost or doubled by it: docs/decisions/004-effects-need-no-disk.md.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from datetime import datetime
from threading import Event, Thread
from typing import Any, Final

from sensorstream.apart import run_apart
from sensorstream.app.life.in_work import InWork
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine import Engine
from sensorstream.errors import HistoryError, SensorStreamError, Unavailable, Unstorable
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.store import Store
from sensorstream.kb.graph import Origin

_LOG = logging.getLogger(__name__)
_PATIENCE: Final = 1.0
"""Seconds between two attempts to reach a history that is unavailable."""


class Durable:
    """A store that is opened again when it was lost; until that succeeds, its caller waits.

    For one thread; :meth:`stop` and ``trouble`` are for all. Every method that writes or reads
    raises :class:`.HistoryError` if the history is still unavailable after :meth:`stop`.
    """

    def __init__(self, store: Store, reopen: Callable[[], Store]) -> None:
        self.trouble: HistoryError | None = None
        """Why the history cannot be written at the moment; None while it can."""
        self._store = store
        self._reopen = reopen
        self._halt = Event()
        # Effects that are stored, but certainly on disk only after a journal write that begins
        # later.
        self._unsure: list[Effects] = []
        # Those after them, and what Store.commit returns, until somebody has waited for it.
        self._storing: tuple[Effects, Future[bool]] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="effects")

    def append(self, records: Sequence[Record]) -> None:
        """Write entries to the journal.

        Raises:
            Unstorable: a value of them can never be stored; none of them was written.
        """
        refused: list[Unstorable] = []

        def append(again: bool) -> None:
            if not again or self._store.last_seq() < records[-1].seq:
                try:
                    self._store.append(records)
                except Unstorable as error:
                    refused.append(error)
                    return
                self._unsure.clear()

        self._surely(append)
        if refused:
            raise refused[0]

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        """See :meth:`.Store.origins`."""
        found: frozenset[str] = frozenset()

        def read(_: bool) -> None:
            nonlocal found
            found = self._store.origins(asked, since)

        self._surely(read)
        return found

    def begin(self, effects: Effects, *, beside: bool) -> None:
        """Begin to store effects; ``beside``: by another thread. Wait for those before first."""
        assert self._storing is None
        if beside:
            self._storing = effects, self._writer.submit(self._store.commit, effects)
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
        if self._storing is None:
            return False
        _, queued = self._storing
        return queued.done() and queued.exception() is None

    def wait(self) -> bool:
        """Wait until the effects that were begun are stored: see :meth:`.Store.commit`."""
        queued = False

        def ask(_: bool) -> None:
            nonlocal queued
            assert self._storing is not None
            queued = self._storing[1].result()

        # If they are not stored, they are stored again when the store has been opened again.
        self._surely(ask)
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

    def stop(self) -> None:
        """From now on do not wait for a history that is unavailable."""
        self._halt.set()

    def close(self) -> None:
        """Close the store, when no other thread uses it any more."""
        self._writer.shutdown()
        self._store.close()

    def _surely(self, write: Callable[[bool], None]) -> None:
        """Carry out a write; it is told whether an earlier attempt may have arrived."""
        again = False
        while True:
            try:
                if again:
                    self._store.close()
                    self._store = self._reopen()
                    self._repeat()
                write(again)
            except HistoryError as error:
                if self._storing is not None:
                    # Nobody closes the store while it is in use.
                    wait_for([self._storing[1]])
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
                return

    def _repeat(self) -> None:
        """Store again what may have been lost: what arrived all the same has passed the watermark.

        Raises:
            HistoryError: the history is still unavailable.
        """
        for effects in self._unsure:
            self._store.commit(effects)
        if self._storing is not None:
            effects, _ = self._storing
            queued: Future[bool] = Future()
            # Of what arrived nobody knows any more whether it is in the outbox: look there.
            queued.set_result(self._store.commit(effects) or True)
            self._storing = effects, queued


LARGE: Final = 20_000
"""Statements in the window, from which on a fork makes the checkpoint: about 0.2 s."""
_LARGE_BYTES: Final = 1 << 20
"""The same for the last checkpoint: queries may hold more than the window does."""
_NICENESS: Final = 10
_PIPELINE = logging.getLogger("sensorstream.app.pipeline")


class Checkpoints:
    """Writes checkpoints; owned by the pipeline's thread.

    A fork of this process has the engine's state as it was. What it has made of it is stored by
    the pipeline's thread, between two groups.

    Args:
        seq: the entry whose state is known already.
        every: how many entries are between two checkpoints; 0: none is written.
        seconds: how long a fork may take.
        store: where they are kept; ``settle`` waits until nobody else uses it.
        read: lets something be called by the pipeline's thread between two groups.
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
        """Whether so many entries have come since the last one, and none is being made."""
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
        """Write the last one, here: nobody waits for the engine any more."""
        if self._fork is not None:
            self._fork.join()
            self._fork = None
        self._failed = True
        self.write(seq)

    def _begin(self, seq: int) -> None:
        """Let a fork make it; returns when there is the fork."""
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
