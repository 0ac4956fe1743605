"""Parsers from grammars, without computing their tables at every start.

The tables lie beside the grammar, in the package: nothing is written when SensorStream runs, and
nothing is read that was not installed with it. ``make grammars`` writes them anew. Tables of
another grammar, of other options or of another version of lark are passed over: the parser is then
built from the grammar, which is slower and gives the same.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

import lark
from lark import Lark
from lark.lexer import Lexer

_KEY: Final = 32
"""Bytes: a SHA-256 of all that the tables depend on comes first."""


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
        """What the file of the tables should hold."""
        saved = io.BytesIO()
        self.built().save(saved)
        return self._key() + zlib.compress(saved.getvalue(), 9)

    def _text(self) -> str:
        return (resources.files(self.package) / "grammar.lark").read_text("utf-8")

    def _key(self) -> bytes:
        lexer = f"{self.lexer.__module__}.{self.lexer.__qualname__}"
        parts = (lark.__version__, lexer, repr(self.start), repr(self.positions), self._text())
        return sha256("\0".join(parts).encode()).digest()
