"""A server in a separate process, as an operator would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from sensorstream.clock import SystemClock
from sensorstream.errors import ServerUnreachable, SparkError
from sensorstream.processes.pipe_waits import readable

_SERVE: Final = (sys.executable, "-m", "sensorstream.cli.demo.demo_server")
_READY: Final = "listening on "
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 30.0


def run_stream(config: Path) -> None:
    """Run ``sensorstream stream --once`` to its end; raises SparkError with its log's last line."""
    log = config.parent / "stream.log"
    command = [sys.executable, "-m", "sensorstream", "stream", "-c", str(config), "--once"]
    with log.open("wb") as output:
        code = subprocess.run(command, stderr=output).returncode
    if code:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise SparkError(f"the pipeline on Spark ended with {code}: {' '.join(last)} ({log})")


class ServerProcess:
    """``sensorstream serve`` on a port, by default a free one; it logs to ``server.log`` beside the
    file.

    Use as a context manager: leaving stops the server, and so does the end of this process.
    """

    def __init__(self, config: Path, port: int = 0) -> None:
        self.log = config.parent / "server.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*_SERVE, "-c", str(config), "--port", str(port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C goes to this process only, which then stops the server.
                start_new_session=True,
            )

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
                last = self.log.read_text(errors="replace").strip().splitlines()[-1:]
                raise ServerUnreachable(f"the server {why}: {' '.join(last)} ({self.log})")
            told += piece
        return told.decode().strip().removeprefix(_READY)

    def stop(self) -> int:
        """Ask the server to stop; returns its exit code."""
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

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self.stop()
