"""The server's side of the process with the copy of the cache."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock
from time import monotonic
from typing import IO, Final

from sensorstream.cache.answering import out_of_memory
from sensorstream.cache.protocol import (
    Answered,
    Ask,
    Begun,
    CacheLimits,
    CacheQuestion,
    Change,
    End,
    Failed,
    Reply,
    Request,
)
from sensorstream.errors import Overrun, Unavailable
from sensorstream.history.asking.stopping import Stop
from sensorstream.kb.changes import Quad
from sensorstream.network.exact import stored_text

_START_SECONDS: Final = 120.0
"""Seconds until the first question is begun: the process takes over the knowledge base."""
_BEGIN_SECONDS: Final = 20.0
"""Seconds until each other question is begun; then the process hangs, and is ended."""
_END_SECONDS: Final = 5.0
"""Seconds until a process that was ended is gone."""
_OUT_OF_MEMORY: Final = (-6, -9)
"""Oxigraph aborts when it gets no memory; SIGKILL comes from the kernel that has none left."""


class CacheCopy:
    """A process with a copy of the cache, empty at first. Thread-safe."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        self._numbers = count(1)
        self._sending = Lock()
        self._started = False
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "sensorstream.cache.copy_process", str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Its own group: a terminal's Ctrl-C is not for it.
                start_new_session=True,
                env=os.environ
                | {
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    # Arrow's other ones reserve more addresses than a question may have.
                    "ARROW_DEFAULT_MEMORY_POOL": "system",
                },
            )
        # A process that does not read must not hold up who sends to it.
        limit = struct.pack("ll", int(_START_SECONDS), 0)
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._socket = here
        self._control = Connection(os.dup(here.fileno()))

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def patience(self) -> float:
        """Seconds until a question is begun, if nothing is wrong."""
        return _BEGIN_SECONDS if self._started else _START_SECONDS

    def note_begun(self) -> None:
        """A question has been begun."""
        self._started = True

    def change(self, added: Sequence[Quad], removed: Sequence[Quad]) -> None:
        """Bring the copy into step; takes effect for all questions that are begun later.

        Raises:
            Unavailable: the process has ended.
        """
        self._send(Change(_written(added), _written(removed)))

    def begin(self, question: CacheQuestion, limits: CacheLimits) -> Question:
        """Put a question to the copy as it is now.

        Raises:
            Unavailable: the process has ended.
        """
        asked = Ask(next(self._numbers), question, limits)
        answer, there = socket.socketpair()
        status, told = socket.socketpair()
        with there, told:
            try:
                self._send(asked, (there.fileno(), told.fileno()))
            except BaseException:
                answer.close()
                status.close()
                raise
        return Question(self, asked, Connection(answer.detach()), Connection(status.detach()))

    def end(self, number: int) -> None:
        """End the answering of a question."""
        if self.alive:
            try:
                self._send(End(number))
            except Unavailable:
                return

    def kill(self) -> None:
        """End the process and what it answers at once; from any thread."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and what it still answers."""
        self._control.close()
        self._socket.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def _send(self, request: Request, descriptors: Sequence[int] = ()) -> None:
        try:
            with self._sending:
                self._control.send(request)
                if descriptors:
                    socket.send_fds(self._socket, [b"."], list(descriptors))
        except OSError as error:
            self.kill()
            raise Unavailable(
                f"the process that answers questions to the cache has ended: {error}; ask again"
            ) from None


class Question:
    """A question that is being answered."""

    def __init__(self, copy: CacheCopy, asked: Ask, answer: Connection, status: Connection) -> None:
        self._copy = copy
        self._asked = asked
        self._answer = answer
        self._status = status

    def write(self, out: IO[bytes], stop: Stop) -> Answered:
        """Write the answer; the media type, or what was offered instead.

        Raises:
            QueryError: it cannot be answered.
            Overrun: it took more than its limits.
            Unavailable: the process has ended.
            SensorStreamError: it was stopped.
        """
        with self._answer, self._status:
            try:
                with stop.by(self._end):
                    return self._write(out)
            except BaseException:
                self._end()
                raise

    def _end(self) -> None:
        self._copy.end(self._asked.number)

    def _write(self, out: IO[bytes]) -> Answered:
        deadline = monotonic() + self._copy.patience
        begun = False
        try:
            while True:
                if not self._answer.poll(max(0.0, deadline - monotonic())):
                    raise self._late(begun)
                reply: Reply = self._answer.recv()
                match reply:
                    case Begun():
                        begun = True
                        self._copy.note_begun()
                        deadline = monotonic() + self._asked.limits.seconds
                    case bytes():
                        out.write(reply)
                    case Answered():
                        return reply
                    case Failed(error):
                        raise error
        except (EOFError, ConnectionResetError):
            raise self._died() from None

    def _late(self, begun: bool) -> Overrun | Unavailable:
        if begun:
            return Overrun(
                f"the question took longer than {self._asked.limits.seconds:g} seconds: ask for "
                "less (limits.question_seconds)"
            )
        self._copy.kill()
        return Unavailable("the process that answers questions to the cache does not answer")

    def _died(self) -> Overrun | Unavailable:
        """Why the process that answered has ended without an answer."""
        try:
            code = self._status.recv() if self._status.poll(_END_SECONDS) else None
        except (EOFError, OSError):
            code = None
        if code is None:
            return Unavailable("the process that answers questions to the cache ended: ask again")
        if code in _OUT_OF_MEMORY:
            return Overrun(out_of_memory(self._asked.limits.memory))
        return Overrun(
            f"the query is too large to be answered: the process that answered it ended with {code}"
        )


def _written(quads: Iterable[Quad]) -> bytes:
    lines = (
        f"{s.n3} {p.n3} {stored_text(o)} .\n"
        if graph is None
        else f"{s.n3} {p.n3} {stored_text(o)} {graph.n3} .\n"
        for (s, p, o), graph in quads
    )
    # UTF-8 cannot hold a lone surrogate.
    return "".join(lines).encode("utf-8", "replace")
