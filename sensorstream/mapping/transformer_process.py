"""The process of a :class:`.Transformer`: a stylesheet first, then one document after the other."""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import IO

from lxml import etree

from sensorstream.mapping.stylesheet import Failure, output_of, read_stylesheet
from sensorstream.mapping.transformer import FRAME, MEMORY, MOST_OUTPUT, OUTPUT, SECONDS


def main() -> None:
    """``python -m sensorstream.mapping.transformer_process``: frames on stdin and stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    file, content = _received(requests).decode(), _received(requests)
    transform = read_stylesheet(content, file).transform
    _send(answers, b"")
    while frame := _received(requests):
        (seconds,) = SECONDS.unpack_from(frame)
        document = frame[SECONDS.size :]
        # The owner ends this process in time. If it is gone, the system does.
        signal.setitimer(signal.ITIMER_REAL, 2 * seconds + 1)
        try:
            found = output_of(transform, etree.fromstring(document))
        except MemoryError:
            found = Failure("it takes too much memory", None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if isinstance(found, bytes) and len(found) > MOST_OUTPUT:
            found = Failure(f"its output is larger than {MOST_OUTPUT >> 20} MiB", None)
        if isinstance(found, bytes):
            _send(answers, OUTPUT + found)
        else:
            _send(answers, b"-" + json.dumps([found.reason, found.line]).encode())


def _received(pipe: IO[bytes]) -> bytes:
    """The next frame; empty at the end."""
    head = pipe.read(FRAME.size)
    return pipe.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else b""


def _send(pipe: IO[bytes], frame: bytes) -> None:
    pipe.write(FRAME.pack(len(frame)) + frame)
    pipe.flush()


if __name__ == "__main__":
    main()
