"""A server in a process of its own, that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.waiting import first_line

CLI = [sys.executable, "-m", "sensorstream"]


def init(folder: Path) -> None:
    """Make a deployment."""
    subprocess.run([*CLI, "init", str(folder)], check=True, capture_output=True)


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Serve a deployment, and ask it to end at the end, if it has not been killed."""
    config = str(folder / "sensorstream.toml")
    command = [*CLI, "serve", "-c", config, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = first_line(process.stdout, 60).removeprefix("listening on ").strip()
            with httpx.Client(base_url=url, timeout=300) as client:
                yield process, client
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(300)


def kill(process: subprocess.Popen[str]) -> None:
    """As by ``kill -9``."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait(300)
