"""Waiting for a pipe, whatever the number of its descriptor.

``select`` takes descriptors below 1024 only, which a server with many connections is beyond.
"""

from __future__ import annotations

import select


def readable(descriptor: int, seconds: float) -> bool:
    """Whether something can be read, or the other side has closed, within so many seconds."""
    return _ready(descriptor, select.POLLIN, seconds)


def writable(descriptor: int, seconds: float) -> bool:
    """Whether something can be written, or the other side has closed, within so many seconds."""
    return _ready(descriptor, select.POLLOUT, seconds)


def wait_for_hang_up(descriptor: int) -> None:
    """Return when the other side has closed, also where something waits to be read."""
    poll = select.poll()
    poll.register(descriptor, 0)  # only the events that are always reported: hang-up and error
    poll.poll()


def _ready(descriptor: int, event: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, seconds) * 1000))
