"""The input ``folder``: each file is a message.

A file is taken when it has not changed for a while. It is moved when its message is in the journal;
after a crash in between it is recognised by its path, time of change and content.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from sensorstream.errors import MessageTooLarge, SettingsError, Unavailable
from sensorstream.inputs.intake import Intake, Taken, origin_of
from sensorstream.settings.endpoints import FolderInput

_LOG = logging.getLogger(__name__)
_MOST: Final = 10_000
"""Files that one look takes notice of; the others' turn comes when these are gone."""
_DEEPEST: Final = 32
"""Folders inside folders that are looked into."""
_LONGEST_NAME: Final = 255
"""Bytes of a file's name, on nearly all file systems."""


@dataclass(frozen=True, slots=True, order=True)
class _Found:
    """A file as one look found it; they are ordered by ``rank``, then by path."""

    rank: int
    path: Path
    size: int
    changed: int


class FolderReader:
    """Looks into a folder now and then, and takes the files that are complete."""

    def __init__(self, name: str, source: str, options: FolderInput) -> None:
        """Check the folder, and make those for files that are done or have a fault; raises
        SettingsError if it is no folder, or files cannot be moved from it to the others.
        """
        assert options.path is not None, "it is required"
        self._name = name
        self._source = source
        self._options = options
        self._path = options.path.resolve()
        self._done = (options.done or self._path / "done").resolve()
        self._failed = (options.failed or self._path / "failed").resolve()
        self._seen: dict[Path, tuple[_Found, float]] = {}
        self._passed_over: set[Path] = set()
        self._stuck: dict[_Found, tuple[Taken, str]] = {}
        """Files that are taken and cannot be moved, and why."""
        label = f"inputs.{name}.options"
        if not self._path.is_dir():
            raise SettingsError(f"{label}.path: {self._path} is not a folder")
        for setting, folder in (("done", self._done), ("failed", self._failed)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                probe = folder / ".sensorstream"
                probe.touch()
                probe.unlink()
            except OSError as error:
                raise SettingsError(
                    f"{label}.{setting}: cannot write to {folder}: {error}"
                ) from None
            if folder.stat().st_dev != self._path.stat().st_dev:
                raise SettingsError(
                    f"{label}.{setting}: {folder} is on another file system than {self._path}, so "
                    "files cannot be moved there in one step: expected a folder on the same one"
                )
            if folder == self._path:
                raise SettingsError(f"{label}.{setting}: expected another folder than the path")

    async def run(self, intake: Intake) -> None:
        """See :class:`.Reader`."""
        while not intake.stopping:
            complete = self._look(asyncio.get_running_loop().time())
            self._tell(intake)
            under_way: list[tuple[_Found, asyncio.Future[Taken]]] = []
            try:
                for found in complete:
                    if intake.stopping:
                        break
                    future = await self._take(found, intake)
                    if future is not None:
                        under_way.append((found, future))
                    # Files move as soon as they are taken, also while others are read.
                    while under_way and under_way[0][1].done():
                        self._settle(under_way[0][0], under_way.pop(0)[1].result())
            finally:
                await intake.finish()
                for found, future in under_way:
                    if future.done() and future.exception() is None:
                        self._settle(found, future.result())
            for _, future in under_way:
                if future.done():
                    future.result()
            self._tell(intake)
            await intake.pause(self._options.poll)

    def _look(self, now: float) -> list[_Found]:
        """The files that are complete, in order; raises Unavailable if the folder is unreadable."""
        try:
            found = heapq.nsmallest(_MOST, self._files(self._path, 0))
        except OSError as error:
            raise Unavailable(f"cannot read the folder: {error}") from None
        seen = {}
        complete = []
        for each in found:
            before, since = self._seen.get(each.path, (each, now))
            seen[each.path] = each, since if before == each else now
            if before == each and now - since >= self._options.settle:
                complete.append(each)
        self._seen = seen
        self._passed_over &= seen.keys()
        self._stuck = {each: told for each, told in self._stuck.items() if each.path in seen}
        return complete

    def _tell(self, intake: Intake) -> None:
        """Report a file that cannot be moved; it stops no other one, but must not stay unseen."""
        if not self._stuck:
            intake.connected()
            return
        reasons = [reason for _, reason in self._stuck.values()]
        more = f" (and {len(reasons) - 1} more files)" if len(reasons) > 1 else ""
        intake.lost(reasons[0] + more)

    def _files(self, folder: Path, depth: int) -> Iterator[_Found]:
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                try:
                    if entry.is_dir(follow_symlinks=False):
                        inner = self._options.subfolders and path not in (self._done, self._failed)
                        if inner and not entry.name.startswith(".") and depth < _DEEPEST:
                            yield from self._files(path, depth + 1)
                        continue
                    if not entry.is_file(follow_symlinks=False) or entry.name.startswith("."):
                        continue
                    if not fnmatchcase(entry.name, self._options.pattern):
                        continue
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                rank = status.st_mtime_ns if self._options.order == "time" else 0
                yield _Found(rank, path, status.st_size, status.st_mtime_ns)

    async def _take(self, found: _Found, intake: Intake) -> asyncio.Future[Taken] | None:
        """Hand a file over; None: it is gone, cannot be read, is too large, or was taken before."""
        if found in self._stuck:
            self._settle(found, self._stuck[found][0])
            return None
        if found.size > intake.limit:
            told = f"the message holds {found.size} bytes, the limit is {intake.limit}"
            self._settle(found, Taken("", "rejected", told, MessageTooLarge.code))
            return None
        try:
            with found.path.open("rb") as file:
                content = file.read(intake.limit + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            if found.path not in self._passed_over:
                self._passed_over.add(found.path)
                _LOG.warning("input %s: passes over %s: %s", self._name, _told(found.path), error)
            return None
        if len(content) != found.size:  # it is being written after all
            return None
        relative = str(found.path.relative_to(self._path))
        origin = origin_of("folder", self._name, relative, found.changed, content)
        return await intake.take(content, self._source, origin)

    def _settle(self, found: _Found, taken: Taken) -> None:
        """Move a file whose message is in the journal; one that cannot be moved is noted."""
        relative = found.path.relative_to(self._path)
        target = (self._done if taken.whole else self._failed) / relative
        self._stuck.pop(found, None)
        try:
            target = _free(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not taken.whole:
                where = f"\nquarantined as {taken.message}" if taken.message else ""
                reason = f"{taken.code or taken.status}: {taken.fault}{where}\n"
                reason_file = _named(target, target.name, ".reason")
                reason_file.write_text(reason, encoding="utf-8", errors="replace")
            found.path.replace(target)
            if not taken.whole:
                _LOG.warning("input %s: %s: %s", self._name, _told(found.path), reason.strip())
        except FileNotFoundError:
            _LOG.warning("input %s: %s was taken, but is gone", self._name, _told(found.path))
        except OSError as error:
            told = f"cannot move {_told(found.path)} to {_told(target)}: {error.strerror}"
            self._stuck[found] = taken, told


def _told(path: Path) -> str:
    """A path as text, with ``\\xff`` for a byte that is no UTF-8: answers and logs are UTF-8."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _free(path: Path) -> Path:
    """The path, or one beside it with a number, where no file is yet."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = _named(path, path.stem, f".{number}{path.suffix}")
    return free


def _named(path: Path, start: str, end: str) -> Path:
    """A path beside another one, its name cut to what a file system takes."""
    while start and len(os.fsencode(start + end)) > _LONGEST_NAME:
        start = start[:-1]
    return path.with_name(start + end)
