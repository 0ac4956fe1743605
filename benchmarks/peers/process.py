"""A peer's process: one JSON request a line on its standard input, one JSON answer a line back.

What libraries print goes to standard error, so that it cannot break an answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final

SECONDS: Final = 3600.0
"""Longest wait for one answer."""


class PeerFailed(Exception):
    """A peer's process could not answer; the message is what it said."""


class Peer:
    """The owner's side of ``python -m benchmarks.peers.<module>``."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.peers.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, operation: str, *, seconds: float = SECONDS, **arguments: Any) -> Any:
        """Have an operation carried out.

        Raises:
            PeerFailed: it cannot be, the process ended, or it took too long.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._process.poll() is not None:
            raise PeerFailed(f"{self._module}: the process ended before '{operation}'")
        request = json.dumps({"operation": operation, **arguments})
        try:
            self._process.stdin.write(request.encode() + b"\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        except BrokenPipeError:
            raise PeerFailed(f"{self._module}: the process ended") from None
        if not ready:
            self.close()
            raise PeerFailed(f"{self._module}: no answer to '{operation}' within {seconds:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise PeerFailed(f"{self._module}: the process ended during '{operation}'")
        answer = json.loads(line)
        if "failure" in answer:
            raise PeerFailed(f"{self._module}: '{operation}': {answer['failure']}")
        return answer["result"]

    def close(self) -> None:
        """End the process; doing it twice is fine."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def serve(operations: dict[str, Callable[..., Any]]) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        operation = operations[request.pop("operation")]
        try:
            answer = {"result": operation(**request)}
        except Exception as error:  # Java's exceptions too
            traceback.print_exc()
            answer = {"failure": " ".join(str(error).split()) or type(error).__name__}
        answers.write(json.dumps(answer).encode() + b"\n")
    # A Java virtual machine would wait for its threads.
    os._exit(0)
