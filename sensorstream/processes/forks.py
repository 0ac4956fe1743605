"""Questions that are answered in forks of a process of its own, each with its limits.

The process has one thread, so that a fork of it has all its imports and all it was told. After each
``Ask`` the owner sends two descriptors: the fork writes its answer to the first one, and its exit
code is written to the second one when it has ended.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock, Timer, current_thread
from time import monotonic
from typing import Any, Final
from weakref import ref

from sensorstream.errors import Overrun, Unavailable
from sensorstream.processes.child_process import Child
from sensorstream.processes.question_messages import (
    AnswerOver,
    AskQuestion,
    End,
    Failed,
    QuestionBegun,
    Tell,
)
from sensorstream.processes.stopping import Stop

_START_SECONDS: Final = 120.0
"""Seconds until the first question is begun: the process may be told much before."""
_BEGIN_SECONDS: Final = 20.0
"""Seconds until each other question is begun; then the process hangs, and is ended."""
_END_SECONDS: Final = 5.0
"""Seconds until a process that was ended is gone."""
IDLE: Final = 600.0
"""Seconds without a question after which a process is ended."""
_ENVIRONMENT: Final = {
    # Arrow's other pools reserve more addresses than a question may have.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # The threads that Arrow and numpy start when they are imported would be missing in a fork.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}
_OUT_OF_MEMORY: Final = (-6, -9)
"""Exit codes for lack of memory: libraries abort, and the kernel sends SIGKILL."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Limits of a question: seconds, MiB, and rows (solutions, or triples) of the answer."""

    seconds: float
    memory: int
    rows: int


class Forks(Child):
    """A process of ``module`` that answers questions in forks; ``subject`` is for errors.
    Thread-safe. The module's ``main`` calls :func:`.serve_forks`.
    """

    def __init__(self, module: str, subject: str) -> None:
        super().__init__(module, environment=_ENVIRONMENT)
        self._subject = subject
        self._numbers = count(1)
        self._sending = Lock()
        self.patience = _START_SECONDS
        """Seconds until a question is begun, if nothing is wrong."""

    @property
    def name(self) -> str:
        """The description of the process, for errors."""
        return f"the process that answers questions to {self._subject}"

    def tell(self, message: object) -> None:
        """Tell the process something for later questions; raises Unavailable if it has ended."""
        self._put(Tell(message))

    def begin(self, question: object, limits: QuestionLimits) -> OpenQuestion:
        """Put a question; it is answered from all that the process was told before.

        Raises:
            Unavailable: the process has ended.
        """
        asked = AskQuestion(next(self._numbers), (question, limits))
        answer, there = socket.socketpair()
        status, told = socket.socketpair()
        with there, told:
            try:
                self._put(asked, (there.fileno(), told.fileno()))
            except BaseException:
                answer.close()
                status.close()
                raise
        ends = Connection(answer.detach()), Connection(status.detach())
        return OpenQuestion(self, asked.number, limits, *ends)

    def end(self, number: int) -> None:
        if self.alive:
            try:
                self._put(End(number))
            except Unavailable:
                return

    def close(self, seconds: float = _END_SECONDS) -> None:
        """End the process, and the answers it still works on."""
        super().close(seconds)

    def _put(self, request: Tell | AskQuestion | End, descriptors: Sequence[int] = ()) -> None:
        try:
            with self._sending:
                # A process that does not read must not hold up the sender.
                self.send(pickle.dumps(request), _START_SECONDS)
                if descriptors:
                    socket.send_fds(self.socket, [b"."], list(descriptors))
        except OSError as error:
            self.kill()
            raise Unavailable(f"{self.name} has ended: {error}; ask again") from None


class RestingForks:
    """A process as :class:`Forks` that runs only while there are questions. Thread-safe. It ends
    when it is closed, when it is no longer referenced, or when no question has come for a while;
    the next question starts another one.
    """

    def __init__(self, module: str, subject: str, idle: float = IDLE) -> None:
        self._start = partial(Forks, module, subject)
        self._idle = idle
        self._asking = Lock()
        self._forks: Forks | None = None
        self._timer: Timer | None = None

    def begin(self, question: object, limits: QuestionLimits, *, used: bool = True) -> OpenQuestion:
        """Put a question; one that is not ``used`` does not make the process stay longer.

        Raises:
            OSError, Unavailable: there is no process to answer it.
        """
        with self._asking:
            if self._forks is None or not self._forks.alive:
                self.drop()
                self._forks = self._start()
            if used or self._timer is None:
                self._rest(limits.seconds + self._idle)
            try:
                self.prepare(self._forks)
                return self._forks.begin(question, limits)
            except BaseException:
                self.drop()
                raise

    def close(self) -> None:
        """End the process, and the answers it still works on."""
        with self._asking:
            self.drop()

    def prepare(self, forks: Forks) -> None:
        """Tell the process what the next question needs."""

    def drop(self) -> None:
        """End the process, if there is one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._forks is not None:
            self._forks.close()
            self._forks = None

    def end_idle(self) -> None:
        """End the process, unless another question has come since the timer of this thread."""
        with self._asking:
            if current_thread() is self._timer:
                try:
                    self.drop()
                except Unavailable:
                    self._rest(self._idle)

    def _rest(self, seconds: float) -> None:
        """End the process after a while."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(seconds, _end, [ref(self)])
        self._timer.daemon = True
        self._timer.start()


def _end(idle: ref[RestingForks]) -> None:
    forks = idle()
    if forks is not None:
        forks.end_idle()


class OpenQuestion:
    """A question that is being answered."""

    def __init__(
        self,
        forks: Forks,
        number: int,
        limits: QuestionLimits,
        answer: Connection,
        status: Connection,
    ) -> None:
        self._forks = forks
        self._number = number
        self._limits = limits
        self._answer = answer
        self._status = status

    def pieces(self, stop: Stop) -> Generator[Any, None, Any]:
        """Yield the pieces of the answer as they come, return the rest; closing it ends the
        question.

        Raises:
            QueryError: it cannot be answered.
            Overrun: it took more than its limits.
            Unavailable: the process has ended.
            SensorStreamError: it was stopped.
        """
        with self._answer, self._status:
            try:
                with stop.by(self._end):
                    return (yield from self._pieces())
            except BaseException:
                self._end()
                raise

    def _end(self) -> None:
        self._forks.end(self._number)

    def _pieces(self) -> Generator[Any, None, Any]:
        deadline = monotonic() + self._forks.patience
        begun = False
        try:
            while True:
                if not self._answer.poll(max(0.0, deadline - monotonic())):
                    raise self._late(begun)
                match self._answer.recv():
                    case QuestionBegun():
                        begun = True
                        self._forks.patience = _BEGIN_SECONDS
                        deadline = monotonic() + self._limits.seconds
                    case AnswerOver(result):
                        return result
                    case Failed(error):
                        raise error
                    case piece:
                        yield piece
        except (EOFError, ConnectionResetError):
            raise self._died() from None

    def _late(self, begun: bool) -> Overrun | Unavailable:
        if begun:
            return Overrun(
                f"the question took longer than {self._limits.seconds:g} seconds: ask for "
                "less (limits.question_seconds)"
            )
        self._forks.kill()
        return Unavailable(f"{self._forks.name} does not answer")

    def _died(self) -> Overrun | Unavailable:
        """The reason why the process has ended without an answer."""
        try:
            code = self._status.recv() if self._status.poll(_END_SECONDS) else None
        except (EOFError, OSError):
            code = None
        if code is None:
            return Unavailable(f"{self._forks.name} ended: ask again")
        if code in _OUT_OF_MEMORY:
            return out_of_memory(self._limits)
        return Overrun(
            f"the query is too large to be answered: the process that answered it ended with {code}"
        )


def out_of_memory(limits: QuestionLimits) -> Overrun:
    """The error for a question that needed more memory than it may have."""
    return Overrun(
        f"the question needs more than {limits.memory} MiB of memory: ask for less "
        "(limits.question_memory)"
    )
