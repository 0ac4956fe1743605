"""Waiting for what another thread or process does."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from threading import Thread
from typing import IO


def eventually(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Poll a condition until it holds; fail when it does not within the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


def first_line(stream: IO[str], seconds: float) -> str:
    """The first line that a process writes; fails when there is none within the time."""
    lines: queue.Queue[str] = queue.Queue()
    Thread(target=lambda: lines.put(stream.readline()), daemon=True).start()
    return lines.get(timeout=seconds)
