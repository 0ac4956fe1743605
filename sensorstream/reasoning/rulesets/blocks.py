"""Where the rules of a text stand, and the comments above them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sensorstream.errors import Position
from sensorstream.sparql.lexer import Lexeme, Source, tokens

_PROLOGUE: Final = {"_PREFIX": 3, "_BASE": 2}
"""Tokens of a declaration."""
_OPENING: Final = frozenset(("_BRACE", "_PAREN", "_BRACKET"))
_CLOSING: Final = frozenset(("_END_BRACE", "_END_PAREN", "_END_BRACKET"))


@dataclass(frozen=True, slots=True)
class Block:
    """One rule of a text: its first word, what its kind is, and the lines of comment above it."""

    position: Position
    word: str
    comment: tuple[str, ...]

    @property
    def title(self) -> str:
        """The first line of the comment; empty if there is none."""
        return self.comment[0] if self.comment else ""

    @property
    def remarks(self) -> str:
        """The lines of the comment after the first."""
        return "\n".join(self.comment[1:])


def blocks_of(source: Source, text: str) -> Iterator[Block]:
    """The updates of a text, separated by semicolons; ``text`` is as it was written.

    Raises:
        QueryError: a character that starts no token, or a string without its end.
    """
    lines = text.split("\n")
    passed = depth = 0
    first: Lexeme | None = None
    for token in tokens(source):
        if passed:
            passed -= 1
        elif first is None and token.type in _PROLOGUE:
            passed = _PROLOGUE[token.type] - 1
        elif depth == 0 and token.type == "_SEMICOLON":
            first = None
        elif first is None:
            first = token
            position = source.position(token.start)
            yield Block(position, token.type, comment_above(lines, position))
        depth += (token.type in _OPENING) - (token.type in _CLOSING)


def comment_above(lines: list[str], position: Position) -> tuple[str, ...]:
    """The lines of comment directly above a place that is the first of its line."""
    at = position.line - 1
    if lines[at][: position.column - 1].strip():
        return ()
    found: list[str] = []
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
        found.append(lines[at].strip().lstrip("#").strip())
    return tuple(line for line in reversed(found) if line)
