"""A process of one of our modules, as its owner sees it: started, asked, and ended.

Work beyond a limit ends that process only. It always ends with its owner, because the pair of
sockets between them closes then.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import weakref
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Final

from sensorstream.processes.pipe_waits import Pulse, readable

_STUCK: Final = 60.0
"""Seconds that a message may be on its way once it has begun to move."""


class Child:
    """A process of ``module``, whose ``main`` gets a connection and the ``arguments``. Thread-safe
    but for :meth:`send` and :meth:`receive`.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        said: IO[bytes] | None = None,
    ) -> None:
        """Start it; ``environment`` is added to that of this process, ``said`` receives what it
        prints, else its errors go to those of this process.
        """
        self._owner = os.getpid()
        self.socket, there = socket.socketpair()
        """This side's end; what goes over it is framed as :attr:`connection` does."""
        with there:
            number = there.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __package__, module, str(number), *arguments],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if said is None else said,
                stderr=said,
                # Its own group ends as one, and does not get the Ctrl-C of a terminal.
                start_new_session=True,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
                | dict(environment or {}),
            )
        self.pid = self._process.pid
        """Its number."""
        self.connection = Connection(os.dup(self.socket.fileno()))
        self._end = weakref.finalize(
            self, _kill, self._process, self._owner, self.socket, self.connection
        )
        # If the owner ends in another way, the closed connection ends the process.
        self._end.atexit = False
        self._allowed = 0.0
        self._allow(_STUCK)

    @property
    def alive(self) -> bool:
        """Whether it can be asked; a fork of its owner must not ask it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def code(self, seconds: float | None = None) -> int:
        """Wait for its end and return its exit code; TimeoutError: it did not end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def send(self, message: bytes, seconds: float = _STUCK) -> None:
        """Send a message; a process that is stopped or hangs may read nothing for so many seconds.

        Raises:
            TimeoutError: it read nothing.
            OSError: it has ended.
        """
        self._allow(seconds)
        try:
            self.connection.send_bytes(message)
        except BlockingIOError:
            raise TimeoutError from None

    def receive(self, seconds: float, *, works: bool = False) -> bytes:
        """Return the next message that comes within so many seconds; with ``works`` it may take
        longer as long as the process works, or waits for a processor.

        Raises:
            TimeoutError: nothing comes.
            EOFError: it has ended.
        """
        descriptor, pulse = self.connection.fileno(), Pulse(self.pid)
        while not readable(descriptor, seconds):
            if not (works and pulse.beats()):
                raise TimeoutError
        try:
            return self.connection.recv_bytes()
        except BlockingIOError:
            raise TimeoutError from None
        except ConnectionResetError:  # it had not read all
            raise EOFError from None

    def close(self, seconds: float = 0.0) -> None:
        """Hang up, and end it if it is still there after so many seconds; may be repeated."""
        self.connection.close()
        self.socket.close()
        with suppress(TimeoutError):
            if seconds:
                self.code(seconds)
        self._end()

    def kill(self) -> None:
        """End it and its group at once, from any thread."""
        _kill(self._process, self._owner)

    def _allow(self, seconds: float) -> None:
        """Bound the time of what is sent and received."""
        if seconds <= 0:
            raise TimeoutError
        if seconds == self._allowed:
            return
        self._allowed = seconds
        whole, rest = divmod(max(1, int(seconds * 1_000_000)), 1_000_000)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            self.socket.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", whole, rest))


def _kill(process: subprocess.Popen[bytes], owner: int, *ends: socket.socket | Connection) -> None:
    for each in ends:
        each.close()
    if owner != os.getpid():
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
