"""The process of a :class:`.Worker`: what it needs first, then one document after the other."""

from __future__ import annotations

import pickle
import resource
import signal
import sys
from collections.abc import Callable
from time import process_time
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
        # Of processor time: then the system ends this process, also where the owner is gone.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        begun = process_time()
        found = answer(frame[SECONDS.size :])
        spent = process_time() - begun
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(answers, SECONDS.pack(spent) + found)


def _received(pipe: IO[bytes]) -> bytes:
    """The next frame; empty at the end."""
    head = pipe.read(FRAME.size)
    return pipe.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else b""


def _send(pipe: IO[bytes], frame: bytes) -> None:
    pipe.write(FRAME.pack(len(frame)) + frame)
    pipe.flush()
