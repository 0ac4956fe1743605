"""Signals end a command wherever they find it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# What the command does when a signal comes in a destructor: owlready2 has one for each database.
_LOST = """
import os, signal, time
from sensorstream.cli import main, {module}

# A shell that puts tests into the background lets them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Closing:
    def __del__(self):
        os.kill(os.getpid(), {number})

def work(*_):
    closing = Closing()
    del closing
    time.sleep(60)

{module}.{inner} = work
main({arguments})
"""


@pytest.mark.parametrize(
    ("module", "inner", "arguments", "number", "code"),
    [
        ("run_command", "_run_messages", ["run", "--messages", "in"], signal.SIGINT, 1),
        ("serve_command", "read_settings", ["serve"], signal.SIGTERM, 0),
        ("spark_command", "load_settings", ["stream"], signal.SIGINT, 0),
    ],
)
def test_a_signal_that_comes_in_a_destructor_ends_a_command(
    module: str, inner: str, arguments: list[str], number: int, code: int
) -> None:
    program = _LOST.format(module=module, inner=inner, arguments=arguments, number=int(number))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=50, check=False
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
