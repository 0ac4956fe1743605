"""Parsers of grammars, without computing their tables at every start.

The tables lie beside the grammar, in the package: nothing is written when SensorStream runs, and
nothing is read that was not installed with it. ``make grammars`` writes them anew. Tables of
another grammar, other options or another version of lark are ignored: the parser is then built from
the grammar, which is slower and gives the same.
"""

from __future__ import annotations

import io
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, cast

import lark
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedToken, VisitError
from lark.lexer import Lexer

from sensorstream.errors import Position

_LONGEST: Final = 40
"""Characters of a token that are shown."""
_KEY: Final = 32
"""Bytes: a SHA-256 of all that the tables depend on comes first."""


class Lines:
    """A text that begins somewhere in a file, with the line and column of each offset."""

    __slots__ = ("_start", "_starts", "text")

    def __init__(self, text: str, start: Position) -> None:
        self.text = text
        self._start = start
        self._starts = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def position(self, offset: int) -> Position:
        """The place of a character; ``offset`` counts from 0."""
        line = bisect_right(self._starts, offset)
        column = offset - self._starts[line - 1] + 1
        if line == 1:
            column += self._start.column - 1
        return Position(self._start.file, line + self._start.line - 1, column)


def unexpected(source: Lines, error: UnexpectedToken, what: str, hint: str) -> tuple[str, Position]:
    """The error for a token that does not fit in a text called ``what``; ``hint`` is what fits."""
    token = error.token
    if token.type == "$END":
        return f"{what} ends here: {hint}", source.position(len(source.text.rstrip()))
    shown = token.value if len(token.value) <= _LONGEST else f"{token.value[:_LONGEST]}…"
    return f"unexpected '{shown}': {hint}", source.position(token.start_pos or 0)


def one_of(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@dataclass(frozen=True, slots=True)
class Grammar:
    """A package's ``grammar.lark``, and how it is to be read."""

    package: str
    lexer: type[Lexer]
    start: tuple[str, ...] = ("start",)
    positions: bool = False

    def parser(self) -> Lark:
        """The parser, from tables if they are of this very grammar."""
        try:
            tables = self.tables.read_bytes()
        except FileNotFoundError:
            return self.built()
        if tables[:_KEY] != self._key():
            return self.built()
        return Lark.load(io.BytesIO(zlib.decompress(tables[_KEY:])))

    def read(self, source: Lines, builder: Transformer[Token, Any], start: str = "start") -> Any:
        """Parse a text and return what a builder makes of it.

        Raises:
            UnexpectedToken: the text is not of the grammar.
        """
        try:
            return builder.transform(_parser(self).parse(cast(str, source), start=start))
        except VisitError as error:
            raise error.orig_exc from None

    def expected_after(self, before: Iterable[Token], start: str = "start") -> frozenset[str]:
        """The kinds of token that may follow the first ones of a text; none if these do not fit."""
        parser = _parser(self).parse_interactive(start=start)
        try:
            for token in before:
                parser.feed_token(token)
        except UnexpectedToken:
            return frozenset()
        return frozenset(parser.accepts())  # type: ignore[no-untyped-call]

    def built(self) -> Lark:
        """The parser, from the grammar."""
        options: dict[str, Any] = {
            "lexer": self.lexer,
            "start": list(self.start),
            "propagate_positions": self.positions,
        }
        return Lark(self._text(), parser="lalr", maybe_placeholders=False, **options)

    @property
    def tables(self) -> Traversable:
        """The file of the tables; it may be missing."""
        return resources.files(self.package) / "grammar.tables"

    def current(self) -> bool:
        """Whether the file of the tables is there, and of this very grammar."""
        return self.tables.is_file() and self.tables.read_bytes()[:_KEY] == self._key()

    def compiled(self) -> bytes:
        """The content that the file of the tables should have."""
        saved = io.BytesIO()
        self.built().save(saved)
        return self._key() + zlib.compress(saved.getvalue(), 9)

    def _text(self) -> str:
        return (resources.files(self.package) / "grammar.lark").read_text("utf-8")

    def _key(self) -> bytes:
        lexer = f"{self.lexer.__module__}.{self.lexer.__qualname__}"
        parts = (lark.__version__, lexer, repr(self.start), repr(self.positions), self._text())
        return sha256("\0".join(parts).encode()).digest()


@cache
def _parser(grammar: Grammar) -> Lark:
    return grammar.parser()
