"""A disk that is full under a running application: messages wait, and nothing is lost."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.settings.settings import HistorySettings, WindowSettings
from tests.tracking_settings import tracking
from tests.waiting import eventually

_MIB = 1 << 20
_DETACH = 2  # MNT_DETACH of umount2(2)


@pytest.fixture
def disk(folder: Path) -> Iterator[Path]:
    """A small disk of our own."""
    place = folder / "disk"
    place.mkdir()
    # The commands mount and umount are not on every PATH.
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(place)
    if libc.mount(b"tmpfs", target, b"tmpfs", 0, b"size=160m"):
        reason = os.strerror(ctypes.get_errno())
        pytest.skip(f"a small disk needs the right to mount a tmpfs, as root has it: {reason}")
    yield place
    assert libc.umount2(target, _DETACH) == 0


def fill(file: Path) -> None:
    """Leave no byte on the disk of a file."""
    with file.open("ab", buffering=0) as ballast:
        for size in (_MIB, 4096, 1):
            with suppress(OSError):
                while True:
                    ballast.write(b"x" * size)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            ballast.write(b"x")


def test_nothing_is_lost_when_the_disk_is_full(disk: Path) -> None:
    settings = tracking(
        disk.parent, window=WindowSettings(size="5"), history=HistorySettings(folder=disk / "data")
    )
    # What cannot be compressed, so that the log of PostgreSQL needs a new file soon.
    messages = [
        content + f"<!-- {secrets.token_hex(200_000)} -->".encode()
        for content in tracker_messages(60)
    ]
    with Application.open(replace(settings)) as application:

        def away() -> dict[str, str]:
            return {each.name: each.detail for each in application.health.parts() if not each.ready}

        first = [application.submit(each, "").result(60) for each in messages[:2]]
        eventually(lambda: not away())
        fill(disk / "ballast")
        waiting = [application.submit(each, "") for each in messages[2:]]
        eventually(lambda: "history" in away())
        assert not application.health.ailment()
        assert not all(each.done() for each in waiting)
        (disk / "ballast").unlink()
        outcomes = [*first, *(each.result(120) for each in waiting)]
        eventually(lambda: not away())
        kept = {row[0] for row in application.asking.sql("select id from messages").rows}
        assert kept == {each.message.id for each in outcomes}
        assert len(kept) == len(messages)


def test_a_server_that_starts_on_a_full_disk_is_told_so_and_not_ended(disk: Path) -> None:
    """Who writes to a mapped page that has no place on the disk gets SIGBUS."""
    fill(disk / "ballast")
    program = (
        "import sys; from pathlib import Path; from sensorstream.app.life.in_work import InWork\n"
        "from sensorstream.errors import HistoryError\n"
        "work = InWork(Path(sys.argv[1]))\n"
        "try: work.open(); work.end()\n"
        "except HistoryError as error: print(error)"
    )
    command = [sys.executable, "-c", program, str(disk / "in-work")]
    told = subprocess.run(command, capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == f"cannot write {disk / 'in-work'}: {os.strerror(errno.ENOSPC)}\n"
