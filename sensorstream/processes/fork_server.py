"""The process of :class:`.Forks`, from inside."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final, Never, Protocol

from sensorstream.errors import QueryError, SensorStreamError
from sensorstream.processes.forks import QuestionLimits, out_of_memory
from sensorstream.processes.process_limits import end_first, limit_memory
from sensorstream.processes.question_messages import (
    AnswerOver,
    AskQuestion,
    End,
    Failed,
    QuestionBegun,
    Tell,
)

_NICENESS: Final = 10
_SPARE_SECONDS: Final = 5
_MIB: Final = 1024 * 1024


class Answering(Protocol):
    """The work of the process: it hears messages and answers questions."""

    def tell(self, message: Any) -> None:
        """Take in a message of the owner."""

    def answer(self, question: Any, limits: QuestionLimits, send: Callable[[Any], None]) -> Any:
        """Send pieces of the answer, and return the rest of it; runs in a fork."""


def serve_forks(owner: Connection, answering: Answering) -> Never:
    """Serve the owner's requests until it hangs up; then all forks end."""
    with socket.socket(fileno=os.dup(owner.fileno())) as control:
        _Server(owner, control, answering).serve()


class _Server:
    def __init__(self, owner: Connection, control: socket.socket, answering: Answering) -> None:
        self._control = control
        self._requests = owner
        self._answering = answering
        # By process id: the number of the question it answers, and where to send its exit code.
        self._forks: dict[int, tuple[int, Connection]] = {}

    def serve(self) -> Never:
        ended, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(ended, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        while True:
            ready, _, _ = select.select([self._requests.fileno(), ended], [], [])
            if ended in ready:
                os.read(ended, 4096)
                self._reap()
            if self._requests.fileno() in ready:
                try:
                    self._do(pickle.loads(self._requests.recv_bytes()))
                except (EOFError, OSError):
                    break
        for pid in self._forks:
            os.kill(pid, signal.SIGKILL)
        # Skips exit handlers: libraries would tidy up there, and report that.
        os._exit(0)

    def _do(self, request: Tell | AskQuestion | End) -> None:
        match request:
            case Tell(message):
                self._answering.tell(message)
            case AskQuestion():
                self._fork(request)
            case End(number):
                for pid, (asked, _) in self._forks.items():
                    if asked == number:
                        os.kill(pid, signal.SIGKILL)

    def _fork(self, asked: AskQuestion) -> None:
        _, [answer, status], _, _ = socket.recv_fds(self._control, 1, 2)
        # The collector would write to the memory of all objects, which a fork shares.
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            self._requests.close()
            self._control.close()
            question, limits = asked.question
            replies = Connection(answer, readable=False)
            _answer_and_exit(self._answering, question, limits, replies)
        os.close(answer)
        self._forks[pid] = asked.number, Connection(status, readable=False)

    def _reap(self) -> None:
        while self._forks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _, told = self._forks.pop(pid)
            # The owner may have stopped waiting for it.
            with told, suppress(OSError):
                told.send(os.waitstatus_to_exitcode(status))


def _answer_and_exit(
    answering: Answering, question: Any, limits: QuestionLimits, replies: Connection
) -> Never:
    """Answer a question, within its limits; ends the process."""
    code = 1
    try:
        _limit(limits)
        replies.send(QuestionBegun())
        replies.send(_reply(answering, question, limits, replies.send))
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        code = 0  # Nobody wants the answer any more.
    finally:
        os._exit(code)


def _limit(limits: QuestionLimits) -> None:
    """Let the kernel limit this process; it must not take the cores from the engine."""
    os.nice(_NICENESS)
    end_first()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The owner ends it earlier, if the owner still is there.
    seconds = int(limits.seconds * (os.cpu_count() or 1)) + _SPARE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    limit_memory(limits.memory * _MIB)
    # Libraries print there that they ran out of memory, which the exit code says as well.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)


def _reply(
    answering: Answering, question: Any, limits: QuestionLimits, send: Callable[[Any], None]
) -> AnswerOver | Failed:
    try:
        return AnswerOver(answering.answer(question, limits, send))
    except SensorStreamError as error:
        return Failed(error)
    except MemoryError:
        return Failed(out_of_memory(limits))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        return Failed(QueryError(f"the query cannot be answered: {error}"))
