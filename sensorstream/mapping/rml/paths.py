"""XPath expressions moved to another context node.

RML knows no variables: whatever an expression finds, it finds from the node of its iteration. A
rule's ``$person/@x`` beside ``TimeStamp/@value`` becomes ``@x`` beside ``../TimeStamp/@value``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sensorstream.errors import NotMovable

_NC: Final = r"[^\W\d][\w.-]*"
_TOKEN: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<literal>"[^"]*"|'[^']*')
    |(?P<number>\d+(?:\.\d*)?|\.\d+)
    |\$(?P<variable>{_NC}(?::{_NC})?)
    |(?P<axis>{_NC}\s*::)
    |(?P<function>{_NC}(?::{_NC})?\s*(?=\())
    |(?P<name>{_NC}(?::(?!:)(?:{_NC}|\*))?)
    |(?P<slash>//?)
    |(?P<open>[(\[])
    |(?P<close>[)\]])
    |(?P<step>\.\.|[.@])
    |(?P<operator>!=|<=|>=|[,|+\-=<>*])""",
    re.X,
)
_NODE_TESTS: Final = frozenset(("comment", "text", "processing-instruction", "node"))
_WORD_OPERATORS: Final = frozenset(("and", "or", "div", "mod"))
_OF_THE_CONTEXT: Final = frozenset(("position", "last"))
# A path that goes down step by step: its length says how to come back up.
_DOWNWARD: Final = re.compile(
    rf"""(?:\$(?P<variable>{_NC})/)?
    (?P<steps>(?:(?:{_NC}:)?(?:{_NC}|\*)(?:\[(?:[^\[\]"']|"[^"]*"|'[^']*')*\])*
    (?:/(?!$))?)+)\Z""",
    re.X,
)
_PREDICATE: Final = re.compile(r"""\[(?:[^\[\]"']|"[^"]*"|'[^']*')*\]""")


def absolute(path: str) -> str:
    """A path as it is meant at the document node: RML's iterators may leave out the first slash."""
    return moved(path, "/", {}) if path != "/" else "/*"


def from_document(expression: str) -> str:
    """An expression as it is meant at the document node, where lxml starts at the root element."""
    return moved(expression, "/", {})


def steps_down(path: str) -> tuple[str | None, int]:
    """The variable that a path starts at, and how many elements deep it leads.

    Raises:
        NotMovable: it is no path of plain steps from parent to child.
    """
    match = _DOWNWARD.match(path)
    if match is None:
        raise NotMovable(f"'{path}' is no path of plain child steps")
    return match["variable"], len(_PREDICATE.sub("", match["steps"]).strip("/").split("/"))


def moved(expression: str, prefix: str, variables: Mapping[str, str]) -> str:
    """An expression with ``prefix`` before each relative path and paths in place of variables.

    Raises:
        NotMovable: a variable stands in a predicate, or the expression asks for the position of
            its context node.
    """
    out: list[str] = []
    brackets: list[str] = []
    before = ""  # the kind of the last token but space
    for match in _tokens(expression):
        kind, text = match.lastgroup or "", match.group()
        if kind == "space":
            out.append(text)
            continue
        operand = before in ("", "operator", "open")
        in_predicate = "[" in brackets
        if kind == "variable":
            if in_predicate:
                raise NotMovable(f"${match['variable']} stands in a predicate of '{expression}'")
            out.append(variables[match["variable"]])
        elif kind == "slash" and before == "variable" and out[-1] == "." and text == "/":
            out.pop()  # what is found from the context node itself needs no dot
        elif kind == "function" and text.strip() in _OF_THE_CONTEXT and not in_predicate:
            raise NotMovable(f"{text.strip()}() of '{expression}' asks where its context stands")
        elif operand and not in_predicate and _starts_path(kind, text):
            out.append(f"{prefix}{text}")
        else:
            out.append(text)
        if kind == "open":
            brackets.append(text)
        elif kind == "close" and brackets:
            brackets.pop()
        # `*`, `and` and the like are operators only after an operand.
        is_operator = (kind == "operator" and (text != "*" or not operand)) or (
            kind in ("name", "function") and text.strip() in _WORD_OPERATORS and not operand
        )
        before = "operator" if is_operator else kind
    return "".join(out)


def _starts_path(kind: str, text: str) -> bool:
    """Whether a relative path begins with this token, where an operand is expected."""
    if kind == "function":
        return text.strip() in _NODE_TESTS
    return kind in ("name", "axis", "step") or text == "*"


def _tokens(expression: str) -> list[re.Match[str]]:
    found, offset = [], 0
    while offset < len(expression):
        match = _TOKEN.match(expression, offset)
        if match is None:
            raise NotMovable(f"'{expression}' is not XPath 1.0 at '{expression[offset:]}'")
        found.append(match)
        offset = match.end()
    return found
