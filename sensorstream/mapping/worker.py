"""Works on documents in a process of its own: libxml2 has no limit of time, and a thread no end.

The process is started with the first message, and again after it was ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from struct import Struct
from threading import Lock
from typing import Final

from sensorstream.errors import Overrun
from sensorstream.processes.pipes import Pulse, readable

FRAME: Final = Struct("<Q")
"""The length of what follows in a pipe."""
SECONDS: Final = Struct("<d")
"""The processor time that it may take, before each document, and has taken, before the answer."""
_HANGS: Final = 60.0
"""Seconds without any work after which a process is taken to hang."""
MEMORY: Final = 1 << 30
"""Bytes of memory that the process may take."""
_AGAIN_SECONDS: Final = 3600.0
"""For what was in time once: the watchdog ends the server long before."""


class Worker:
    """A process of ``module``, which may take ``seconds`` for a message, its parts together.

    Thread-safe.
    """

    def __init__(
        self, module: str, given: Sequence[bytes], what: str, seconds: float, setting: str
    ) -> None:
        """``module`` calls :func:`sensorstream.mapping.worker_process.serve`.

        ``given`` is what the process gets first; ``what`` it does and ``setting`` are for errors.
        """
        self._module = module
        self._given = given
        self._what = what
        self._seconds = seconds
        self._setting = setting
        self._lock = Lock()
        self._process: _Process | None = None
        self._message = ""
        self._left = seconds

    def ask(self, document: bytes, message: str, *, again: bool = False) -> bytes:
        """What the process makes of a document; ``message`` is the id of the message.

        ``again``: it was made before, within the limit, and is now however long it takes.

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
            # A fork of this process must not talk to the process of the original.
            if self._process is None or not self._process.usable:
                self._process = _Process(self._module, self._given)
            try:
                spent, answer = self._process.ask(document, left)
                # The system ends what takes much longer.
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
                    f"ended its process: it takes more than {MEMORY >> 20} MiB of memory, or more "
                    f"than {self._limit}"
                ) from None

    @property
    def _limit(self) -> str:
        return f"{self._seconds:g} s ({self._setting})"

    def _too_slow(self) -> Overrun:
        return self._overrun(f"took longer than {self._limit}")

    def _overrun(self, told: str) -> Overrun:
        return Overrun(f"{self._what} {told}")

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    def __init__(self, module: str, given: Sequence[bytes]) -> None:
        self._owner = os.getpid()
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C goes to the owner only.
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.end = weakref.finalize(self, _kill, process, self._owner)
        try:
            self._send(pickle.dumps(list(given)))
            self._receive()
        except BaseException:
            self.end()
            raise

    @property
    def usable(self) -> bool:
        """Whether it runs, and is this process's own."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, document: bytes, seconds: float) -> tuple[float, bytes]:
        """The processor time that it took, and the answer.

        Raises TimeoutError, EOFError or OSError; the process is of no use then.
        """
        self._send(SECONDS.pack(seconds) + document)
        try:
            answer = self._receive()
        except EOFError:
            if self._process.wait() == -signal.SIGPROF:
                raise TimeoutError from None
            raise
        (spent,) = SECONDS.unpack_from(answer)
        return spent, answer[SECONDS.size :]

    def _send(self, frame: bytes) -> None:
        # It reads all before it does anything, so that this does not wait for its work.
        self._stdin.write(FRAME.pack(len(frame)) + frame)
        self._stdin.flush()

    def _receive(self) -> bytes:
        pipe, pulse = self._stdout.fileno(), Pulse(self._process.pid)
        frame = bytearray()
        end = FRAME.size
        while len(frame) < end:
            if not readable(pipe, _HANGS):
                if not pulse.beats():
                    raise TimeoutError
                continue
            part = os.read(pipe, 1 << 16)
            if not part:
                raise EOFError
            frame += part
            if len(frame) >= FRAME.size:
                end = FRAME.size + FRAME.unpack_from(frame)[0]
        return bytes(frame[FRAME.size :])


def _kill(process: subprocess.Popen[bytes], owner: int) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    if owner == os.getpid():
        process.kill()
        process.wait()
