"""Termination of PostgreSQL processes that do not end with their question.

PostgreSQL checks from time to time whether to stop. Some of its functions do not check while they
compare large values: two arrays (``&&``), two paths (``?#``), a text with a set of characters
(``btrim``). Such a process would work for hours, and a few would take all processors.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final

import psutil
from psycopg2 import extensions

from sensorstream.errors import HistoryError, Overrun
from sensorstream.history.embedded import binaries
from sensorstream.processes.stopping import Stop

_LOG: Final = logging.getLogger(__name__)
GRACE: Final = 5.0
"""Seconds after which a process is considered not to stop."""
PATIENCE: Final = 60.0
"""Seconds that such a process runs at the lowest priority before it is killed. PostgreSQL restarts
then, which takes a second and loses no committed data.
"""
_LOOK: Final = 0.5
_LOWEST: Final = 19


@contextmanager
def ending(connection: extensions.connection, stop: Stop, seconds: float) -> Iterator[None]:
    """A block in which a question works on a connection, for a number of seconds in all.

    PostgreSQL limits that time itself (``statement_timeout``); else ``stop`` is called.
    PostgreSQL's process of a stopped question is ended afterwards.
    """
    pid, done = connection.info.backend_pid, Event()

    def watch() -> None:
        worked = 0.0
        while not done.wait(_LOOK):
            if connection.info.transaction_status == extensions.TRANSACTION_STATUS_ACTIVE:
                worked += _LOOK
            if worked > seconds + GRACE:
                told = "the query took longer than limits.question_seconds allows"
                stop.now(Overrun(told))
                return

    watching = Thread(target=watch, name="question", daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()
        if stop.reason is not None:
            Thread(target=_see_to, args=(pid,), name="backend", daemon=True).start()


def _see_to(pid: int) -> None:
    try:
        process = psutil.Process(pid)
        # Otherwise the number is a process of another machine, or of a server that is not ours.
        ours = Path(process.exe()).resolve() == (binaries() / "postgres").resolve()
    except (psutil.Error, OSError, HistoryError, ImportError):
        return
    if ours:
        end_in_time(process)


def end_in_time(process: psutil.Process, grace: float = GRACE, patience: float = PATIENCE) -> None:
    """Wait until a process ends; lower its priority after ``grace``, kill it after ``patience``."""
    if _ends_within(process, grace):
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOWEST)
    if _ends_within(process, patience):
        return
    _LOG.warning(
        "the process %d of PostgreSQL did not end with its question: it is killed, and PostgreSQL "
        "starts again",
        process.pid,
    )
    with suppress(psutil.Error):
        process.kill()


def _ends_within(process: psutil.Process, seconds: float) -> bool:
    with suppress(psutil.TimeoutExpired):
        process.wait(seconds)
        return True
    return False
