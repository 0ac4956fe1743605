"""The process of a :class:`.Worker`: what it needs first, then one document after the other."""

from __future__ import annotations

import pickle
import resource
import signal
import sys
from collections.abc import Callable
from typing import IO

from sensorstream.mapping.worker import FRAME, MEMORY, SECONDS


def serve(prepare: Callable[[list[bytes]], Callable[[bytes], bytes]]) -> None:
    """Answer on stdout to each document that comes on stdin.

    ``prepare`` makes of what the process is given the function that answers.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answer = prepare(pickle.loads(_received(requests)))
    _send(answers, b"")
    while frame := _received(requests):
        (seconds,) = SECONDS.unpack_from(frame)
        # The owner ends this process in time. If it is gone, the system does.
        signal.setitimer(signal.ITIMER_REAL, 2 * seconds + 1)
        found = answer(frame[SECONDS.size :])
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, found)


def _received(pipe: IO[bytes]) -> bytes:
    """The next frame; empty at the end."""
    head = pipe.read(FRAME.size)
    return pipe.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else b""


def _send(pipe: IO[bytes], frame: bytes) -> None:
    pipe.write(FRAME.pack(len(frame)) + frame)
    pipe.flush()
