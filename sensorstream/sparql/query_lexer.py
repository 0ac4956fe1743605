"""Characters to tokens (SPARQL 1.1 Query, sections 19.2 and 19.8).

In plain SPARQL the only bare words are keywords, ``a``, ``true`` and ``false``: all other names
have a mark (``?x``, ``ex:x``, ``@en``, ``_:x``). So a keyword of the extensions never collides with
a name in a SPARQL text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Final, NamedTuple

from lark import Token
from lark.lexer import Lexer

from sensorstream.errors import Position, QueryError
from sensorstream.grammars import Lines
from sensorstream.sparql.algebra import BETWEEN
from sensorstream.sparql.functions import FUNCTIONS

_BASE: Final = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_START: Final = f"{_BASE}_"
_CHARS: Final = f"{_START}0-9\u00b7\u0300-\u036f\u203f\u2040\\-"
_ESCAPED: Final = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PREFIX: Final = rf"(?:[{_BASE}](?:[{_CHARS}]|\.+(?=[{_CHARS}]))*)?:"
_LOCAL: Final = rf"(?:[{_START}:0-9]|{_ESCAPED})(?:[{_CHARS}:]|{_ESCAPED}|\.+(?=[{_CHARS}:%\\]))*"
_NUMBER: Final = {
    "DOUBLE": r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+",
    "DECIMAL": r"[0-9]*\.[0-9]+",
    "INTEGER": r"[0-9]+",
}
_UNITS: Final = "ns|ms|s|m|h|d"
_AT_WORD_END: Final = rf"(?![{_CHARS}.]*:)(?!\w)"

_TOKENS: Final = {
    "SPACE": r"(?:[ \t\r\n]+|\#[^\r\n]*)+",
    "IRIREF": r'<[^<>"{}|^`\\\x00-\x20]*>',
    "VARIABLE": rf"[?$][{_START}0-9][{_START}0-9\u00b7\u0300-\u036f\u203f\u2040]*",
    "LONG_TEXT": (
        r"\"\"\"(?:\"{0,2}(?:[^\"\\]|\\[tbnrf\\\"']))*\"\"\""
        r"|'''(?:'{0,2}(?:[^'\\]|\\[tbnrf\\\"']))*'''"
    ),
    "TEXT": r"\"(?:[^\"\\\n\r]|\\[tbnrf\\\"'])*\"|'(?:[^'\\\n\r]|\\[tbnrf\\\"'])*'",
    "BLANK": rf"_:[{_START}0-9](?:[{_CHARS}]|\.+(?=[{_CHARS}]))*",
    "PREFIXED": f"{_PREFIX}{_LOCAL}",
    "NAMESPACE": _PREFIX,
    "LANGUAGE": r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*",
    "DURATION": (
        rf"(?:P(?=[0-9]|T[0-9])(?:[0-9]+[YMD])*(?:T(?:[0-9]+(?:\.[0-9]+)?[HMS])+)?"
        rf"|[0-9]+(?:\.[0-9]+)?(?:{_UNITS})){_AT_WORD_END}"
    ),
    "SIGNED": "[+-](?>" + "|".join(_NUMBER.values()) + rf")(?!(?:{_UNITS}){_AT_WORD_END})",
    **_NUMBER,
    "WORD": r"[A-Za-z][A-Za-z0-9_]*",
    "MARK": r"\^\^|&&|\|\||[!<>]=|[<>=!+\-*/^|?(){}\[\].,;]",
}
_PATTERN: Final = cache(
    partial(re.compile, "|".join(f"(?P<{name}>{form})" for name, form in _TOKENS.items()))
)
"""Compiled at its first use: in sets of so many characters that takes 50 ms."""

# Lark leaves tokens with an underscore out of the tree.
MARKS: Final = {
    "^^": "_DATATYPE",
    "&&": "_AND",
    "||": "_OR",
    "!=": "UNEQUAL",
    "<=": "AT_MOST",
    ">=": "AT_LEAST",
    "<": "LESS",
    ">": "MORE",
    "=": "EQUAL",
    "!": "_BANG",
    "+": "PLUS",
    "-": "MINUS_SIGN",
    "*": "STAR",
    "/": "SLASH",
    "^": "CARET",
    "|": "_BAR",
    "?": "QUESTION",
    "(": "_PAREN",
    ")": "_END_PAREN",
    "{": "_BRACE",
    "}": "_END_BRACE",
    "[": "_BRACKET",
    "]": "_END_BRACKET",
    ".": "_DOT",
    ",": "_COMMA",
    ";": "_SEMICOLON",
}
_OPENING: Final = frozenset("({[")
_CLOSING: Final = frozenset(")}]")
_SILENT: Final = (
    # SPARQL
    *("BASE", "PREFIX", "SELECT", "AS", "CONSTRUCT", "WHERE", "DESCRIBE", "ASK", "FROM", "GROUP"),
    *("BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "LOAD", "INTO", "CREATE", "TO"),
    *("INSERT", "DATA", "DELETE", "WITH", "USING", "GRAPH", "OPTIONAL", "SERVICE", "BIND"),
    *("MINUS", "FILTER", "EXISTS", "IN", "GROUP_CONCAT", "SEPARATOR"),
    # Streams
    *("REGISTER", "ON", "WINDOW", "STEP", "OF", "STARTING", "AT", "START", "END", "STREAM"),
    *("INTERMEDIATERESULT", "DURATION", "REPORT", "CHANGE", "INSTANT", "CLOSE", "EVERY"),
    *("TYPE", "INSTANCE", "TUMBLING", "ALERT", "KEY"),
    # C-SPARQL, CQELS and RSP-QL
    *("COMPUTED", "SLIDE", "UNDER", "ENTAILMENT", "REGIME"),
    # History
    "DURING",
    # Rule sets
    "EACH",
)
_KEPT: Final = (
    # SPARQL
    *("DISTINCT", "REDUCED", "NAMED", "UNDEF", "SILENT", "CLEAR", "DROP", "ADD", "MOVE", "COPY"),
    *("DEFAULT", "ALL", "NOT", "COUNT", "TRUE", "FALSE", "ASC", "DESC"),
    # Streams
    *("RSTREAM", "ISTREAM", "DSTREAM", "QUERY", "RANGE", "TRIPLES", "INDIVIDUALS", "LANDMARK"),
    *("SLIDINGTRIPLES", "SLIDINGINSTANCES", "SLIDINGDURATION"),
    *BETWEEN,
    *("UNRESTRICTED", "RECENT", "CHRONOLOGICAL"),
)
KEYWORDS: Final = {word: f"_{word}" for word in _SILENT} | {word: word for word in _KEPT}
AGGREGATES: Final = frozenset(("SUM", "MIN", "MAX", "AVG", "SAMPLE"))
# The word after one of these in a registration is a name, even if it is a keyword.
_NAMING: Final = frozenset(("QUERY", "RSTREAM", "ISTREAM", "DSTREAM", "_STREAM"))

DEEPEST: Final = 200
"""Nested parts: brackets, and each UNION, || or && of a row.

Functions on queries recurse. The bound keeps them well inside Python's limit, and Oxigraph far from
its own, which ends the process at some 2200 braces or 4700 brackets.
"""

_NUMERIC: Final = frozenset(("SIGNED", "DURATION", *_NUMBER))
_LONGEST_NUMBER: Final = 1_000

_CODEPOINT: Final = re.compile(r"\\\\|\\u(?P<short>[0-9A-Fa-f]{4})|\\U(?P<long>[0-9A-Fa-f]{8})")


class QueryText(Lines):
    """A query's text, its codepoint escapes resolved, and the way back to lines and columns."""

    __slots__ = ("_shifts",)

    def __init__(self, text: str, start: Position) -> None:
        """Take a text whose first character is at ``start``.

        Raises QueryError for an escape such as ``\\uD800`` that is not a character.
        """
        super().__init__(text, start)
        self._shifts: list[tuple[int, int]] = []
        if "\\u" in text or "\\U" in text:
            self.text = self._unescaped(text)

    def _unescaped(self, text: str) -> str:
        pieces: list[str] = []
        length = done = 0
        for match in _CODEPOINT.finditer(text):
            code = match["short"] or match["long"]
            if code is None:
                continue
            number = int(code, 16)
            if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                raise QueryError(
                    f"'{match.group()}' is not a character", position=self.position(match.start())
                )
            pieces += (text[done : match.start()], chr(number))
            length += match.start() - done + 1
            done = match.end()
            self._shifts.append((length, done - length))
        return "".join((*pieces, text[done:]))

    def position(self, offset: int) -> Position:
        """The place in the file as it was written; ``offset`` counts from 0 in ``self.text``."""
        for start, shift in reversed(self._shifts):
            if offset >= start:
                offset += shift
                break
        return super().position(offset)


class Lexeme(NamedTuple):
    """A token with the place of its first character in ``Source.text``; far quicker than Lark's."""

    type: str
    value: str
    start: int


def tokens(source: QueryText) -> Iterator[Lexeme]:
    """The tokens of a query; a token's text is as written.

    Raises:
        QueryError: a character that starts no token, a string or IRI without its end, or more
            than :data:`DEEPEST` open brackets.
    """
    text, offset, depth, pattern = source.text, 0, 0, _PATTERN()
    earlier = before = ""
    while offset < len(text):
        if text[offset] == " ":
            offset += 1
            continue
        match = pattern.match(text, offset)
        if match is None:
            raise QueryError(_unreadable(text, offset), position=source.position(offset))
        kind = match.lastgroup or ""
        if kind != "SPACE":
            written = match.group()
            if kind == "MARK":
                kind = MARKS[written]
                depth += (written in _OPENING) - (written in _CLOSING)
                if depth > DEEPEST:
                    raise too_deep(source.position(offset))
            elif kind == "WORD":
                kind = _kind_of_word(written)
                if earlier == "_REGISTER" and before in _NAMING:
                    kind = "NAME"
                elif written.upper() == "NOW" and (
                    before in ("_BRACKET", "_TO") or (earlier, before) == ("_BRACKET", "_FROM")
                ):
                    kind = "NOW"
            elif len(written) > _LONGEST_NUMBER and kind in _NUMERIC:
                told = f"a number may have {_LONGEST_NUMBER} characters, not {len(written)}"
                raise QueryError(told, position=source.position(offset))
            yield Lexeme(kind, written, offset)
            earlier, before = before, kind
        offset = match.end()


def check_tokens(source: QueryText, most: int) -> None:
    """Refuse a text of too many tokens before it is parsed, which takes ten times as long.

    Raises QueryError with the place of the first token above ``most``.
    """
    text = source.text
    found = offset = 0
    # A token has at least one character. The parser reports what is no token.
    while len(text) > most and (match := _PATTERN().match(text, offset)) is not None:
        found += match.lastgroup != "SPACE"
        if found > most:
            raise QueryError(
                f"the text is too long: expected at most {most:,} words, terms and marks",
                position=source.position(offset),
            )
        offset = match.end()


def too_deep(position: Position) -> QueryError:
    """The error of a text with more than :data:`DEEPEST` nested parts."""
    return QueryError(
        f"the text is nested too deeply: expected at most {DEEPEST} nested parts "
        "(each bracket, and each UNION, || or && of a row counts; VALUES and IN do not)",
        position=position,
    )


def _kind_of_word(word: str) -> str:
    if word == "a":
        return "_A"
    upper = word.upper()
    if upper in KEYWORDS:
        return KEYWORDS[upper]
    if upper in FUNCTIONS:
        return "FUNCTION"
    return "AGGREGATE" if upper in AGGREGATES else "NAME"


def _unreadable(text: str, offset: int) -> str:
    character = text[offset]
    if character in "\"'":
        return f"a string that starts here has no end, or a wrong escape: expected {character}"
    if character == "_":
        return "unexpected '_': expected a blank node such as _:b"
    if character == "@":
        return "unexpected '@': expected a language such as @en"
    return f"{character!r} cannot start a token here"


class SparqlLexer(Lexer):
    """The adapter that gives :func:`tokens` to Lark."""

    def __init__(self, lexer_conf: object) -> None:
        """Ignore Lark's configuration."""

    # Lark's older interface for custom lexers: it hands over the argument of parse().
    def lex(self, data: QueryText) -> Iterator[Token]:  # type: ignore[override]
        return (Token(*each) for each in tokens(data))
