"""The standard layout of a rule file's text: line breaks, indentation and spaces.

It works on tokens, so comments and the notation of names and texts stay. A line break before
``on``, ``then``, actions and properties is always made; within them the author's line breaks stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lark import Token

from sensorstream.language.rule_lexer import SPARQL_SKIP, LexedText, tokens
from sensorstream.language.rule_parser import syntax_tree
from sensorstream.language.value_holes import split
from sensorstream.model.frozen import frozen

_STEP: Final = 2
"""Columns of a level of indentation."""

_RULES: Final = frozenset(("_MAPPING", "_RULE"))
_LINES: Final = _RULES.union(
    ("_PREFIX", "_XMLNS", "_TABLE", "_BASE", "_ON", "_LET"), ("EVERY", "WHEN", "_UNTIL", "_THEN")
)
"""Tokens that always begin a line at the margin."""

_ACTIONS: Final = frozenset(("INSERT", "UPDATE", "DELETE", "ALERT", "SPARQL", "REPLY"))
_OPENING: Final = frozenset(("OPEN", "OPEN_LIST"))
_CLOSING: Final = frozenset(("_CLOSE", "_CLOSE_LIST"))
_CLOSE_TO_THE_LEFT: Final = frozenset(("_COMMA", "_DATATYPE", "LANGUAGE", "LANGUAGE_HOLE"))
_NEVER_FIRST: Final = _CLOSE_TO_THE_LEFT | {"_DOT", "SPARQL_TEXT"}


def format_rules(text: str, file: str = "") -> str:
    """The text in the standard layout; it has the same meaning, and the same comments.

    SPARQL is only indented, XPath is not touched. Lines end as the first line of ``text`` does.

    Raises:
        LanguageError: the text is not in the rule language.
    """
    syntax_tree(text, file)
    laid_out = _Layout("\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n")
    before = 0
    found = list(tokens(LexedText(text, file)))
    for index, token in enumerate(found):
        start = token.start_pos or 0
        following = found[index + 1].type if index + 1 < len(found) else "$END"
        laid_out.add(token, following, _Gap.read(text[before:start]))
        before = start + len(token.value)
    return laid_out.end(_Gap.read(text[before:]))


@frozen
class _Comment:
    """A comment with a line of its own; an empty ``text`` is an empty line."""

    text: str
    is_indented: bool


@frozen
class _Gap:
    """The text between two tokens: a comment behind the first, then lines of their own."""

    trailing: str
    lines: tuple[_Comment, ...]
    is_broken: bool

    @classmethod
    def read(cls, text: str) -> _Gap:
        first, *rest = text.split("\n")
        own = [_Comment(line.strip(), line[:1].isspace()) for line in rest[:-1]]
        if rest and rest[-1].strip():  # a comment at the end of the file, without a line break
            own.append(_Comment(rest[-1].strip(), rest[-1][:1].isspace()))
        kept = [
            line
            for line, before in zip(own, [None, *own], strict=False)
            if line.text or before is None or before.text
        ]
        return cls(first.strip(), tuple(kept), bool(rest))

    @property
    def has_comments(self) -> bool:
        return bool(self.trailing) or any(line.text for line in self.lines)


class _Layout:
    """A writer of lines, which takes the tokens of a file one by one."""

    def __init__(self, line_break: str) -> None:
        self._break = line_break
        self._lines: list[str] = []
        self._line = ""
        self._indent = 0
        self._kind = ""
        self._in_actions = False
        self._in_property = False
        self._depth = 0

    def add(self, token: Token, following: str, gap: _Gap) -> None:
        kind = token.type
        margin = self._margin(kind, following, gap)
        if not self._kind:  # the first token: what stands before it is the head of the file
            self._own_lines(_comments(gap), 0)
        elif margin is None and not gap.has_comments:
            close = kind in _CLOSE_TO_THE_LEFT or self._kind == "_DATATYPE"
            self._line += "" if close else " "
        else:
            self._new_line(gap, self._continued(kind) if margin is None else margin, kind)
        self._depth += (kind in _OPENING) - (kind in _CLOSING)
        self._line += self._written(token)
        self._remember(kind)

    def end(self, gap: _Gap) -> str:
        if self._kind:
            self._new_line(gap, 0, "$END")
        else:
            self._own_lines(_comments(gap), 0)
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        return "".join(line + self._break for line in self._lines)

    # Where a token stands

    def _margin(self, kind: str, following: str, gap: _Gap) -> int | None:
        """The indentation of a token that begins a line; None for one that goes on with it."""
        if kind in _LINES or (kind == "MESSAGE" and self._kind != "_ON"):
            return 0
        if kind == "_FROM" and following == "_HISTORY":
            return 0
        if (kind == "_IF" and following != "_VALID") or (kind == "_FOR" and following == "_EACH"):
            return 0
        if kind == "_AND" and gap.is_broken:
            return 0
        if self._in_actions and kind in _ACTIONS:
            return _STEP
        if kind == "_SEMICOLON" and self._depth == 0:
            return 2 * _STEP
        if gap.is_broken and kind not in _NEVER_FIRST and self._kind != "_DATATYPE":
            return self._continued(kind)
        return None

    def _continued(self, kind: str) -> int:
        """The indentation of a token that goes on with an earlier line."""
        if not self._in_actions:
            return _STEP
        if not self._in_property:
            return 2 * _STEP
        is_outer = kind in _CLOSING or kind == "_SEMICOLON"
        return 2 * _STEP * (1 + self._depth + (not is_outer))

    def _remember(self, kind: str) -> None:
        if kind in _RULES:
            self._in_actions = False
        elif kind == "_THEN":
            self._in_actions = True
        if self._depth == 0 and (kind in _ACTIONS or kind in _RULES or kind == "_DOT"):
            self._in_property = False
        elif kind == "_SEMICOLON":
            self._in_property = True
        self._kind = kind

    # Lines

    def _new_line(self, gap: _Gap, indent: int, kind: str) -> None:
        if gap.trailing:
            self._line += f"  {gap.trailing}"
        self._lines.append(self._line)
        lines = list(gap.lines)
        if indent == 0 and self._in_actions:
            # An indented comment below the last action belongs to it.
            while lines and lines[0].text and lines[0].is_indented:
                self._lines.append(" " * _STEP + lines.pop(0).text)
        if kind in _RULES and not any(not line.text for line in lines[:1]):
            lines.insert(0, _Comment("", False))
        self._own_lines(lines, indent)
        self._line, self._indent = " " * indent, indent

    def _own_lines(self, lines: Sequence[_Comment], indent: int) -> None:
        for line in lines:
            self._lines.append(" " * indent + line.text if line.text else "")

    # Tokens that are not kept as they are

    def _written(self, token: Token) -> str:
        if token.type in ("HOLE", "LANGUAGE_HOLE"):
            start, brace, inside = token.value[:-1].partition("{")
            return f"{start}{brace}{' |> '.join(part.text.strip() for part in split(inside))}}}"
        if token.type == "SPARQL_TEXT":
            return self._break.join(_indented(token.value, self._indent))
        return str(token.value)


def _comments(gap: _Gap) -> list[_Comment]:
    """The lines before the first token; its comments may begin in the first line."""
    lines = [_Comment(gap.trailing, False)] if gap.trailing else []
    lines += gap.lines
    while lines and not lines[0].text:
        lines.pop(0)
    return lines


def _indented(braced: str, indent: int) -> Iterator[str]:
    """The lines of SPARQL in braces, which follow a line with that indentation."""
    inside = braced[1:-1]
    body = inside.strip()
    before, _, after = inside.partition(body)
    is_below = "\n" in before
    lines = list(_sparql_lines(body))
    texts = [line.text for line in lines if line.text and not line.is_fixed]
    margins = [text[: len(text) - len(text.lstrip())] for text in texts]
    if margins and not lines[0].is_fixed:
        margins[:1] = [before.rpartition("\n")[2]] if is_below else []
    cut = _shared(margins)
    pad = " " * (indent + _STEP)
    moved = [line.text if line.is_fixed else f"{pad}{line.text[cut:]}".rstrip() for line in lines]
    if is_below:
        moved[0] = f"{pad}{margins[0][cut:]}{lines[0].text}"
        yield "{"
    else:
        moved[0] = f"{{ {lines[0].text}"
    # A comment in the last line ends at a line break.
    ends_below = "\n" in after or "\r" in after
    yield from moved if ends_below else moved[:-1]
    yield " " * indent + "}" if ends_below else f"{moved[-1]} }}"


@frozen
class _SparqlLine:
    """A line of SPARQL; ``is_fixed`` if it begins inside a string."""

    text: str
    is_fixed: bool


def _sparql_lines(body: str) -> Iterator[_SparqlLine]:
    strings = [m.span() for m in SPARQL_SKIP.finditer(body) if m.group()[0] in "\"'"]
    start = 0
    for line in body.split("\n"):
        end = start + len(line)
        goes_on = any(a < end < b for a, b in strings)
        yield _SparqlLine(
            line if goes_on else line.rstrip(), any(a < start < b for a, b in strings)
        )
        start = end + 1


def _shared(margins: Sequence[str]) -> int:
    """The length of the space that all margins begin with."""
    columns = enumerate(zip(*margins, strict=False))
    shortest = min(map(len, margins), default=0)
    return next((n for n, column in columns if len(set(column)) > 1), shortest)
