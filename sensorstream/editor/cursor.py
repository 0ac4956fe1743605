"""What stands before a place in a rule file or query, however unfinished the text is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lark import Token

from sensorstream.errors import LanguageError, Position, QueryError
from sensorstream.language import lexer as rule_lexer
from sensorstream.language.parser import rule_starts
from sensorstream.sparql import lexer as sparql_lexer


class Inside(Enum):
    """What a place is inside of."""

    RULES = "the rule language"
    HOLE = "a hole"
    SPARQL = "SPARQL"
    TEXT = "a text, a comment, or something that cannot be read"


@dataclass(frozen=True, slots=True)
class Cursor:
    """What stands before a place.

    ``tokens`` are those of the head or the rule up to there, or, in ``opened`` SPARQL or a hole, up
    to its brace. ``start`` is the offset of the first of them. ``word`` is the beginning of a word
    that ends at the place; it is no token yet. ``inner`` is the text behind the brace.
    """

    inside: Inside
    tokens: tuple[Token, ...]
    start: int
    word: str = ""
    inner: str = ""

    @property
    def last(self) -> str:
        """The kind of the token before, or nothing."""
        return self.tokens[-1].type if self.tokens else ""


_SPACE: Final = re.compile(r"(?:\s+|\#[^\n]*)*")
_WORDS: Final = frozenset(
    ("NAME", "LOCAL_NAME", "NAMESPACE", "VARIABLE", "NODE_VARIABLE", "LANGUAGE", "BLANK_NAME")
) | frozenset(rule_lexer.KEYWORDS.values())
_QUOTED: Final = re.compile(r"""\{\{|\}\}|\\.|\{(?:[^{}'"]|'[^']*'|"[^"]*")*\}""", re.S)
# A brace that is open on an earlier line, before one of these, was not finished.
_NEXT_LINE: Final = re.compile(
    r"\n[ \t]*(?:;|then\b|if\b|for\s+each\b|let\b|on\s+message\b|(?:insert|update)\s+individual\b)"
)


def cursor_in_rules(text: str, offset: int) -> Cursor:
    """What stands before a place in a rule file."""
    start = max((s for s in rule_starts(text) if s <= offset), default=0)
    found: list[Token] = []
    begin = start
    while True:
        piece = text[begin:offset]
        end = _read(piece, begin, found)
        at = begin + end
        if end == len(piece):
            return _after_tokens(found, start)
        opened = at + _space(text, at, offset)
        if opened == offset:
            in_comment = "#" in text[at:offset].rpartition("\n")[2]
            return Cursor(Inside.TEXT if in_comment else Inside.RULES, tuple(found), start)
        later = (
            None
            if _kind(found) in rule_lexer.SPARQL_WORDS
            else _NEXT_LINE.search(text, opened, offset)
        )
        if later is None:
            return _inside(found, start, text[opened:offset])
        begin = later.start() + 1


def _read(piece: str, begin: int, found: list[Token]) -> int:
    """Add the tokens of a piece, as far as it can be read.

    ``begin`` is where the piece begins in the file.

    Returns:
        The offset in the piece behind the last token.
    """
    end = 0
    try:
        for token in rule_lexer.tokens(rule_lexer.RuleText(piece, "")):
            start = token.start_pos or 0
            found.append(Token(token.type, token.value, begin + start))
            end = start + len(token.value)
    except LanguageError:
        pass
    return end


def _space(text: str, start: int, end: int) -> int:
    match = _SPACE.match(text, start, end)
    return 0 if match is None else match.end() - start


def _kind(found: Sequence[Token]) -> str:
    return found[-1].type if found else ""


def _after_tokens(found: list[Token], start: int) -> Cursor:
    if found and found[-1].type in _WORDS:
        return Cursor(Inside.RULES, tuple(found[:-1]), start, word=found[-1].value)
    return Cursor(Inside.RULES, tuple(found), start)


def _inside(found: list[Token], start: int, rest: str) -> Cursor:
    """The place is behind something that cannot be read to its end."""
    before = tuple(found)
    if rest.startswith("@{"):  # a language
        rest = rest[1:]
    if rest.startswith("{"):
        sparql = _kind(found) in rule_lexer.SPARQL_WORDS
        return Cursor(Inside.SPARQL if sparql else Inside.HOLE, before, start, inner=rest[1:])
    if rest.startswith('"'):
        done = 3 if rest.startswith('"""') else 1
        for match in _QUOTED.finditer(rest, done):
            done = match.end()
        hole = rest.find("{", done)
        if hole >= 0:
            return Cursor(Inside.HOLE, before, start, inner=rest[hole + 1 :])
    if len(rest) == 1 and rest in "?$@":
        return Cursor(Inside.RULES, before, start, word=rest)
    return Cursor(Inside.TEXT, before, start)


@dataclass(frozen=True, slots=True)
class SparqlCursor:
    """What stands before a place in SPARQL: the tokens, and the beginning of a word."""

    tokens: tuple[Token, ...]
    word: str = ""
    is_text: bool = False


_SPARQL_WORDS: Final = frozenset(
    ("NAME", "PREFIXED", "NAMESPACE", "VARIABLE", "FUNCTION", "AGGREGATE", "_A")
) | frozenset(sparql_lexer.KEYWORDS.values())


def cursor_in_sparql(text: str) -> SparqlCursor:
    """What stands at the end of the beginning of a query."""
    found: list[Token] = []
    try:
        source = sparql_lexer.Source(text, Position("", 1, 1))
        for token in sparql_lexer.tokens(source):
            found.append(Token(*token))
    except QueryError:
        pass
    end = (found[-1].start_pos or 0) + len(found[-1].value) if found else 0
    rest = text[end:]
    if not rest and found and found[-1].type in _SPARQL_WORDS:
        return SparqlCursor(tuple(found[:-1]), found[-1].value)
    unread = rest[_space(rest, 0, len(rest)) :]
    in_comment = "#" in rest.rpartition("\n")[2] and not unread
    word = unread if unread in ("?", "$") else ""
    return SparqlCursor(tuple(found), word, is_text=in_comment or unread != word)
