"""The rules of a file, as an outline."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from sensorstream.editor.text import Span
from sensorstream.language.parser import rule_starts

_NAMED: Final = re.compile(r"[ \t]*(mapping|rule)[ \t]+([^\W\d][\w-]*)")


_OF_RULE_SET: Final = re.compile(
    r"(?:^[ \t]*#+[ \t]*([^\s#][^\n]*?)[ \t]*\n(?:[ \t]*#[^\n]*\n)*)?"
    r"^[ \t]*(INSERT)\b(?:(?!\n[ \t]*(?:#|INSERT\b))[\s\S])*",
    re.MULTILINE | re.IGNORECASE,
)
"""A rule ends before the next comment that begins a line, or the next rule."""
_OVER_TIME: Final = re.compile(r"^[ \t]*rule[ \t]+[^\W\d]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
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
    """The rules of a rule set with the comment directly above each, whose first line is its name.

    The name of one without a comment is empty.
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
