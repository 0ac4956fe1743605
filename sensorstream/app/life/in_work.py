"""The present work of the pipeline's thread: for the health check, the watchdog, the next start.

The entry in work stands in a small file that is mapped into memory. So it costs no system call per
entry, and is still there when the process was killed (not when the machine lost its power).
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from struct import Struct
from threading import Event, Thread
from time import monotonic
from typing import Final, Self

from sensorstream.errors import HistoryError
from sensorstream.journal.kinds import COSTLY
from sensorstream.journal.records import Record, number_of_message
from sensorstream.model.frozen import frozen

_MARK: Final = Struct("<qqqq")
"""The entry in work, the message whose turn it is, the engine; its time of arrival. 0: none."""
_DEATHS: Final = Struct("<qqqq")
"""The same three of the last death, and how often in a row there was this one."""
_SIZE: Final = _MARK.size + _DEATHS.size
COSTLY_TIMES: Final = 10
"""How much longer than others an entry may take that starts a reasoner."""
TOO_OFTEN: Final = 2
"""Deaths in a row at one entry after which it is skipped. The first may be chance."""


@frozen
class Death:
    """The entry in work when the process before this one ended, and how often in a row. ``message``
    is the number of the message whose turn it was, which may be an earlier one that the entry has
    released; 0: no message had its turn yet. ``received`` is the entry's arrival, ``engine`` the
    number of the one that worked, where there are several.
    """

    entry: int
    received: int
    message: int
    times: int
    engine: int = 0

    @property
    def culprit(self) -> int:
        """The number of the entry that has to be skipped."""
        return self.message or self.entry


@frozen
class Now:
    """An entry that is applied, or a sentence about other work. ``since`` is a reading of the
    clock, ``patience`` how many times the usual limit it may take.
    """

    what: Record | str
    since: float
    patience: int = 1

    def __str__(self) -> str:
        if isinstance(self.what, str):
            return self.what
        source = f" from '{self.what.message.source[:80]}'" if self.what.message.source else ""
        return f"entry {self.what.seq} ({self.what.kind}{source}) has been in work"


class InWork:
    """The present work, written by the thread that applies entries; read by any."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is the file; None: only this process knows."""
        self.now: Now | None = None
        self.engine = 0
        """The number of the engine that works, where there are several."""
        self._path = path
        self._mark: bytearray | mmap = bytearray(_SIZE)
        # Entry, message and engine of the last death, until they have been passed this time.
        self._suspect: tuple[int, ...] | None = None

    def open(self) -> Death | None:
        """Begin to write the file; only the one writer of the history may. Returns the work during
        which the process before ended, if there was any.

        Raises:
            HistoryError: the file cannot be written.
        """
        if self._path is None:
            return None
        try:
            self._mark = _mapped(self._path)
        except OSError as error:
            raise HistoryError(f"cannot write {self._path}: {error.strerror}") from error
        *now, received = _MARK.unpack_from(self._mark)
        *last, times = _DEATHS.unpack_from(self._mark, _MARK.size)
        entry, message, engine = now
        if not entry:
            # It ended at something else, or cleanly: the count stands until the entry is passed.
            self._suspect = tuple(last) if times else None
            return None
        times = times + 1 if last == now else 1
        self._suspect = tuple(now)
        _DEATHS.pack_into(self._mark, _MARK.size, *now, times)
        _MARK.pack_into(self._mark, 0, 0, 0, 0, 0)
        return Death(entry, received, message, times, engine)

    def begin(self, record: Record) -> None:
        """Record that an entry of the journal is applied from now on."""
        if self._suspect is not None:
            self._pass()
        self.now = Now(record, monotonic(), COSTLY_TIMES if record.kind in COSTLY else 1)
        _MARK.pack_into(self._mark, 0, record.seq, 0, self.engine, record.message.received)

    def turn_to(self, message: str) -> None:
        """Record that the entry has come to the message with this id."""
        if self.now is None:
            return
        if self._suspect is not None:
            self._pass()
        entry, _, *more = _MARK.unpack_from(self._mark)
        _MARK.pack_into(self._mark, 0, entry, number_of_message(message), *more)

    def attend(self, what: str) -> None:
        """Record work that is no entry; ``what`` is a sentence that "for 5 s" may follow."""
        self.now = Now(what, monotonic())

    def end(self) -> None:
        if self._suspect is not None:
            self._pass()
        _MARK.pack_into(self._mark, 0, 0, 0, 0, 0)
        self.now = None

    def forget(self) -> None:
        """Stop counting the last death."""
        self._suspect = None
        _DEATHS.pack_into(self._mark, _MARK.size, 0, 0, 0, 0)

    @property
    def seconds(self) -> float:
        """The seconds of the present work; 0: there is none."""
        now = self.now
        return 0.0 if now is None else monotonic() - now.since

    def longer_than(self, seconds: float) -> str:
        """The work that takes longer than it may, as text; empty: there is none."""
        now = self.now
        if now is None or (taken := monotonic() - now.since) <= seconds * now.patience:
            return ""
        return f"{now} for {taken:.0f} s, expected at most {seconds * now.patience:g} s"

    def _pass(self) -> None:
        if _MARK.unpack_from(self._mark)[:-1] == self._suspect:
            self.forget()


def _mapped(path: Path) -> mmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # With reserved disk space: a write without room would end the process (SIGBUS).
        os.posix_fallocate(number, 0, _SIZE)
        return mmap(number, _SIZE)
    finally:
        os.close(number)


EXIT_CODE: Final = 70
"""The process's exit code, if the watchdog ended it."""
_LOG = logging.getLogger(__name__)
_TWICE: Final = 2
"""How many times the limit of an entry is waited for: the health check fails in between."""
_BEATS: Final = 50
"""How often the watchdog looks while it waits so long."""
_LONGEST_BEAT: Final = 1.0


class Watchdog:
    """A thread that ends the process when an entry takes twice as long as it may, ``seconds``.

    A thread can be interrupted neither in C nor in Python that does not want to. So the process
    ends, is started again, and the start counts the entry in work (:func:`.skip_deadly`). C code
    that keeps the interpreter from all other threads, as a regular expression of Python's may,
    keeps it from this one too. Then the processor time that passes makes the system end this
    process, by SIGPROF.
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
