"""Places in a text: offsets, the positions of errors, and those of the protocol.

The Language Server Protocol (3.17, "Position") counts lines and columns from 0, and columns in
units of UTF-16; errors count lines and columns from 1, and columns in characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

from sensorstream.errors import Position

_WORD: Final = re.compile(r'[\w:?$@.%-]*[\w:?$@%-]|"[^"\n]*"|<[^<>\s]*>|\S', re.U)


class Place(NamedTuple):
    """A position of the protocol."""

    line: int
    character: int


class Span(NamedTuple):
    """A piece of a text: the offset of its first character, and the one behind it."""

    start: int
    end: int


class SourceText:
    """A text with its lines."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def offset(self, line: int, character: int) -> int:
        """The offset of a position of the protocol; one outside the text is the nearest inside."""
        if line >= len(self._starts):
            return len(self.text)
        written = self._line(max(line, 0))
        units = 0
        for index, each in enumerate(written):
            if units >= character:
                return self._starts[line] + index
            units += _units(each)
        return self._starts[line] + len(written)

    def place(self, offset: int) -> Place:
        """The position of a character in the protocol."""
        line = bisect_right(self._starts, offset) - 1
        return Place(line, sum(map(_units, self.text[self._starts[line] : offset])))

    def offset_of(self, position: Position) -> int:
        """The offset of an error."""
        if position.line > len(self._starts):
            return len(self.text)
        start = self._starts[position.line - 1]
        return min(start + position.column - 1, start + len(self._line(position.line - 1)))

    def word_at(self, offset: int) -> Span:
        """The word that begins at an offset, such as a name or a text in quotes."""
        found = _WORD.match(self.text, offset)
        return Span(offset, found.end() if found else offset)

    def _line(self, line: int) -> str:
        """A line without its end."""
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end].rstrip("\r\n")


def _units(character: str) -> int:
    return 1 if character <= "\uffff" else 2
