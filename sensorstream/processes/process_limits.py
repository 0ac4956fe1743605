"""Limits of the system for a process, which it sets for itself before it works."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path


def limit_memory(more: int) -> None:
    """Let this process take so many bytes beside what it has; asking for more then fails. Reserved
    memory does not count: allocators and threads reserve much for each processor.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    most = pages * resource.getpagesize() + more
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def end_first() -> None:
    """Make this process the first that the system ends if the machine has no memory left."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
