"""XPath expressions of a message that is a part of a document: what begins with ``/`` begins there.

XPath's own absolute paths begin at the document. Those of a rule begin at its message, so in a
document of several messages they are written anew, from a variable: ``/a/b`` as
``$message.root[self::a]/b``. Relative paths stay; going up they reach the envelope.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from sensorstream.errors import NotMovable
from sensorstream.mapping.xpath import NODE_TYPES, TOKEN

ROOT: Final = "message.root"
"""The variable of the message's root element; the variables of rules have no full stop."""

_VARIABLE: Final = f"${ROOT}"
_WORD_OPERATORS: Final = frozenset(("and", "or", "div", "mod"))
_CLOSING: Final = {"(": ")", "[": "]"}
_DOWN: Final = frozenset(("descendant", "descendant-or-self"))
_UP: Final = frozenset(
    (
        *("parent", "ancestor", "ancestor-or-self", "preceding", "preceding-sibling"),
        *("following", "following-sibling", ".."),
    )
)
_OF_ALL_AROUND: Final = frozenset(("lang", "id"))


class _Token(NamedTuple):
    """``kind`` is ``space``, ``operand``, ``axis``, ``name``, ``function`` or ``operator``."""

    kind: str
    text: str


def looks_up(expression: str) -> bool:
    """Whether a valid expression may read something outside the element it starts from."""
    for kind, text in _tokens(expression):
        if kind == "function" and text in _OF_ALL_AROUND:
            return True
        if kind in ("axis", "operator") and text in _UP:
            return True
    return False


@cache
def at_part(expression: str) -> str:
    """A valid expression with its absolute paths begun at the variable :data:`ROOT`.

    Raises:
        NotMovable: an absolute path begins with a step that only a document node has.
    """
    return _written(_tokens(expression))


def _tokens(expression: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in TOKEN.finditer(expression):
        kind, text = match.lastgroup or "", match.group()
        if kind == "use":
            is_axis = match["use"].strip() == "::"
            tokens.append(_Token("axis" if is_axis else "function", match["name"]))
            if not is_axis:
                tokens.append(_Token("operator", "("))
        elif match["variable"] is not None or kind in ("literal", "number"):
            tokens.append(_Token("operand", text))
        else:
            tokens.append(_Token(kind, text))
    return tokens


def _written(tokens: Sequence[_Token]) -> str:
    out: list[str] = []
    index, expected = 0, True  # whether an operand is expected here
    while index < len(tokens):
        kind, text = tokens[index]
        if kind == "operator" and expected and text in ("/", "//"):
            index = _absolute(tokens, index, out)
            expected = False
            continue
        index += 1
        if kind == "axis":
            out.append(f"{text}::")
            continue
        out.append(text)
        if kind == "operator":
            name = text == "*" and expected
            expected = text not in (")", "]", ".", "..") and not name
        elif kind in ("name", "function"):
            # `and (b)` is an operator before a bracket.
            is_operator = not expected and text in _WORD_OPERATORS
            expected = is_operator
        elif kind != "space":
            expected = False
        # Behind a slash a step follows, no operand: its name is not an operator.
        if kind == "operator" and text in ("/", "//", "@"):
            index, expected = _step(tokens, index, out), False
    return "".join(out)


def _step(tokens: Sequence[_Token], index: int, out: list[str]) -> int:
    """Write the name of a step, whatever it is called."""
    while index < len(tokens) and tokens[index].kind in ("space", "axis"):
        kind, text = tokens[index]
        out.append(f"{text}::" if kind == "axis" else text)
        index += 1
    if index < len(tokens) and (tokens[index].kind == "name" or tokens[index].text == "*"):
        out.append(tokens[index].text)
        index += 1
    return index


def _absolute(tokens: Sequence[_Token], index: int, out: list[str]) -> int:
    """Write the first step of an absolute path; the index behind it."""
    slash = tokens[index].text
    index = _after_space(tokens, index + 1)
    axis = "child"
    if index < len(tokens) and tokens[index].kind == "axis":
        axis = tokens[index].text
        index = _after_space(tokens, index + 1)
    elif index < len(tokens) and tokens[index].text == "@":
        axis = "attribute"
        index = _after_space(tokens, index + 1)
    if index == len(tokens) or tokens[index].kind not in ("name", "function", "operator"):
        out.append(_VARIABLE)
        return index
    kind, test = tokens[index]
    if kind == "operator" and test != "*":
        if test in (".", ".."):
            raise _no_document(slash + test)
        out.append(f"{_VARIABLE} ")
        return index
    index += 1
    if kind == "function":
        assert test in NODE_TYPES, "no function stands behind a slash"
        close = _close(tokens, index)
        test += "".join(each.text for each in tokens[index : close + 1])
        index = close + 1
    start, index = index, _after_predicates(tokens, index)
    out.append(_first(slash, axis, test, _written(tokens[start:index])))
    return index


def _first(slash: str, axis: str, test: str, predicates: str) -> str:
    """The first step of an absolute path, from the root element instead of the document node."""
    if axis == "self" or (axis == "descendant-or-self" and test.startswith("node")):
        raise _no_document(f"{slash}{axis}::{test}")
    if slash == "/":
        if axis == "child":
            return f"{_VARIABLE}[self::{test}]{predicates}"
        if axis in _DOWN:
            return f"{_VARIABLE}/descendant-or-self::{test}{predicates}"
        # The document node has nothing around it, and no attributes.
        return f"{_VARIABLE}[false()]"
    if axis in _DOWN:
        raise _no_document(f"//{axis}::{test}")
    if axis != "child":
        return f"{_VARIABLE}/descendant-or-self::node()/{axis}::{test}{predicates}"
    if not predicates:
        return f"{_VARIABLE}/descendant-or-self::{test}"
    # A position counts among the children of one node: the root element is the first of its own.
    below = f"{_VARIABLE}/descendant-or-self::node()/child::{test}{predicates}"
    return f"({_VARIABLE}[self::{test}]{predicates} | {below})"


def _no_document(path: str) -> NotMovable:
    return NotMovable(
        f"'{path}' begins at a document node, which a part of a document lacks: expected /NAME"
    )


def _after_space(tokens: Sequence[_Token], index: int) -> int:
    while index < len(tokens) and tokens[index].kind == "space":
        index += 1
    return index


def _after_predicates(tokens: Sequence[_Token], index: int) -> int:
    while True:
        opening = _after_space(tokens, index)
        if opening == len(tokens) or tokens[opening].text != "[":
            return index
        index = _close(tokens, opening) + 1


def _close(tokens: Sequence[_Token], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind, text = tokens[index]
        if kind == "operator":
            depth += (text in _CLOSING) - (text in _CLOSING.values())
            if depth == 0:
                return index
    raise AssertionError("a valid expression closes its brackets")
