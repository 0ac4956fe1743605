"""Where the server of a deployment listens, for commands that are run in its folder.

It may listen elsewhere than its settings say: on a port of the command line, or on any that was
free. It holds a lock on the file as long as it runs, however it ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from sensorstream.settings import Settings

_FILE: Final = "address"


@contextmanager
def telling(settings: Settings, url: str) -> Iterator[None]:
    """Tell the address while the block lasts, unless another server of the deployment does."""
    settings.history.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(settings.history.folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, url.encode(), 0)
        yield
    finally:
        os.close(file)


def told_address(settings: Settings) -> str:
    """The address of the server of a deployment; empty if none runs here."""
    try:
        with (settings.history.folder / _FILE).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().decode()
    except OSError:
        pass
    return ""
