"""The store as the pipeline writes it: a write is repeated until it has arrived.

Effects are stored without a wait for the disk, and by a second thread if the first has other work.
Why nothing is lost or doubled by it: docs/decisions/004-effects-need-no-disk.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from datetime import datetime
from threading import Event
from typing import Final

from sensorstream.errors import HistoryError, Unstorable
from sensorstream.journal.records import Effects, Record, Store

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
