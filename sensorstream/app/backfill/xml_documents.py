"""The XML documents in a folder, also those in archives, with limits for hostile ones.

Nothing is ever written to disk, so the names in archives can do no harm. Every document is read
into memory alone and only up to the limit; of an archive, no more is unpacked than :data:`_RATIO`
times its size and :data:`_FREE` bytes.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

from sensorstream.errors import ArchiveError
from sensorstream.model.frozen import frozen

_RATIO: Final = 1_000
_FREE: Final = 64 * 2**20
_MOST_MEMBERS: Final = 1_000_000
# Headers of a tar that are read whole.
_LONGEST_HEADER: Final = 2**20
_NESTED: Final = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst")


@frozen
class Document:
    """A document; ``modified`` is when its file, or it in its archive, was written."""

    name: str
    content: bytes
    modified: datetime


@frozen
class Refused:
    """A file or document that cannot be taken, and the reason."""

    name: str
    reason: str


Found: TypeAlias = Document | Refused

_DAWN: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BROKEN: Final = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,  # encrypted, or a method of compression that is not there
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
)


def documents(folder: Path, most: int) -> Iterator[Found]:
    """The documents of all files below a folder, by name; ``most``: bytes of the largest one.

    Files are ``*.xml``, ``*.zip``, ``*.tar``, ``*.tar.gz``, ``*.tgz``, ``*.tar.bz2``, ``*.tar.xz``.

    Raises:
        ArchiveError: there is no such folder.
    """
    if not folder.is_dir():
        raise ArchiveError(f"there is no folder {folder}")
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        try:
            if path.is_symlink() or not path.is_file():
                yield Refused(str(path), "a link or a special file: expected a file")
                continue
            yield from _of_file(path, most)
        except _BROKEN as error:
            yield Refused(str(path), f"cannot be read: {error}")


def _of_file(path: Path, most: int) -> Iterator[Found]:
    name = path.name.lower()
    if name.endswith(".xml"):
        with path.open("rb") as file:
            modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            yield _document(str(path), file, modified, most)
    elif name.endswith(".zip"):
        yield from _of_zip(path, most)
    else:
        for suffix, opened in _TARS.items():
            if name.endswith(suffix):
                with opened(path, "rb") as file:
                    yield from _of_tar(path, file, most)
                return
        yield Refused(str(path), "expected *.xml, *.zip, *.tar, *.tar.gz, *.tar.bz2 or *.tar.xz")


_TARS: Final[Mapping[str, Callable[..., Any]]] = {
    ".tar": open,
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}


def _document(name: str, file: IO[bytes], modified: datetime, most: int) -> Found:
    content = file.read(most + 1)
    if len(content) > most:
        return Refused(name, f"more than {most} bytes (server.max_message_bytes)")
    return Document(name, content, modified)


def _member(path: Path, name: str) -> str:
    # The name may hold anything, and is printed.
    return f"{path}/{name.encode('unicode_escape').decode()[:300]}"


def _unfit(name: str) -> str:
    """The reason why a member of an archive is not taken; "" if it may be."""
    if name.lower().endswith(_NESTED):
        return "an archive in an archive: unpack it first"
    return "" if name.lower().endswith(".xml") else "expected *.xml"


def _of_zip(path: Path, most: int) -> Iterator[Found]:
    bound = path.stat().st_size * _RATIO + _FREE
    unpacked = 0
    with zipfile.ZipFile(path) as archive:
        for number, info in enumerate(archive.infolist()):
            if info.is_dir():
                continue
            name = _member(path, info.filename)
            if number >= _MOST_MEMBERS or unpacked > bound:
                yield Refused(name, _too_much(number))
                return
            reason = "encrypted" if info.flag_bits & 1 else _unfit(info.filename)
            if reason:
                yield Refused(name, reason)
                continue
            try:
                with archive.open(info) as file:
                    found = _document(name, file, _zip_time(info), most)
            except _BROKEN as error:
                found = Refused(name, f"cannot be unpacked: {error}")
            unpacked += len(found.content) if isinstance(found, Document) else most
            yield found


def _zip_time(info: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return _DAWN


def _too_much(members: int) -> str:
    if members >= _MOST_MEMBERS:
        return f"this and what follows: the archive has more than {_MOST_MEMBERS} members"
    return f"this and what follows: the archive unpacks to more than {_RATIO} times its size"


class _Bounded:
    """A file that is not read in pieces that fill the memory: ``tarfile`` trusts its headers."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._most = most
        self.seek = file.seek
        self.tell = file.tell

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._most:
            raise ValueError(f"a header of {size} bytes")
        return self._file.read(size)


def _of_tar(path: Path, file: IO[bytes], most: int) -> Iterator[Found]:
    bound = path.stat().st_size * _RATIO + _FREE
    bounded = _Bounded(file, max(most + 1, _LONGEST_HEADER))
    with tarfile.open(fileobj=bounded, mode="r:") as archive:  # type: ignore[call-overload]
        number = 0
        while (info := archive.next()) is not None:
            # Otherwise it remembers every member.
            archive.members = []
            number += 1
            name = _member(path, info.name)
            if number > _MOST_MEMBERS or info.offset_data + info.size > bound:
                yield Refused(name, _too_much(number))
                return
            if info.isdir():
                continue
            reason = _unfit(info.name) if info.isreg() else "a link or a special file"
            opened = None if reason else archive.extractfile(info)
            if opened is None:
                yield Refused(name, reason)
                continue
            modified = _DAWN
            if 0 < info.mtime < 2**33:
                modified = datetime.fromtimestamp(int(info.mtime), UTC)
            yield _document(name, opened, modified, most)
