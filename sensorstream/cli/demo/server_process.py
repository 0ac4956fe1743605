"""A server and a pipeline in separate processes, as an operator would start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

from sensorstream.clock import SystemClock
from sensorstream.errors import ServerUnreachable, SparkError
from sensorstream.processes.pipe_waits import readable

_RUN: Final = (sys.executable, "-m", "sensorstream.cli.demo.demo_server")
_READY: Final = "listening on "
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 120.0


class OwnedProcess:
    """A command of ``sensorstream`` in a process of its own; it logs to ``COMMAND.log`` beside the
    settings.

    Use as a context manager: leaving stops it, and so does the end of this process.
    """

    def __init__(self, config: Path, command: str, *arguments: str) -> None:
        self.log = config.parent / f"{command}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*_RUN, command, "-c", str(config), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C goes to this process only, which then stops the other.
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise SparkError, with the last line of its log, if it has ended."""
        if self._process.poll() is not None:
            raise SparkError(f"the pipeline has ended: {self._last_line()}")

    def _last_line(self) -> str:
        last = self.log.read_text(errors="replace").strip().splitlines()[-1:]
        return f"{' '.join(last)} ({self.log})"

    def stop(self) -> int:
        """Ask it to stop; returns its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self.stop()


class ServerProcess(OwnedProcess):
    """``sensorstream serve`` on a port, by default a free one."""

    def __init__(self, config: Path, port: int = 0) -> None:
        super().__init__(config, "serve", "--port", str(port))

    def url(self) -> str:
        """The URL of the server, once it listens.

        Raises:
            ServerUnreachable: it ended, or does not listen within two minutes.
        """
        assert self._process.stdout is not None
        output, told = self._process.stdout.fileno(), b""
        counter = SystemClock().counter
        deadline = counter() + _START_SECONDS
        while not told.endswith(b"\n"):
            ready = readable(output, deadline - counter())
            piece = os.read(output, 4096) if ready else b""
            if not piece:
                why = "ended" if ready else "is not ready after two minutes"
                raise ServerUnreachable(f"the server {why}: {self._last_line()}")
            told += piece
        return told.decode().strip().removeprefix(_READY)
