"""A deployment made by ``init``, served by a process that can be killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx
import psutil

from tests.waiting import command_of

PATIENCE: Final = 180.0
"""Seconds within which everything must come back; a slow machine needs a good part of them."""
SETTINGS: Final[Mapping[str, str]] = {
    "SENSORSTREAM_WINDOW_SIZE": "50",
    "SENSORSTREAM_HISTORY_CHECKPOINT_EVERY": "200",
    "SENSORSTREAM_WEBHOOKS_ALLOW": "127.0.0.1/32",
    "SENSORSTREAM_WEBHOOKS_TIMEOUT": "3",
    "SENSORSTREAM_ALERTS_ESCALATE_AFTER": "0.1",
}
_DETACH: Final = 2  # MNT_DETACH of umount2(2)
_DISK: Final = b"size=1g"


class Workspace:
    """``disk`` is the folder of its data: a disk of its own, if this user may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.config = self.folder / "sensorstream.toml"
        self.disk = self.folder / "data"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._log = (folder / "server.log").open("ab")
        command = [sys.executable, "-m", "sensorstream", "init", str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)
        self.disk.mkdir(exist_ok=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        target = os.fsencode(self.disk)
        self.mounted = not self._libc.mount(b"tmpfs", target, b"tmpfs", 0, _DISK)

    def start(self) -> None:
        """Start the server's process, and do not wait for it."""
        environment = {**os.environ, **SETTINGS}
        # Or each start compiles the whole package anew.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "sensorstream", "serve", "-c", str(self.config)]
        self.starts += 1
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            stdout=self._log,
            stderr=self._log,
            env=environment,
        )

    @property
    def runs(self) -> bool:
        """Whether the server's process is there."""
        return self.process is not None and self.process.poll() is None

    def ready(self) -> bool:
        """Wait until the server is ready; False: its process has ended."""
        deadline = time.monotonic() + PATIENCE
        told = ""
        while time.monotonic() < deadline:
            if not self.runs:
                return False
            with suppress(httpx.TransportError):
                answer = httpx.get(f"{self.url}/readyz", timeout=10)
                if answer.status_code == 200:
                    return True
                told = answer.text
            time.sleep(0.1)
        raise AssertionError(f"the server is not ready after {PATIENCE} s: {told}")

    def end(self, how: signal.Signals) -> int:
        """Send the server a signal and wait for its end; its exit code."""
        process = self.process
        assert process is not None
        if process.poll() is None:
            process.send_signal(how)
        return process.wait(60)

    def postgres(self) -> Sequence[psutil.Process]:
        """The processes of PostgreSQL, its first one first."""
        with suppress(OSError, psutil.NoSuchProcess, ValueError, IndexError):
            found = (self.disk / "cluster" / "postmaster.pid").read_text().split()[0]
            first = psutil.Process(int(found))
            return [first, *first.children(recursive=True)]
        return []

    def below(self, module: str) -> Sequence[psutil.Process]:
        """The server's processes that run a module."""
        found: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            if self.process is not None:
                found = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in found if module in " ".join(command_of(each))]

    def close(self) -> None:
        """End all processes, also those that stand still, and give the disk back."""
        if self.process is not None:
            with suppress(psutil.NoSuchProcess):
                below = psutil.Process(self.process.pid).children(recursive=True)
                signal_all(below, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        postgres = self.postgres()
        with suppress(OSError):
            shutil.copy(self.disk / "log", self.folder.parent / "postgres.log")
        signal_all(postgres, signal.SIGKILL)
        psutil.wait_procs(postgres, timeout=300)
        self._log.close()
        if self.mounted:
            self._libc.umount2(os.fsencode(self.disk), _DETACH)


def signal_all(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
