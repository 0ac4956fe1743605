"""A place in the tokens of a text, and the texts of other languages inside it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from sensorstream.dotr.syntax import Reading
from sensorstream.dotr.templates import Templates
from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.lexer import Lexeme, Source, tokens
from sensorstream.sparql.parser import read_query

_OPEN: Final = ("(", "{", "[")
_CLOSED: Final = (")", "}", "]")


class Cursor:
    """Goes through a text token by token; SPARQL's tokens are those of this language, too."""

    def __init__(self, text: str, start: Position) -> None:
        """Take a text; ``start`` is the place of its first character.

        Raises:
            QueryError: a character that starts no token, or a string without its end.
        """
        self.source = Source(text, start)
        self.tokens = list(tokens(self.source))
        self.at = 0
        self.prefixes: Mapping[str, str] = {}
        self.base: str | None = None
        self._read: dict[Hashable, Query] = {}
        self._templates = Templates()

    @property
    def token(self) -> Lexeme | None:
        """The token that comes next; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def offset(self, at: int | None = None) -> int:
        """Where a token begins in the text, the next one if it is not given."""
        place = self.at if at is None else at
        if place < len(self.tokens):
            return self.tokens[place].start
        return len(self.source.text.rstrip())

    def position(self, at: int | None = None) -> Position:
        """The place of a token in the file."""
        return self.source.position(self.offset(at))

    def is_word(self, *words: str) -> bool:
        """Whether one of these words comes next, in small or capital letters."""
        return self.at < len(self.tokens) and self.tokens[self.at].value.lower() in words

    def take_word(self, *words: str) -> str | None:
        """Pass over one of these words, if it comes next."""
        if not self.is_word(*words):
            return None
        return self.take().value.lower()

    def take(self) -> Lexeme:
        """Pass over the next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *marks: str) -> Lexeme:
        """Pass over one of these words or marks.

        Raises:
            QueryError: something else comes next.
        """
        if not self.is_word(*marks):
            self.fail(" or ".join(f"'{mark}'" for mark in marks))
        return self.take()

    def name(self, what: str) -> str:
        """Pass over a word that the text chooses.

        Raises:
            QueryError: something else comes next.
        """
        token = self.token
        if token is None or not token.value.isidentifier():
            self.fail(what)
        return self.take().value

    def variable(self) -> str:
        """Pass over a variable.

        Raises:
            QueryError: something else comes next.
        """
        if self.token is None or self.token.type != "VARIABLE":
            self.fail("a ?variable")
        return self.take().value[1:]

    def closing(self) -> int:
        """Pass over what stands in the brackets that begin here; the place of their end.

        Raises:
            QueryError: they have no end.
        """
        start, depth = self.at, 0
        while (token := self.token) is not None:
            depth += (token.value in _OPEN) - (token.value in _CLOSED)
            self.at += 1
            if depth == 0:
                return self.at - 1
        opened = self.tokens[start].value
        closed = _CLOSED[_OPEN.index(opened)]
        raise QueryError(
            f"'{opened}' has no end: expected '{closed}'", position=self.position(start)
        )

    def between(self, first: int, last: int) -> str:
        """The text from one token to another one, as it is written, without the last one."""
        return self.source.text[self.offset(first) : self.offset(last)]

    def query(self, before: str, inner: str, after: str, at: int) -> Query:
        """The meaning of a query of which ``inner`` stands in the text, from a token on.

        Of a thousand rules many say the same: what has been read is remembered, and so is what
        differs in constants only.

        Raises:
            QueryError: it is not valid; the place is that in the text.
        """
        text = f"{before}{inner}{after}"
        key = text, self.base, tuple(self.prefixes.items())
        if key not in self._read:

            def read(text: str) -> Query:
                # Texts that differ in constants share what was read, but no places.
                return replace(self._reading(text, len(before), at)().meaning, places=None)

            self._read[key] = self._templates.query(text, self.prefixes, self.base, read)
        return self._read[key]

    def reading(self, inner: str, at: int) -> Reading:
        """Reads a query of the text, from a token on, with the places of its parts."""
        return self._reading(inner, 0, at)

    def _reading(self, text: str, before: int, at: int) -> Reading:
        place = self.position(at)
        start = Position(place.file, place.line, place.column - before)
        return partial(read_query, text, start=start, prefixes=self.prefixes, base=self.base)

    def fail(self, expected: str) -> NoReturn:
        """Say what was expected here.

        Raises:
            QueryError: always.
        """
        token = self.token
        told = "the text ends here" if token is None else f"unexpected '{token.value[:40]}'"
        raise QueryError(f"{told}: expected {expected}", position=self.position())
