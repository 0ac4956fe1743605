"""A rule set without some of its rules, as a text: comments, prefixes and facts stay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from itertools import accumulate

from sensorstream.dotr.reader import is_rules
from sensorstream.errors import Position, ProgramError
from sensorstream.reasoning.rulesets.blocks import CLOSING, OPENING, blocks_of
from sensorstream.sparql.lexer import Source, tokens


def excerpt(text: str, origin: str, left_out: Collection[Position]) -> str:
    """A rule set without the rules that stand at some places; others may follow it.

    ``text`` is one that :func:`.reader.read` can read, ``origin`` as there.

    Raises:
        ProgramError: it is Datalog.
    """
    if is_rules(text):
        raise ProgramError(
            f"{origin} is Datalog: expected a rule set in SPARQL, INSERT {{ … }} WHERE {{ … }}"
        )
    source = Source(text, Position(origin, 1, 1))
    lines = text.split("\n")
    begins = [0, *accumulate(len(line) + 1 for line in lines)]

    def offset(place: Position) -> int:
        return begins[place.line - 1] + place.column - 1

    ends = [offset(place) + 1 for place in _semicolons(source)]
    parts: list[str] = []
    done = 0
    for block in blocks_of(source, text):
        if block.position in left_out:
            start = offset(block.position)
            at = bisect_left(ends, start)
            parts.append(text[done : _with_comment(start, block.position, lines, begins)])
            done = ends[at] if at < len(ends) else len(text)
            # The line that it ended, and an empty one.
            done += len(text[done:]) - len(text[done:].removeprefix("\n").removeprefix("\n"))
    found = "".join((*parts, text[done:])).strip()
    return f"{found}\n" if _is_closed(found, origin) else f"{found}\n;\n"


def _semicolons(source: Source) -> Iterator[Position]:
    """The places of the semicolons between rules."""
    depth = 0
    for token in tokens(source):
        if token.type == "_SEMICOLON" and depth == 0:
            yield source.position(token.start)
        depth += (token.type in OPENING) - (token.type in CLOSING)


def _with_comment(start: int, place: Position, lines: list[str], begins: list[int]) -> int:
    """Where a rule begins with the comment directly above it."""
    at = place.line - 1
    if lines[at][: place.column - 1].strip():
        return start
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return begins[at]


def _is_closed(text: str, origin: str) -> bool:
    """Whether another text may follow, which begins a new rule."""
    types = [token.type for token in tokens(Source(text, Position(origin, 1, 1)))]
    return not types or types[-1] == "_SEMICOLON"
