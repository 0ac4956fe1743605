"""The lexer of rule files: characters to tokens.

It is written by hand because braces contain another language: XPath after most words, SPARQL after
``select``, ``ask``, ``sparql`` and ``delete``. Both may hold strings, IRIs and comments with braces
of their own, which no single regular expression can balance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lark import Token
from lark.lexer import Lexer

from sensorstream.errors import LanguageError, Position
from sensorstream.grammars import Lines

# XPath 1.0 has no braces outside its strings, and its strings have no escapes; the texts of value
# functions are written in the same way.
_HOLE = r"""\{(?:[^{}'"]|'[^']*'|"[^"]*")*\}"""

_TOKEN: Final = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in (
            ("SPACE", r"(?:\s+|\#[^\n]*)+"),
            (
                "TEXT",
                rf'"""(?:\\.|\{{\{{|\}}\}}|{_HOLE}|"{{1,2}}(?!")|[^"\\{{}}])*"""'
                rf'|"(?!"")(?:\\.|\{{\{{|\}}\}}|{_HOLE}|[^"\\{{}}\n])*"',
            ),
            ("BLANK_NAME", rf"_:(?:[\w-]|{_HOLE}|\.(?=[\w{{-]))+"),
            (
                "LOCAL_NAME",
                rf"(?:[^\W\d_][\w-]*)?:(?:[\w:-]|%[0-9A-Fa-f]{{2}}|{_HOLE}|\.(?=[\w:{{-]))+",
            ),
            ("NAMESPACE", r"(?:[^\W\d_][\w-]*)?:"),
            ("IRI", rf"<(?:[^\s<>\"{{}}|\\^`]|{_HOLE})+>"),
            ("NUMBER", r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"),
            ("NAME", r"[^\W\d][\w-]*"),
            ("VARIABLE", r"\?[^\W\d]\w*"),
            ("NODE_VARIABLE", r"\$[^\W\d][\w-]*"),
            ("LANGUAGE_HOLE", rf"@{_HOLE}"),
            ("LANGUAGE", r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"),
            ("_DATATYPE", r"\^\^"),
            ("COMPARISON", r"!=|<=|>=|<|>"),
            ("EQUALS", r"="),
            ("_SEMICOLON", r";"),
            ("_COMMA", r","),
            ("_DOT", r"\."),
            ("OPEN", r"\["),
            ("_CLOSE", r"\]"),
            ("OPEN_LIST", r"\("),
            ("_CLOSE_LIST", r"\)"),
        )
    )
)

# Lark keeps tokens with an underscore out of the tree.
_SILENT: Final = (
    *("prefix", "xmlns", "mapping", "rule", "on", "for", "each", "in", "if", "and", "then"),
    *("individual", "a", "at", "as", "key", "table", "from", "value", "valid", "or", "with"),
    *("base", "let", "graph", "becomes", "until", "of", "old", "new", "history"),
)
_KEPT: Final = (
    *("message", "change", "insert", "update", "expire", "every", "when", "not", "exists", "count"),
    *("select", "ask", "alert", "delete", "sparql", "reply", "true", "false"),
    *("skip", "reject", "known", "silence"),
)
KEYWORDS: Final = {word: f"_{word.upper()}" for word in _SILENT} | {
    word: word.upper() for word in _KEPT
}

# A word after one of these is a name, even if it is a keyword.
_NAMING_WORDS: Final = frozenset(("_MAPPING", "_RULE", "_XMLNS", "_TABLE"))
SPARQL_WORDS: Final = frozenset(("SELECT", "ASK", "SPARQL", "DELETE"))
"""A brace that follows one of these opens SPARQL."""
SPARQL_SKIP: Final = re.compile(
    r'"""(?:\\.|"{1,2}(?!")|[^"\\])*"""'
    r"|'''(?:\\.|'{1,2}(?!')|[^'\\])*'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r'|<[^<>"{}|^`\\\s]*>'
    r"|\#[^\n\r]*",
    re.S,
)
"""Strings, IRIs and comments of SPARQL: braces in them do not count."""


DEEPEST: Final = 64
"""The limit of nested values; code that handles trees calls itself for each level."""

_LEVELS: Final = frozenset(
    ("OPEN", "_CLOSE", "OPEN_LIST", "_CLOSE_LIST", "_OR", "_SEMICOLON", "_COMMA", "_DOT")
)


class LexedText(Lines):
    """The text of a rule file."""

    __slots__ = ("file",)

    def __init__(self, text: str, file: str) -> None:
        super().__init__(text, Position(file, 1, 1))
        self.file = file


def tokens(source: LexedText) -> Iterator[Token]:
    """The tokens of a rule file; holes and texts keep their braces and quotes.

    Raises:
        LanguageError: a brace or quote is not closed, a character has no meaning, or values are
            nested deeper than :data:`DEEPEST`.
    """
    text, offset, before = source.text, 0, ""
    levels = [0]
    while offset < len(text):
        kind, end = _next(source, offset, before)
        if kind != "SPACE":
            written = text[offset:end]
            if kind == "NAME" and before not in _NAMING_WORDS:
                kind = KEYWORDS.get(written, "NAME")
            if kind in _LEVELS and _level(levels, kind) > DEEPEST:
                raise _unclosed(
                    source,
                    offset,
                    f"values are nested deeper than {DEEPEST}: expected fewer brackets and 'or's",
                )
            yield Token(kind, written, offset, end_pos=end)
            before = kind
        offset = end


def _level(levels: list[int], kind: str) -> int:
    """The depth of nesting behind a token; ``levels`` has one number for each open bracket. An
    ``or`` nests, too: the value after it is the alternative of all before.
    """
    if kind in ("OPEN", "OPEN_LIST"):
        levels.append(levels[-1] + 1)
    elif kind in ("_CLOSE", "_CLOSE_LIST"):
        if len(levels) > 1:
            levels.pop()
    elif kind == "_OR":
        levels[-1] += 1
    else:
        levels[-1] = levels[-2] + 1 if len(levels) > 1 else 0
    return levels[-1]


def _next(source: LexedText, offset: int, before: str) -> tuple[str, int]:
    text = source.text
    if text[offset] == "{":
        if before in SPARQL_WORDS:
            return "SPARQL_TEXT", _end_of_sparql(source, offset)
        if match := _HOLE_PATTERN.match(text, offset):
            return "HOLE", match.end()
        raise _unclosed(source, offset, "'{' is never closed: expected '}' after the XPath")
    if match := _TOKEN.match(text, offset):
        return match.lastgroup or "", match.end()
    raise _no_token(source, offset)


_HOLE_PATTERN: Final = re.compile(_HOLE)


def _end_of_sparql(source: LexedText, start: int) -> int:
    """The offset behind the brace that closes the one at ``start``."""
    text, offset, depth = source.text, start, 0
    while offset < len(text):
        if skipped := SPARQL_SKIP.match(text, offset):
            offset = skipped.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[offset], 0)
        offset += 1
        if depth == 0:
            return offset
    raise _unclosed(source, start, "'{' is never closed: expected '}' after the SPARQL text")


def _no_token(source: LexedText, offset: int) -> LanguageError:
    character = source.text[offset]
    if character == '"':
        return _unclosed(
            source,
            offset,
            "the text is never closed or holds a lone brace: expected '\"' on the same line, "
            "{hole}, {{ or }}",
        )
    hint = ": write names with double quotes" if character == "'" else ""
    return _unclosed(source, offset, f"unexpected character '{character}'{hint}")


def _unclosed(source: LexedText, offset: int, message: str) -> LanguageError:
    return LanguageError(message, position=source.position(offset))


class RuleLexer(Lexer):
    """The adapter from Lark's lexer interface to :func:`tokens`."""

    def __init__(self, lexer_conf: object) -> None:
        """Accept Lark's configuration, which is not used."""

    # Lark's older interface for custom lexers: it passes the argument of parse().
    def lex(self, data: LexedText) -> Iterator[Token]:  # type: ignore[override]
        return tokens(data)
