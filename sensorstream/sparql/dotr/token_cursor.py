"""A cursor over the tokens of a text, and the SPARQL queries inside it.

Queries that differ only in constants are parsed once. In ``?v > 30`` the number is cut out and a
unique one of its kind is parsed in its place. The place of that one in the meaning is the place of
the constant in all such texts. If it is not found there as a term, or more than once, the constant
may have been part of a string or of a comment: then each such text is parsed by itself.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NoReturn, TypeAlias

from sensorstream.errors import Position, QueryError, TermError
from sensorstream.model import xsd
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal, iri
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.dotr.dotr_syntax import Reading
from sensorstream.sparql.query_lexer import Lexeme, QueryText, tokens
from sensorstream.sparql.query_parser import read_query
from sensorstream.sparql.walk import children, renewed

Constant: TypeAlias = IRI | Literal
_Places: TypeAlias = "dict[int, _Places | int]"
"""The places below each child by its number, or the number of the constant that it is."""
_CONSTANT: Final = re.compile(
    r"(?<=[<>=])(?P<space>[ \t]*)(?:"
    r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)(?![\w.+-])"
    r"|(?P<text>\"[^\"\\\r\n]{0,99}\")(?![\"@^])"
    r"|(?P<prefix>(?:[A-Za-z][\w-]{0,99})?):(?P<local>[A-Za-z0-9_]{1,99})(?![\w:.%\\-])"
    r")"
)
_SECRET: Final = 10**30 + secrets.randbelow(10**30)
_PREFIX: Final = re.compile(r"\bprefix\b", re.IGNORECASE)


@frozen
class _Template:
    query: Query
    places: _Places


class Templates:
    """A cache of parsed queries, by the text without its constants."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, object], _Template | None] = {}

    def query(
        self,
        text: str,
        prefixes: Mapping[str, str],
        base: object,
        read: Callable[[str], Query],
    ) -> Query:
        """The meaning of a text; ``read`` parses it if no such text is known.

        Raises QueryError if the text is not valid.
        """
        constants: list[Constant] = []

        def cut(match: re.Match[str]) -> str:
            constant = _constant(match, prefixes)
            if constant is None:
                return match.group()
            constants.append(constant)
            return f"{match['space']}\x00"

        # With prefixes of its own a name may mean something else.
        without = text if _PREFIX.search(text) else _CONSTANT.sub(cut, text)
        if "\x00" in text:
            return read(text)
        kinds = [each.datatype if isinstance(each, Literal) else "" for each in constants]
        key = without, (tuple(kinds), base, tuple(prefixes.items()))
        if key not in self._known:
            self._known[key] = _template(without, kinds, read)
        template = self._known[key]
        if template is None:
            return read(text)
        return _filled(template.query, template.places, constants)


def _constant(match: re.Match[str], prefixes: Mapping[str, str]) -> Constant | None:
    if match["number"]:
        return Literal(match["number"], xsd.DECIMAL if "." in match["number"] else xsd.INTEGER)
    if match["text"]:
        return Literal(match["text"][1:-1])
    try:
        return iri(f"{prefixes[match['prefix']]}{match['local']}")
    except (KeyError, TermError):
        return None


def _template(without: str, kinds: list[str], read: Callable[[str], Query]) -> _Template | None:
    marks: dict[Constant, int] = {}
    written: list[str] = []
    for number, kind in enumerate(kinds):
        mark, text = _mark(number, kind)
        marks[mark] = number
        written.append(text)
    pieces = without.split("\x00")
    text = "".join(piece for pair in zip(pieces, [*written, ""], strict=True) for piece in pair)
    try:
        query = read(text)
    except QueryError:
        # The error must refer to the text as it is written.
        return None
    found: list[int] = []
    places = _places(query, marks, found)
    return _Template(query, places) if sorted(found) == list(range(len(kinds))) else None


def _mark(number: int, kind: str) -> tuple[Constant, str]:
    """A constant of a kind that no text contains, because nobody can know it, and its text."""
    if kind == "":
        name = f"urn:{_SECRET}:{number}"
        return IRI(name), f"<{name}>"
    if kind in (xsd.INTEGER, xsd.DECIMAL):
        digits = f"{_SECRET + number}{'.1' if kind == xsd.DECIMAL else ''}"
        return Literal(digits, kind), digits
    return Literal(f"{_SECRET}:{number}"), f'"{_SECRET}:{number}"'


def _places(node: object, marks: Mapping[Constant, int], found: list[int]) -> _Places:
    """The places of the constants below a node; those found are added to ``found``."""
    places: _Places = {}
    for place, child in enumerate(children(node)):
        if isinstance(child, IRI | Literal) and child in marks:
            places[place] = marks[child]
            found.append(marks[child])
        elif below := _places(child, marks, found):
            places[place] = below
    return places


def _filled(node: Query, places: _Places, constants: list[Constant]) -> Query:
    new = list(children(node))
    for place, below in places.items():
        new[place] = (
            constants[below] if isinstance(below, int) else _filled(new[place], below, constants)  # type: ignore[arg-type]
        )
    return renewed(node, new)


_OPEN: Final = ("(", "{", "[")
_CLOSED: Final = (")", "}", "]")


class TokenCursor:
    """A cursor over the tokens of a text; the tokens are SPARQL's."""

    def __init__(self, text: str, start: Position) -> None:
        """Take a text whose first character is at ``start``.

        Raises QueryError at a character that starts no token, or a string without its end.
        """
        self.source = QueryText(text, start)
        self.tokens = list(tokens(self.source))
        self.at = 0
        self.prefixes: Mapping[str, str] = {}
        self.base: str | None = None
        self._templates = Templates()

    @property
    def token(self) -> Lexeme | None:
        """The token that comes next; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def offset(self, at: int | None = None) -> int:
        """The offset of a token in the text, by default the next one."""
        place = self.at if at is None else at
        if place < len(self.tokens):
            return self.tokens[place].start
        return len(self.source.text.rstrip())

    def position(self, at: int | None = None) -> Position:
        """The place of a token in the file."""
        return self.source.position(self.offset(at))

    def is_word(self, *words: str) -> bool:
        """Whether the next token is one of these words, in small or capital letters."""
        return self.at < len(self.tokens) and self.tokens[self.at].value.lower() in words

    def take_word(self, *words: str) -> str | None:
        """Skip one of these words, if it is next."""
        if not self.is_word(*words):
            return None
        return self.take().value.lower()

    def take(self) -> Lexeme:
        """Skip the next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *marks: str) -> Lexeme:
        """Skip one of these words or marks; raises QueryError if another token is next."""
        if not self.is_word(*marks):
            self.fail(" or ".join(f"'{mark}'" for mark in marks))
        return self.take()

    def name(self, what: str) -> str:
        """Skip a word that the text chooses; raises QueryError if there is none."""
        token = self.token
        if token is None or not token.value.isidentifier():
            self.fail(what)
        return self.take().value

    def variable(self) -> str:
        """Skip a variable; raises QueryError if there is none."""
        if self.token is None or self.token.type != "VARIABLE":
            self.fail("a ?variable")
        return self.take().value[1:]

    def closing(self) -> int:
        """Skip the brackets that begin here; return the place of their end.

        Raises QueryError if they have no end.
        """
        start, depth = self.at, 0
        while (token := self.token) is not None:
            depth += (token.value in _OPEN) - (token.value in _CLOSED)
            self.at += 1
            if depth == 0:
                return self.at - 1
        opened = self.tokens[start].value
        closed = _CLOSED[_OPEN.index(opened)]
        raise self.error(f"'{opened}' has no end: expected '{closed}'", start)

    def between(self, first: int, last: int) -> str:
        """The text from one token up to another, as it is written, without that one."""
        return self.source.text[self.offset(first) : self.offset(last)]

    def query(self, before: str, inner: str, after: str, at: int) -> Query:
        """The meaning of a query whose part ``inner`` stands in the text, from a token on.

        Many rules of a rulebook are alike, so parsed queries are cached; constants may differ.
        Raises QueryError with the place in the text.
        """

        def read(text: str) -> Query:
            # Texts that differ in constants share their meaning, but not their places.
            return replace(self.reading(text, at, len(before))().meaning, places=None)

        text = f"{before}{inner}{after}"
        return self._templates.query(text, self.prefixes, self.base, read)

    def reading(self, text: str, at: int, before: int = 0) -> Reading:
        """A function that reads a query of the text, from a token on, with places.

        The first ``before`` characters of the query do not stand in the text.
        """
        place = self.position(at)
        start = Position(place.file, place.line, place.column - before)
        return partial(read_query, text, start=start, prefixes=self.prefixes, base=self.base)

    def error(self, told: str, at: int) -> QueryError:
        """The error of a fault at a token."""
        return QueryError(told, position=self.position(at))

    def fail(self, expected: str) -> NoReturn:
        """Raise QueryError with what was expected here."""
        token = self.token
        told = "the text ends here" if token is None else f"unexpected '{token.value[:40]}'"
        raise self.error(f"{told}: expected {expected}", self.at)
