"""Where the rules of a text stand, and the comments above them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sensorstream.errors import Position
from sensorstream.sparql.iris import resolve
from sensorstream.sparql.lexer import Lexeme, Source, tokens

_PROLOGUE: Final = {"_PREFIX": 3, "_BASE": 2}
"""Tokens of a declaration."""
OPENING: Final = frozenset(("_BRACE", "_PAREN", "_BRACKET"))
CLOSING: Final = frozenset(("_END_BRACE", "_END_PAREN", "_END_BRACKET"))


@dataclass(frozen=True, slots=True)
class Block:
    """One rule of a text: its first word, what its kind is, and the lines of comment above it.

    ``start`` is where it begins in the source, ``groups`` where its outermost braces begin and end;
    ``prefixes`` are the IRIs of those declared before it, ``base`` what relative IRIs begin with.
    """

    position: Position
    word: str
    comment: tuple[str, ...]
    start: int = 0
    groups: tuple[tuple[int, int], ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None

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
    prefixes: dict[str, str] = {}
    base: str | None = None
    depth = opened = 0
    declaration: list[Lexeme] = []
    first: Lexeme | None = None
    groups: list[tuple[int, int]] = []

    def block(token: Lexeme) -> Block:
        position = source.position(token.start)
        comment = comment_above(lines, position)
        found = dict(prefixes)
        return Block(position, token.type, comment, token.start, tuple(groups), found, base)

    for token in tokens(source):
        if declaration:
            declaration.append(token)
            if len(declaration) == _PROLOGUE[declaration[0].type]:
                iri = token.value[1:-1]
                iri = iri if base is None else resolve(base, iri)
                if declaration[0].type == "_BASE":
                    base = iri
                else:
                    prefixes[declaration[1].value.removesuffix(":")] = iri
                declaration = []
        elif first is None and token.type in _PROLOGUE:
            declaration = [token]
        elif depth == 0 and token.type == "_SEMICOLON":
            if first is not None:
                yield block(first)
            first = None
            groups = []
        elif first is None:
            first = token
        if token.type == "_BRACE" and depth == 0:
            opened = token.start
        depth += (token.type in OPENING) - (token.type in CLOSING)
        if token.type == "_END_BRACE" and depth == 0:
            groups.append((opened, token.start + 1))
    if first is not None:
        yield block(first)


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
