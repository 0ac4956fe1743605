"""The places of a text's rules, the comments above them, and the text without some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate
from typing import Final

from sensorstream.errors import Position, ProgramError
from sensorstream.model.frozen import field, frozen
from sensorstream.sparql.dotr.dotr_reader import is_rules
from sensorstream.sparql.iris import resolve
from sensorstream.sparql.query_lexer import Lexeme, QueryText, tokens

_PROLOGUE: Final = {"_PREFIX": 3, "_BASE": 2}
"""Tokens of a declaration."""
_OPENING: Final = frozenset(("_BRACE", "_PAREN", "_BRACKET"))
_CLOSING: Final = frozenset(("_END_BRACE", "_END_PAREN", "_END_BRACKET"))


@frozen
class RuleBlock:
    """A rule of a text, and the lines of comment above it.

    ``start`` is its beginning in the source, ``end`` the semicolon after it (None: there is none),
    ``groups`` the beginnings and ends of its outermost braces; ``prefixes`` are the IRIs of those
    declared before it, ``base`` is that of its relative IRIs.
    """

    position: Position
    comment: tuple[str, ...]
    start: int = 0
    end: Position | None = None
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


def blocks_of(source: QueryText, text: str) -> Iterator[RuleBlock]:
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

    def block(token: Lexeme, end: Position | None) -> RuleBlock:
        position = source.position(token.start)
        comment = comment_above(lines, position)
        found = dict(prefixes)
        return RuleBlock(position, comment, token.start, end, tuple(groups), found, base)

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
                yield block(first, source.position(token.start))
            first = None
            groups = []
        elif first is None:
            first = token
        if token.type == "_BRACE" and depth == 0:
            opened = token.start
        depth += (token.type in _OPENING) - (token.type in _CLOSING)
        if token.type == "_END_BRACE" and depth == 0:
            groups.append((opened, token.start + 1))
    if first is not None:
        yield block(first, None)


def comment_above(lines: list[str], position: Position) -> tuple[str, ...]:
    """The lines of comment directly above a place that is the first of its line."""
    told = lines[_with_comment(lines, position) : position.line - 1]
    return tuple(line for each in told if (line := each.strip().lstrip("#").strip()))


def _with_comment(lines: list[str], position: Position) -> int:
    """The number of the line at which a rule begins with its comment, from 0."""
    at = position.line - 1
    if not lines[at][: position.column - 1].strip():
        while at and lines[at - 1].lstrip().startswith("#"):
            at -= 1
    return at


def excerpt(text: str, origin: str, left_out: Collection[Position]) -> str:
    """A rule set without the rules at some places; others may follow it. ``text`` is one that
    :func:`.reader.read` can read, ``origin`` as there.

    Raises:
        ProgramError: it is Datalog.
    """
    if is_rules(text):
        raise ProgramError(
            f"{origin} is Datalog: expected a rule set in SPARQL, INSERT {{ … }} WHERE {{ … }}"
        )
    source = QueryText(text, Position(origin, 1, 1))
    lines = text.split("\n")
    begins = [0, *accumulate(len(line) + 1 for line in lines)]

    def offset(place: Position) -> int:
        return begins[place.line - 1] + place.column - 1

    parts: list[str] = []
    done = 0
    for block in blocks_of(source, text):
        if block.position in left_out:
            at = block.position
            alone = not lines[at.line - 1][: at.column - 1].strip()
            parts.append(text[done : begins[_with_comment(lines, at)] if alone else offset(at)])
            done = len(text) if block.end is None else offset(block.end) + 1
            # Remove the end of its line, and one empty line.
            done += len(text[done:]) - len(text[done:].removeprefix("\n").removeprefix("\n"))
    found = "".join((*parts, text[done:])).strip()
    return f"{found}\n" if _is_closed(found, origin) else f"{found}\n;\n"


def _is_closed(text: str, origin: str) -> bool:
    """Whether another text may follow, which begins a new rule."""
    types = [token.type for token in tokens(QueryText(text, Position(origin, 1, 1)))]
    return not types or types[-1] == "_SEMICOLON"
