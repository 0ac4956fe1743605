"""Work on documents in a process of its own, since libxml2 has no limit of time and a thread cannot
be ended. The process is started with the first message, and again after it was ended.
"""

from __future__ import annotations

import pickle
import resource
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from struct import Struct
from threading import Lock
from time import process_time
from typing import Final

from sensorstream.errors import Overrun
from sensorstream.processes.child_process import Child

_SECONDS: Final = Struct("<d")
"""The processor time that it may take, before each document, and has taken, before the answer."""
_HANGS: Final = 60.0
"""Seconds without any work after which a process is taken to hang."""
_MEMORY: Final = 1 << 30
"""Bytes of memory that the process may take."""
_AGAIN_SECONDS: Final = 3600.0
"""The limit for a document that was in time once; the watchdog ends the server long before."""


class DocumentWorker:
    """A process of ``module``, which may take ``seconds`` for a whole message. Thread-safe."""

    def __init__(
        self, module: str, given: Sequence[bytes], what: str, seconds: float, setting: str
    ) -> None:
        """Prepare the process; the ``main`` of ``module`` calls :func:`serve`. ``given`` is sent to
        it first; ``what`` it does and ``setting`` are for errors.
        """
        self._module = module
        self._given = given
        self._what = what
        self._seconds = seconds
        self._setting = setting
        self._lock = Lock()
        self._process: Child | None = None
        self._message = ""
        self._left = seconds

    def ask(self, document: bytes, message: str, *, again: bool = False) -> bytes:
        """The answer of the process to a document; ``message`` is the id of the message. ``again``:
        it was answered before, within the limit, and has none now.

        Raises:
            Overrun: it takes too long, or makes too much; the process was ended.
        """
        with self._lock:
            if message != self._message:
                self._message = message
                self._left = _AGAIN_SECONDS if again else self._seconds
            left, self._left = self._left, 0.0
            if left <= 0.0:
                raise self._too_slow()
            try:
                spent, answer = self._asked(document, left)
                # The system ends a process that takes much longer.
                if spent > left:
                    raise TimeoutError
                self._left = left - spent
                return answer
            except TimeoutError:
                self._end()
                raise self._too_slow() from None
            except (EOFError, OSError):
                self._end()
                raise self._overrun(
                    f"ended its process: it takes more than {_MEMORY >> 20} MiB of memory, or more "
                    f"than {self._limit}"
                ) from None

    def _asked(self, document: bytes, seconds: float) -> tuple[float, bytes]:
        """The processor time that it took, and the answer."""
        if self._process is None or not self._process.alive:
            self._process = Child(self._module)
            self._process.send(pickle.dumps(list(self._given)))
            self._process.receive(_HANGS, works=True)
        # The process reads the whole message before it works, so sending does not wait for the
        # work.
        self._process.send(_SECONDS.pack(seconds) + document)
        try:
            answer = self._process.receive(_HANGS, works=True)
        except EOFError:
            if self._process.code() == -signal.SIGPROF:
                raise TimeoutError from None
            raise
        (spent,) = _SECONDS.unpack_from(answer)
        return spent, answer[_SECONDS.size :]

    @property
    def _limit(self) -> str:
        return f"{self._seconds:g} s ({self._setting})"

    def _too_slow(self) -> Overrun:
        return self._overrun(f"took longer than {self._limit}")

    def _overrun(self, told: str) -> Overrun:
        return Overrun(f"{self._what} {told}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


def serve(owner: Connection, prepare: Callable[[list[bytes]], Callable[[bytes], bytes]]) -> None:
    """Answer each document that comes; runs in the process. ``prepare`` makes the function that
    answers of the data that the process is given.
    """
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answer = prepare(pickle.loads(owner.recv_bytes()))
    owner.send_bytes(b"")
    while True:
        try:
            asked = owner.recv_bytes()
        except EOFError:
            return
        (seconds,) = _SECONDS.unpack_from(asked)
        # A limit of processor time: the system ends this process then, even if its owner is gone.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        begun = process_time()
        found = answer(asked[_SECONDS.size :])
        spent = process_time() - begun
        signal.setitimer(signal.ITIMER_PROF, 0)
        owner.send_bytes(_SECONDS.pack(spent) + found)
