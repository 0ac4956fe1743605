"""Work that nothing can interrupt, done in a fork of this process, which can be ended.

A fork has all that the work needs, compiled and with its data, and returns the same result as here.
It has one thread and no open files but its pipe, and leaves no trace.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import BoundedSemaphore, Lock, Semaphore
from typing import Final, NoReturn, TypeVar

from sensorstream.errors import Busy, Overrun, SensorStreamError
from sensorstream.processes.pipe_waits import Pulse, readable
from sensorstream.processes.process_limits import end_first, limit_memory

MEMORY: Final = 1 << 30
"""Bytes of memory that the work may take, beside what this process has."""
MOST_OUTPUT: Final = 64 << 20
"""Bytes that it may give back."""
_LOOK: Final = 1.0
"""Seconds, at least, between two looks whether a fork works at all."""
_LEAST: Final = 1e-6
"""Seconds of a timer; 0 would be none."""
_ORPHAN: Final = 60
"""The lifetime of a fork that its owner does not end, as a multiple of its seconds."""
_OUT_OF_MEMORY: Final = 71
_TOO_LARGE: Final = 72

T = TypeVar("T")


class _HungError(Exception):
    """A fork that did nothing: another thread held a lock, which no one releases there."""


def run_apart(
    work: Callable[[], T],
    seconds: float,
    *,
    what: str,
    setting: str,
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> T:
    """The result of ``work``, which changes nothing outside itself, or its exception; both must be
    picklable. ``what`` is done, and ``setting`` the name of the limit, for errors. The process is
    forked within ``quiet``, so that what the work reads does not change just then; the work itself
    is done afterwards.

    Raises Overrun if it takes more ``seconds`` of processor time (on a busy machine it may last
    longer), more than :data:`MEMORY`, or gives back more than :data:`MOST_OUTPUT`.
    """
    try:
        try:
            answer = _answer(work, seconds, quiet)
        except _HungError:
            answer = _answer(work, seconds, quiet)
    except (_HungError, TimeoutError):
        raise Overrun(f"{what} took longer than {seconds:g} s ({setting})") from None
    except MemoryError:
        raise Overrun(f"{what} took more than {MEMORY >> 20} MiB of memory") from None
    except OSError as error:
        raise Overrun(f"{what} {error}") from None
    # It is what the fork wrote.
    succeeded, result = pickle.loads(answer)
    if not succeeded:
        raise result
    found: T = result
    return found


class ForkTurns:
    """A limit of ``most`` forks of one kind at a time; thread-safe. Another one waits for up to
    ``seconds``. ``what`` they do is for errors.
    """

    def __init__(self, most: int, seconds: float, what: str) -> None:
        self._free = BoundedSemaphore(most)
        self._seconds = seconds
        self._what = what

    def turn(self) -> AbstractContextManager[None]:
        """A block that may fork; raises Busy if others took too long."""
        refusal = Busy(f"{self._what}: too many ask at once: ask again later")
        return held(self._free, self._seconds, refusal)


@contextmanager
def held(lock: Lock | Semaphore, seconds: float, refusal: SensorStreamError) -> Iterator[None]:
    """A block that holds a lock, for which it waits so many seconds at most.

    Raises:
        SensorStreamError: ``refusal``: others held it all the time.
    """
    if not lock.acquire(timeout=seconds):
        raise refusal
    try:
        yield
    finally:
        lock.release()


def _answer(
    work: Callable[[], object], seconds: float, quiet: Callable[[], AbstractContextManager[None]]
) -> bytes:
    """The bytes that a fork writes; TimeoutError, MemoryError or OSError say why it wrote none."""
    with quiet():
        ours, pid = _forked(work, seconds)
    answer: bytes | None = None
    try:
        answer = _received(ours, pid, max(seconds, _LOOK))
    except _HungError:
        raise
    except (EOFError, OSError):
        """One that was killed while it wrote has written a part: its exit code tells why."""
    finally:
        ours.close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    if answer is not None:
        return answer
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        raise TimeoutError
    if code == _OUT_OF_MEMORY:
        raise MemoryError
    if code == _TOO_LARGE:
        raise OSError(f"gave more than {MOST_OUTPUT >> 20} MiB")
    raise OSError(f"ended its process ({code})")


def _forked(work: Callable[[], object], seconds: float) -> tuple[Connection, int]:
    """Fork a process that does the work; the pipe from it, and its id."""
    ours, theirs = Pipe(duplex=False)
    # A signal to the group is for this process alone: the fork would run its handlers, too.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _work_and_exit(work, theirs, seconds)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    theirs.close()
    return ours, pid


def _received(pipe: Connection, pid: int, look: float) -> bytes:
    """The whole message of a fork; EOFError or OSError: it sent none."""
    pulse = Pulse(pid)
    while not readable(pipe.fileno(), look):
        if not pulse.beats():
            raise _HungError
    return pipe.recv_bytes()


def _work_and_exit(work: Callable[[], object], pipe: Connection, seconds: float) -> NoReturn:
    """Do the work in the fork and end it; it never returns into the code that forked."""
    code = 1
    try:
        _confine(pipe.fileno(), seconds)
        answer = _result_of(work)
        code = _TOO_LARGE
        if len(answer) <= MOST_OUTPUT:
            pipe.send_bytes(answer)
            code = 0
    except MemoryError:
        code = _OUT_OF_MEMORY
    except BaseException as error:
        # The owner gets the exit code in any case.
        with suppress(Exception):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def _confine(pipe: int, seconds: float) -> None:
    gc.disable()
    end_first()
    # If this process is killed, its address and its clients must not wait for the fork.
    os.closerange(3, pipe)
    os.closerange(pipe + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    limit_memory(MEMORY)
    # A fork ends after its processor time; one that hangs ends too, if its owner is gone.
    for number, timer, least in (
        (signal.SIGPROF, signal.ITIMER_PROF, max(seconds, _LEAST)),
        (signal.SIGALRM, signal.ITIMER_REAL, _ORPHAN * max(seconds, _LOOK)),
    ):
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, least)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF, signal.SIGALRM))


def _result_of(work: Callable[[], object]) -> bytes:
    try:
        return pickle.dumps((True, work()), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        raise
    except Exception as error:
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
