"""Texts of files as they mean the same without the file; faults in them have the file's places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sensorstream.errors import Position, QueryError


def based(text: str, path: Path) -> str:
    """The text after a line that says what its relative IRIs resolve against: the file."""
    return f"BASE <{path.absolute().as_uri()}>\n{text}"


@contextmanager
def placed(start: Position) -> Iterator[None]:
    """Give faults of a :func:`based` text their places in the file, where it begins at ``start``.

    A fault that has a place of its own, in another file, keeps it.
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
