"""Ends a process in which one entry of the journal takes far too long.

A thread can be interrupted neither in C nor in Python that does not want to. So the process ends,
is started again, and the start counts what was in work (:mod:`sensorstream.app.skipping`).
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
from contextlib import suppress
from threading import Event, Thread
from typing import Final, Self

from sensorstream.app.in_work import InWork, Now

EXIT_CODE: Final = 70
"""The process's exit code, if the watchdog ended it."""
_LOG = logging.getLogger(__name__)
_TWICE: Final = 2
"""How many times the limit of an entry is waited for: the health check fails in between."""
_BEATS: Final = 50
"""How often the watchdog looks while it waits so long."""
_LONGEST_BEAT: Final = 1.0


class Watchdog:
    """Looks what is in work, in a thread, while the context lasts.

    While C code keeps the interpreter from all other threads, as a regular expression of Python's
    may, no thread of ours runs. Then the processor time that passes makes the system end this
    process, by SIGPROF.

    Args:
        in_work: what the pipeline's thread is at.
        seconds: how long an entry may take; after twice as long the process ends.
    """

    def __init__(self, in_work: InWork, seconds: float) -> None:
        self._in_work = in_work
        self._limit = _TWICE * seconds
        self._beat = min(self._limit / _BEATS, _LONGEST_BEAT)
        self._halt = Event()
        self._thread = Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        # It writes where each thread is, and then lets the signal end the process.
        faulthandler.register(signal.SIGPROF, chain=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._halt.set()
        self._thread.join()
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.unregister(signal.SIGPROF)

    def _run(self) -> None:
        at: Now | None = None
        waited = 0.0
        while not self._halt.is_set():
            signal.setitimer(signal.ITIMER_PROF, self._limit)
            now = self._in_work.now
            if now is not at:
                at, waited = now, 0.0
            elif now is not None and waited >= self._limit * now.patience:
                self._end(now, waited)
            self._halt.wait(self._beat)
            # Not by the clock: a process that was stopped meanwhile has not worked.
            waited += self._beat

    def _end(self, now: Now, waited: float) -> None:
        with suppress(Exception):
            _LOG.critical("%s for %.0f s: the process ends, to be started again", now, waited)
            faulthandler.dump_traceback(sys.stderr)
        os._exit(EXIT_CODE)
