"""The watchdog ends a process whose entry takes too long, and no other."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from sensorstream.app.life.in_work import EXIT_CODE

PROGRAM = """
import re, time
from datetime import UTC, datetime
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.in_work import Watchdog
from sensorstream.journal.records import Record
from sensorstream.model.events import Message

def record(seq):
    return Record(seq, Message(f"m{seq}", b"", 0), datetime.now(UTC))

in_work = InWork()
with Watchdog(in_work, 0.2):
"""


def ended(lines: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM + "".join(f"    {line}\n" for line in lines.splitlines())
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )


def test_many_entries_may_take_long_together() -> None:
    found = ended(
        "for seq in range(1, 12):\n    in_work.begin(record(seq)); time.sleep(0.05)\n"
        "in_work.end(); time.sleep(0.5)"
    )
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("in_work.begin(record(7))\nwhile True: pass", EXIT_CODE),
        ("in_work.begin(record(7)); time.sleep(100)", EXIT_CODE),
        # It keeps the interpreter from all other threads.
        ("in_work.begin(record(7)); re.match('(a+)+$', 'a' * 60 + 'b')", -signal.SIGPROF),
    ],
)
def test_one_that_never_ends_ends_the_process_which_says_where_it_was(
    lines: str, code: int
) -> None:
    found = ended(lines)
    assert found.returncode == code, found.stderr
    assert 'File "<string>", line ' in found.stderr
    if code == EXIT_CODE:
        assert "entry 7 (message) has been in work for 0 s: the process ends" in found.stderr
