"""Waiting for pipes, also for those with large descriptors."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from sensorstream.processes.pipe_waits import readable


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose descriptors are beyond what ``select`` takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4096:
        pytest.skip(f"a process may open {hard} files here, too few for a large descriptor")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    ends = os.pipe()
    large = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 2000) for end in ends)
    for end in ends:
        os.close(end)
    yield large[0], large[1]
    for end in large:
        os.close(end)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_pipe_is_readable_once_something_is_in_it(pipe: tuple[int, int]) -> None:
    source, target = pipe
    assert not readable(source, 0.01)
    os.write(target, b"x")
    assert readable(source, 0)
