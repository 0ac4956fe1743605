"""Sources and targets of XML messages in commands: files, folders, archives, stdin."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click


@dataclass(frozen=True, slots=True)
class Source:
    """One message, read when it is needed; ``name`` is for output."""

    name: str
    read: Callable[[], bytes]


def sources(names: Iterable[str]) -> list[Source]:
    """The messages of files, folders and ZIP archives (``*.xml``, by name) and of ``-``.

    Raises:
        click.BadParameter: the file or folder does not exist, or has no message.
    """
    return [source for name in names for source in _sources(name)]


def _sources(name: str) -> Iterator[Source]:
    path = Path(name)
    if name == "-":
        yield Source("standard input", sys.stdin.buffer.read)
    elif path.is_dir():
        files = sorted(path.glob("*.xml"))
        if not files:
            raise click.BadParameter(f"no *.xml file in the folder '{name}'")
        for file in files:
            yield Source(str(file), file.read_bytes)
    elif path.is_file() and zipfile.is_zipfile(path):
        yield from _archived(path)
    elif path.is_file():
        yield Source(name, path.read_bytes)
    else:
        raise click.BadParameter(f"there is no file or folder '{name}'")


def _archived(path: Path) -> Iterator[Source]:
    archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    entries = sorted(each for each in archive.namelist() if each.endswith(".xml"))
    if not entries:
        raise click.BadParameter(f"no *.xml file in the archive '{path}'")
    for entry in entries:
        yield Source(f"{path}/{entry}", partial(archive.read, entry))


def write_messages(messages: Iterable[bytes], folder: Path) -> None:
    """Write messages into a folder as files that :func:`sources` reads back in order."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for number, message in enumerate(messages, 1):
        (folder / f"{number:06}.xml").write_bytes(message)
    click.echo(f"wrote {number} messages to {folder}")
