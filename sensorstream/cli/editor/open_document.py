"""An open file: places in its text, its outline, and the text before and around a place.

The Language Server Protocol (3.17, "Position") counts lines and columns from 0, and columns in
units of UTF-16; errors count lines and columns from 1, and columns in characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple

from lark import Token

from sensorstream.app.control.file_texts import is_query_file, is_rule_set
from sensorstream.cli.editor.sample_messages import read_samples, sample_files
from sensorstream.cli.editor.shown_names import Vocabulary
from sensorstream.errors import LanguageError, Position, QueryError
from sensorstream.language import rule_lexer as rule_lexer
from sensorstream.language.rule_parser import rule_starts, syntax_tree
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.mapping.xml_document import Element
from sensorstream.model.frozen import frozen
from sensorstream.sparql import query_lexer as sparql_lexer


class Inside(Enum):
    """The kind of text around a place."""

    RULES = "the rule language"
    HOLE = "a hole"
    SPARQL = "SPARQL"
    TEXT = "a text, a comment, or something that cannot be read"


@frozen
class TextCursor:
    """The text before a place.

    ``tokens`` are those of the query, of the head or of the rule up to there, or, in opened SPARQL
    or a hole of a rule, up to its brace. ``word`` is the beginning of a word that ends at the
    place; it is no token yet. ``inner`` is the text behind the brace.
    """

    inside: Inside
    tokens: tuple[Token, ...]
    word: str = ""
    inner: str = ""

    @property
    def last(self) -> str:
        """The kind of the token before, or nothing."""
        return self.tokens[-1].type if self.tokens else ""


_SPACE: Final = re.compile(r"(?:\s+|\#[^\n]*)*")
_RULE_WORDS: Final = frozenset(
    ("NAME", "LOCAL_NAME", "NAMESPACE", "VARIABLE", "NODE_VARIABLE", "LANGUAGE", "BLANK_NAME")
) | frozenset(rule_lexer.KEYWORDS.values())
QUOTED: Final = re.compile(r"""\{\{|\}\}|\\.|\{(?:[^{}'"]|'[^']*'|"[^"]*")*\}""", re.S)
# A brace on an earlier line that is still open before one of these was not finished.
_NEXT_LINE: Final = re.compile(
    r"\n[ \t]*(?:;|then\b|if\b|for\s+each\b|let\b|on\s+message\b|(?:insert|update)\s+individual\b)"
)


def cursor_in_rules(text: str, offset: int) -> TextCursor:
    """The text before a place in a rule file."""
    begin = max((s for s in rule_starts(text) if s <= offset), default=0)
    found: list[Token] = []
    while True:
        piece = text[begin:offset]
        end = read_tokens(piece, begin, found)
        at = begin + end
        if end == len(piece):
            return _after_tokens(found, Inside.RULES, _RULE_WORDS)
        opened = at + _space(text, at, offset)
        if opened == offset:
            in_comment = "#" in text[at:offset].rpartition("\n")[2]
            return TextCursor(Inside.TEXT if in_comment else Inside.RULES, tuple(found))
        later = (
            None
            if _kind(found) in rule_lexer.SPARQL_WORDS
            else _NEXT_LINE.search(text, opened, offset)
        )
        if later is None:
            return _inside(found, text[opened:offset])
        begin = later.start() + 1


def read_tokens(piece: str, begin: int, found: list[Token]) -> int:
    """Add the tokens of a piece, which begins at ``begin`` in the file, as far as it can be read;
    returns the offset in the piece behind the last token.
    """
    end = 0
    try:
        for token in rule_lexer.tokens(rule_lexer.LexedText(piece, "")):
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


def _after_tokens(found: list[Token], inside: Inside, words: Collection[str]) -> TextCursor:
    """The cursor right behind the last token, which may go on if it is one of ``words``."""
    if found and found[-1].type in words:
        return TextCursor(inside, tuple(found[:-1]), word=found[-1].value)
    return TextCursor(inside, tuple(found))


def _inside(found: list[Token], rest: str) -> TextCursor:
    """The cursor behind something that cannot be read to its end."""
    before = tuple(found)
    if rest.startswith("@{"):  # a language
        rest = rest[1:]
    if rest.startswith("{"):
        sparql = _kind(found) in rule_lexer.SPARQL_WORDS
        return TextCursor(Inside.SPARQL if sparql else Inside.HOLE, before, inner=rest[1:])
    if rest.startswith('"'):
        done = 3 if rest.startswith('"""') else 1
        for match in QUOTED.finditer(rest, done):
            done = match.end()
        hole = rest.find("{", done)
        if hole >= 0:
            return TextCursor(Inside.HOLE, before, inner=rest[hole + 1 :])
    if len(rest) == 1 and rest in "?$@":
        return TextCursor(Inside.RULES, before, word=rest)
    return TextCursor(Inside.TEXT, before)


_SPARQL_WORDS: Final = frozenset(
    ("NAME", "PREFIXED", "NAMESPACE", "VARIABLE", "FUNCTION", "AGGREGATE", "_A")
) | frozenset(sparql_lexer.KEYWORDS.values())


def sparql_tokens(text: str) -> list[Token]:
    """The tokens of the beginning of a query, as far as it can be read."""
    found: list[Token] = []
    with suppress(QueryError):
        source = sparql_lexer.QueryText(text, Position("", 1, 1))
        for token in sparql_lexer.tokens(source):
            found.append(Token(*token))
    return found


def cursor_in_sparql(text: str) -> TextCursor:
    """The text at the end of the beginning of a query."""
    found = sparql_tokens(text)
    end = (found[-1].start_pos or 0) + len(found[-1].value) if found else 0
    rest = text[end:]
    if not rest:
        return _after_tokens(found, Inside.SPARQL, _SPARQL_WORDS)
    unread = rest[_space(rest, 0, len(rest)) :]
    in_comment = "#" in rest.rpartition("\n")[2] and not unread
    word = unread if unread in ("?", "$") else ""
    is_text = in_comment or unread != word
    return TextCursor(Inside.TEXT if is_text else Inside.SPARQL, tuple(found), word)


_NAMED: Final = re.compile(r"[ \t]*(mapping|rule)[ \t]+([^\W\d][\w-]*)")
_OF_RULE_SET: Final = re.compile(
    r"(?:^[ \t]*#+[ \t]*([^\s#][^\n]*?)[ \t]*\n(?:[ \t]*#[^\n]*\n)*)?"
    r"^[ \t]*(INSERT)\b(?:(?!\n[ \t]*(?:#|INSERT\b))[\s\S])*",
    re.MULTILINE | re.IGNORECASE,
)
"""A rule ends before the next comment that begins a line, or the next rule."""
_OVER_TIME: Final = re.compile(r"^[ \t]*rule[ \t]+[^\W\d]", re.MULTILINE)
_WORD: Final = re.compile(r'[\w:?$@.%-]*[\w:?$@%-]|"[^"\n]*"|<[^<>\s]*>|\S', re.U)


class ProtocolPlace(NamedTuple):
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

    def place(self, offset: int) -> ProtocolPlace:
        """The position of a character in the protocol."""
        line = bisect_right(self._starts, offset) - 1
        units = sum(map(_units, self.text[self._starts[line] : offset]))
        return ProtocolPlace(line, units)

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


@frozen
class Symbol:
    """A rule: ``whole`` is its text, ``name_at`` its name in it."""

    name: str
    kind: Literal["mapping", "rule"]
    whole: Span
    name_at: Span


def symbols(text: str) -> list[Symbol]:
    """The rules of a file, also those with faults."""
    return _symbols(text, rule_starts(text))


def symbols_over_time(text: str) -> list[Symbol]:
    """The rules over time of a file that have a name."""
    return _symbols(text, [each.start() for each in _OVER_TIME.finditer(text)])


def symbols_of_rule_set(text: str) -> list[Symbol]:
    """The rules of a rule set, with the comment directly above each; its first line is the name,
    which is empty without a comment.
    """
    return [
        Symbol(
            match[1] or "",
            "rule",
            Span(match.start(), match.end()),
            Span(*(match.span(1) if match[1] else match.span(2))),
        )
        for match in _OF_RULE_SET.finditer(text)
    ]


def _symbols(text: str, begins: Iterable[int]) -> list[Symbol]:
    found: list[Symbol] = []
    starts = [*begins, len(text)]
    for start, end in pairwise(starts):
        match = _NAMED.match(text, start)
        assert match is not None
        whole = Span(start, start + len(text[start:end].rstrip()))
        kind: Literal["mapping", "rule"] = "mapping" if match[1] == "mapping" else "rule"
        found.append(Symbol(match[2], kind, whole, Span(*match.span(2))))
    return found


@dataclass(frozen=True)
class OpenDocument:
    """A rule file, a query, rules over time or a rule set in the editor; ``folder`` is that of the
    settings, ``names`` are in the deployment's ontology, ``functions`` are those that rules may
    call.
    """

    path: Path
    text: str
    folder: Path
    names: Vocabulary = field(default_factory=Vocabulary)
    functions: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def is_query(self) -> bool:
        """Whether it is a query, a rule set, or has rules over time."""
        return is_query_file(self.path) or is_rule_set(self.path)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.text)

    @cached_property
    def head(self) -> RuleFile:
        """The declarations of a rule file; if one has a fault, the lines that can be read."""
        end = min(rule_starts(self.text), default=len(self.text))
        try:
            return syntax_tree(self.text[:end], str(self.path))
        except LanguageError:
            pass
        good = ""
        for line in self.text[:end].splitlines(keepends=True):
            try:
                syntax_tree(line)
            except LanguageError:
                good += "\n"
            else:
                good += line
        return syntax_tree(good, str(self.path))

    @cached_property
    def prefixes(self) -> Mapping[str, str]:
        """The declared prefixes, without the colon."""
        if not self.is_query:
            return self.head.prefix_map
        return declared_prefixes(self.text)

    @cached_property
    def samples(self) -> list[Element]:
        """The sample messages."""
        return read_samples(sample_files(self.path, self.text, self.folder))


def declared_prefixes(query: str) -> dict[str, str]:
    """The prefixes that a query declares, as far as it can be read."""
    tokens = sparql_tokens(query)
    return {
        name.value[:-1]: iri.value[1:-1]
        for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if (word.type, name.type, iri.type) == ("_PREFIX", "NAMESPACE", "IRIREF")
    }
