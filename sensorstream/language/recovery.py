"""Reads the good rules of a file with faults, so that all faults are found at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.language.parser import syntax_tree
from sensorstream.language.wellformed import faults, place

_RULE: Final = re.compile(r"^[ \t]*(?:mapping|rule)[ \t]+[^\W\d]", re.M)


def rule_starts(text: str) -> list[int]:
    """The offsets of the lines on which rules seem to begin, whatever stands between them."""
    return [match.start() for match in _RULE.finditer(text)]


def parse_with_recovery(
    text: str, file: str = ""
) -> tuple[syntax.RuleFile | None, tuple[LanguageError, ...]]:
    """The tree of the rules without faults, and the faults of the others.

    A syntax error ends where the next rule begins. The tree is None if the fault is in the head of
    the file, on which all rules depend.
    """
    found: list[LanguageError] = []
    try:
        tree: syntax.RuleFile | None = syntax_tree(text, file)
    except LanguageError as error:
        tree, found = _pieces(text, file, error)
    if tree is None:
        return None, tuple(found)
    unsound = sorted(faults(tree), key=place)
    faulty = {_index(tree.rules, fault) for fault in unsound}
    found = sorted((*found, *unsound), key=place)
    if -1 in faulty:
        return None, tuple(found)
    kept = tuple(rule for index, rule in enumerate(tree.rules) if index not in faulty)
    return replace(tree, rules=kept), tuple(found)


def _pieces(
    text: str, file: str, first: LanguageError
) -> tuple[syntax.RuleFile | None, list[LanguageError]]:
    """The head and the rules, each read by itself; ``first`` is the fault of the whole."""
    head: syntax.RuleFile | None = None
    rules: list[syntax.Rule] = []
    found: list[LanguageError] = []
    for index, piece in enumerate(_split(text)):
        try:
            tree = syntax_tree(piece, file)
        except LanguageError as error:
            # For the first one the error of the whole file says more about what follows.
            error.message = error.message.replace("the file ends here", "the rule ends here")
            found.append(error if found else first)
            continue
        head = tree if index == 0 else head
        rules += tree.rules
    if not found:  # each rule is right by itself, but not where it stands
        return None, [first]
    return (None if head is None else replace(head, rules=tuple(rules))), found


def _split(text: str) -> Iterator[str]:
    """The head, then the rules, each with empty lines before it: lines keep their numbers."""
    starts = [0, *(start for start in rule_starts(text) if start)]
    if rule_starts(text)[:1] == [0]:
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield "\n" * text.count("\n", 0, start) + text[start:end]


def _index(rules: tuple[syntax.Rule, ...], fault: LanguageError) -> int:
    """The rule that a fault is in; -1 is the head of the file."""
    starts = [(rule.position.line, rule.position.column) for rule in rules]
    _, line, column = place(fault)
    return bisect_right(starts, (line, column)) - 1
