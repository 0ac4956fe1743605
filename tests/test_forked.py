"""A command that begins as a fork does what one with an interpreter of its own does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.forked import commands_are_forks as commands_are_forks
from tests.forked import starting

CLI = [sys.executable, "-m", "sensorstream"]
RULES = "mapping m on message {/M} then insert individual <urn:{@id}> a <urn:C> ."


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (("nonsense",), {}),
        (("init", "here"), {}),
        (("fmt", "-"), {"input": RULES}),
        (("fmt", "-"), {"input": "of what"}),
        (("config", "-c", "here.toml"), {"env": os.environ | {"SENSORSTREAM_WINDOW_SIZE": "77"}}),
    ],
)
def test_it_prints_and_ends_as_usual(
    arguments: tuple[str, ...], more: dict[str, Any], tmp_path: Path
) -> None:
    def told(folder: str) -> tuple[int, str, str]:
        cwd = tmp_path / folder
        cwd.mkdir()
        (cwd / "here.toml").touch()
        done = subprocess.run([*CLI, *arguments], capture_output=True, text=True, cwd=cwd, **more)
        assert done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    with starting():
        usual = told("usual")
    assert told("forked") == usual


def test_it_is_a_child_that_can_be_killed() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*CLI, "language-server"], stdin=pipe, stdout=pipe) as process:
        running = psutil.Process(process.pid)
        assert running.ppid() == os.getpid()
        # A fork: it has the command line of what it is a fork of.
        assert "tests.forked" in running.cmdline()
        assert process.poll() is None
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    assert not psutil.pid_exists(process.pid)
