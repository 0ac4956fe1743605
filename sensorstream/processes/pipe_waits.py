"""Waits for a pipe with a descriptor of any number: ``select`` takes those below 1024 only, and a
server with many connections has higher ones.
"""

from __future__ import annotations

import select
from pathlib import Path


def readable(descriptor: int, seconds: float) -> bool:
    """Whether something can be read, or the other side has closed, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


def wait_for_hang_up(descriptor: int) -> None:
    """Return when the other side has closed, also where something waits to be read."""
    poll = select.poll()
    poll.register(descriptor, 0)  # only the events that are always reported: hang-up and error
    poll.poll()


class Pulse:
    """The difference between work and a hang: on a busy machine a process may wait for long."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._spent = 0

    def beats(self) -> bool:
        """Whether it has worked since the last look, or would if there were a processor for it."""
        told = Path(f"/proc/{self._pid}/stat").read_bytes()
        # The name of a process, in parentheses, may hold any character.
        state, *fields = told.rpartition(b")")[2].split()
        before, self._spent = self._spent, int(fields[10]) + int(fields[11])
        return self._spent != before or state in (b"R", b"D")
