"""Repeated work beside all other, in a thread of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Self

from sensorstream.errors import SensorStreamError


class RepeatedWork:
    """A thread that works every so many seconds, until it is stopped; a context manager, too. An
    exception ends only this turn: the log tells its ``trouble``, a :class:`SensorStreamError` by
    the first text, as a warning, any other by the second, as a fault. ``at_once``: the first turn
    waits for nothing. ``patience`` are the seconds to wait for the end of the thread; None: as long
    as it takes.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], object],
        every: float | Callable[[], float],
        trouble: tuple[str, str],
        *,
        at_once: bool = False,
        patience: float | None = None,
    ) -> None:
        self._work = work
        self._every = every
        self._trouble = trouble
        self._at_once = at_once
        self._patience = patience
        self._halt = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    @property
    def stopping(self) -> bool:
        return self._halt.is_set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the present turn."""
        self._halt.set()
        if self._thread.ident is not None:
            self._thread.join(self._patience)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        log = logging.getLogger(self._work.__module__)
        now = self._at_once
        while now or not self._halt.wait(self._every() if callable(self._every) else self._every):
            now = False
            try:
                self._work()
            except SensorStreamError as error:
                log.warning("%s: %s", self._trouble[0], error)
            except Exception:
                log.exception("%s", self._trouble[1])
