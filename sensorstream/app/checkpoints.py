"""The state of the engine, written every so many entries: a large one while the engine goes on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

from sensorstream.app.durable import Durable
from sensorstream.app.in_work import InWork
from sensorstream.engine.checkpoint import dump
from sensorstream.engine.engine import Engine
from sensorstream.errors import SensorStreamError, Unavailable
from sensorstream.kb.graph import Origin
from sensorstream.processes.apart import run_apart

LARGE: Final = 20_000
"""Statements in the window, from which on a fork makes the checkpoint: about 0.2 s."""
_LARGE_BYTES: Final = 1 << 20
"""The same for the last checkpoint: queries may hold more than the window does."""
_NICENESS: Final = 10
_LOG = logging.getLogger("sensorstream.app.pipeline")


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
            _LOG.error("the checkpoint at entry %d was not made by a fork: %s", seq, error)
        except Exception:
            _LOG.exception("internal error: the checkpoint at entry %d was not made", seq)
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
