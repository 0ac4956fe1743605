"""Locks on files and folders, which end with their process, also if it is killed. Temporary folders
have one: the next process removes those that no process has locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def own_folder(start: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder whose name begins so, which only this user can enter; it is removed at the end.
    It is locked meanwhile; those that killed processes left are removed first. ``place`` None: the
    system's place for temporary files.
    """
    place = place or Path(tempfile.gettempdir())
    remove_left(start, place)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=start, dir=place))
        # Another process may have taken it for an abandoned one.
        with suppress(BlockingIOError, FileNotFoundError):
            opened = lock_folder(folder)
            if folder.exists():
                break
            os.close(opened)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(opened)


def remove_left(start: str, place: Path) -> None:
    """Remove this user's folders there whose names begin so, and that no process has locked."""
    for each in place.glob(f"{start}*"):
        with suppress(OSError):
            opened = lock_folder(each)
            try:
                if os.fstat(opened).st_uid == os.geteuid():
                    shutil.rmtree(each)
            finally:
                os.close(opened)


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """A block that one process at a time is in; the file is made if it is not there."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lock_folder(folder: Path) -> int:
    """Open a folder and lock it; raises BlockingIOError if another process has locked it."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(opened)
        raise
    return opened
