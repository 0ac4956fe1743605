"""The texts of a deployment's files, and the types of files by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final

from sensorstream.errors import Position, QueryError, SettingsError

OVER_TIME: Final = ".dotr"
DATALOG: Final = ".dlog"
RULE_SET: Final = ".ru"
_QUERIES: Final = (".rq", ".sparql")
QUERY_ENDINGS: Final = (*_QUERIES, OVER_TIME, RULE_SET)
"""The endings of files with queries, with rules over time and with rule sets."""


def is_over_time(path: Path) -> bool:
    """Whether a file has rules over time, or Datalog rules for them."""
    return path.suffix.lower() in (OVER_TIME, DATALOG)


def is_rule_set(path: PurePath) -> bool:
    """Whether a file is a rule set of the reasoner, in SPARQL."""
    return path.suffix.lower() == RULE_SET


def is_query_file(path: Path) -> bool:
    """Whether a file is a query, or has rules over time."""
    return path.suffix.lower() in _QUERIES or is_over_time(path)


NOTHING_UNSAVED: Final[Mapping[Path, str]] = {}
"""Texts of files that count instead of those on disk: none."""
_ENCODING: Final = re.compile(r"""(<\?xml[^>]*?)\s+encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")


class FileTexts:
    """Texts of files by their paths; files of no known text are read from disk, once. ``read`` are
    the texts that were read so, by resolved paths.
    """

    def __init__(
        self, known: Mapping[Path, str] = NOTHING_UNSAVED, *, replayed: bool = False
    ) -> None:
        """Begin with the ``known`` texts, which count instead of those on disk. ``replayed``: the
        disk may have changed since, so files that nobody reads may be absent.
        """
        self.replayed = replayed
        self.read: dict[Path, str] = {}
        self._known = {path.resolve(): text for path, text in known.items()}

    def text(self, file: Path) -> str:
        """The text of a file.

        Raises:
            SettingsError: it cannot be read.
        """
        path = file.resolve()
        for texts in (self._known, self.read):
            if path in texts:
                return texts[path]
        found = self.read[path] = text_of(file)
        return found

    def there(self, file: Path) -> bool:
        """Whether a file exists, as far as that counts."""
        return self.replayed or file.resolve() in self._known or file.is_file()


class FileContents(dict[Path, bytes]):
    """Contents of files by their paths; one that is not known is read from disk, once."""

    def __missing__(self, file: Path) -> bytes:
        found = self[file] = file.read_bytes()
        return found


def text_of(file: Path) -> str:
    """Read the text of a file; XML that declares another encoding is read in that.

    Raises:
        SettingsError: it cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"rules.files: cannot read {file}: {error}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = _ENCODING.match(content[:200].decode("latin-1"))
        if found is not None:
            # The text is UTF-8 from here on, and may not declare anything else.
            try:
                return found[1] + content.decode(found[2])[found.end() :]
            except (LookupError, UnicodeDecodeError):
                pass  # It is no text in that encoding either.
        raise SettingsError(f"rules.files: cannot read {file}: {error}") from None


def below(folder: Path, path: Path) -> str:
    """A path from a folder on, if it lies there."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def based(text: str, path: Path) -> str:
    """The text after a BASE line that resolves its relative IRIs against the file."""
    return f"BASE <{path.absolute().as_uri()}>\n{text}"


@contextmanager
def placed(start: Position) -> Iterator[None]:
    """Give faults of a :func:`based` text their places in the file, where it begins at ``start``. A
    fault that has a place in another file keeps it.
    """
    try:
        yield
    except QueryError as error:
        place = error.position
        if place is not None and place.file == "query":
            line = max(place.line - 1, 1)
            column = place.column + (start.column - 1 if line == 1 else 0)
            error.position = Position(start.file, start.line + line - 1, column)
        raise


def read_file(file: Path, unsaved: Mapping[Path, str] = NOTHING_UNSAVED, label: str = "") -> str:
    """Read a file in UTF-8; ``unsaved`` are texts that count instead of those on disk.

    Raises:
        SettingsError: it cannot be read; ``label`` is what names it.
    """
    if file in unsaved:
        return unsaved[file]
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{label}cannot read {file}: {error}") from None
