"""Processes for the tests of this folder: each module's ``main`` is what runs in a child."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from sensorstream.processes.fork_server import serve_forks
from sensorstream.processes.forks import QuestionLimits


def main(owner: Connection, kind: str = "forks") -> None:
    """Answer each message with itself; or be the process of forks."""
    if kind == "forks":
        serve_forks(owner, Told())
    while True:
        said = owner.recv_bytes()
        if said == b"work":
            while True:
                pass
        owner.send_bytes(said + kind.encode())


class Told:
    """Does what a question says."""

    def __init__(self) -> None:
        self.said = 0

    def tell(self, message: int) -> None:
        self.said = message

    def answer(self, question: Any, limits: QuestionLimits, send: Callable[[Any], None]) -> Any:
        match question:
            case "told":
                send(self.said)
                return os.getpid()
            case "large":
                return len(bytearray(1 << 30))
            case "killed":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "endless":
                while True:
                    send(os.getpid())
            case _:
                raise ValueError(question)
