"""What stands before a place in rules over time, however unfinished the text is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lark import Token

WORDS: Final = (
    "rule", "mode", "instant", "window", "define", "from", "and", "each", "first", "last", "not",
    "within", "between", "where", "with", "consuming", "alert", "info", "warning", "critical",
    "key", "as", "distinct",
    "count", "sum", "avg", "min", "max", "ms", "s", "h", "d", "PREFIX", "BASE", "SELECT",
)  # fmt: skip
"""The words of the language, and units of time."""


def selector_start(tokens: Sequence[Token]) -> int | None:
    """Where the query of the selector begins in which the last token stands; None: in none."""
    depth, after = 0, ""
    for index in range(len(tokens) - 1, -1, -1):
        value = tokens[index].value
        if value in (")", "}"):
            depth += 1
        elif value in ("(", "{") and depth:
            depth -= 1
        elif value == "(" and after.lower() == "select":
            return index + 1
        after = value
    return None


def labels_of(tokens: Sequence[Token]) -> list[str]:
    """The labels of selectors, from the ``from`` of the rule in which the last token stands."""
    found: dict[str, None] = {}
    for name, bracket, word in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.value.lower() == "define":
            found.clear()
        elif bracket.value == "(" and word.value.lower() == "select":
            found[str(name.value)] = None
    return list(found)
