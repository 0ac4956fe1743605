"""Waiting for what another thread or process does."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from threading import Thread
from typing import IO

import psutil


def eventually(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Poll a condition until it holds; fail when it does not within the deadline.

    Between two polls it waits twice as long as a poll takes: most ask a server or a browser, which
    has better things to do.
    """
    begun = time.monotonic()
    deadline = begun + seconds
    while not condition():
        now = time.monotonic()
        assert now < deadline, "did not happen in time"
        time.sleep(min(max(2 * (now - begun), 0.01), 0.2))
        begun = time.monotonic()


def command_of(process: psutil.Process) -> list[str]:
    """The command line of a process; empty if it has ended, as those of other tests may have."""
    try:
        command: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return command


def first_line(stream: IO[str], seconds: float) -> str:
    """The first line that a process writes; fails when there is none within the time."""
    lines: queue.Queue[str] = queue.Queue()
    Thread(target=lambda: lines.put(stream.readline()), daemon=True).start()
    return lines.get(timeout=seconds)
