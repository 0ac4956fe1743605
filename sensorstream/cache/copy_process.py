"""The process with a copy of the cache: ``python -m sensorstream.cache.copy_process SOCKET``.

It has one thread, so that a fork of it has all that it has: each question is answered in a fork,
which keeps the copy as it was. It ends when its server ends, in any way, and ends the forks before.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

import pyoxigraph as ox

from sensorstream.cache.answering import answer_and_exit
from sensorstream.cache.protocol import Ask, Change, End, Request
from sensorstream.kb.mirror import QuadStore
from sensorstream.kb.snapshot import read_answerable
from sensorstream.network.exact import exact


def main() -> None:
    """Serve until the server closes the socket."""
    with socket.socket(fileno=int(sys.argv[1])) as control:
        _Copy(control).serve()


@dataclass(frozen=True, slots=True)
class _Fork:
    """A process that answers, and where to tell its exit code."""

    number: int
    status: Connection


class _Copy:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._requests = Connection(os.dup(control.fileno()))
        self._quads = QuadStore()
        self._forks: dict[int, _Fork] = {}
        # The first question must not wait for the tables of the grammar, nor each one load them.
        exact(read_answerable("ASK { }"), self._quads.store).answer(self._quads.store)

    def serve(self) -> None:
        """Do what the server asks for, and see to the forks."""
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
                    self._do(self._requests.recv())
                except (EOFError, OSError):
                    break
        for pid in self._forks:
            os.kill(pid, signal.SIGKILL)

    def _do(self, request: Request) -> None:
        match request:
            case Change(added, removed):
                self._quads.change(_read(added), list(_read(removed)))
            case Ask():
                self._fork(request)
            case End(number):
                for pid, fork in self._forks.items():
                    if fork.number == number:
                        os.kill(pid, signal.SIGKILL)

    def _fork(self, asked: Ask) -> None:
        _, [answer, status], _, _ = socket.recv_fds(self._control, 1, 2)
        # The collector would write to the memory of all objects, which a fork shares.
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            self._requests.close()
            self._control.close()
            answer_and_exit(self._quads.store, asked, Connection(answer, readable=False))
        os.close(answer)
        self._forks[pid] = _Fork(asked.number, Connection(status, readable=False))

    def _reap(self) -> None:
        while self._forks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            fork = self._forks.pop(pid)
            with fork.status:
                try:
                    fork.status.send(os.waitstatus_to_exitcode(status))
                except OSError:
                    continue  # Nobody waits for it.


def _read(quads: bytes) -> list[ox.Quad]:
    return list(ox.parse(quads, format=ox.RdfFormat.N_QUADS, lenient=True))


if __name__ == "__main__":
    main()
