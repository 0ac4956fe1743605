"""Every location path in an XPath expression, those in predicates included.

They show which nodes an expression reads, even if its value is a number or a boolean.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from sensorstream.mapping.xpath import NODE_TYPES, TOKEN

_OPERATORS: Final = frozenset(("and", "or", "div", "mod"))
_CLOSING: Final = {"(": ")", "[": "]"}


class _Token(NamedTuple):
    kind: str
    text: str


@cache
def subpaths(text: str) -> tuple[str, ...]:
    """The location paths of a valid expression, each written from the same context node.

    ``a[@b = c]/d`` has ``a/@b``, ``a/c`` and ``a[@b = c]/d``. A path behind brackets or a
    function, such as ``(a | b)/c``, is left out: only the paths in the brackets count.
    """
    found: dict[str, None] = {}
    _scan(_tokens(text), "", found)
    return tuple(found)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    for match in TOKEN.finditer(text):
        kind, written = match.lastgroup or "", match.group()
        if kind == "use":
            # The bracket of a function, or the colons of an axis, are tokens of their own.
            name, use = match["name"], match["use"].strip()
            tokens += [_Token("function" if use == "(" else "name", name), _Token("operator", use)]
        elif match["variable"] is not None:
            tokens.append(_Token("variable", written))
        elif kind != "space":
            tokens.append(_Token(kind, written))
    return tokens


def _scan(tokens: list[_Token], start: str, found: dict[str, None]) -> None:
    path, after_value, index = "", False, 0

    def end() -> None:
        nonlocal path
        if path and not after_value:
            found[_joined(start, path)] = None
        path = ""

    while index < len(tokens):
        kind, text = tokens[index]
        index += 1
        if kind == "function" and text in NODE_TYPES:
            close = _close(tokens, index)
            path += text + "".join(each.text for each in tokens[index : close + 1])
            index = close + 1
        elif kind == "function" or text == "(":
            close = _close(tokens, index if kind == "function" else index - 1)
            first = index + (1 if kind == "function" else 0)
            if kind == "function" and text in _OPERATORS:
                # An operator before a bracket: `a and (b)`.
                end()
            _scan(tokens[first:close], start, found)
            index, path, after_value = close + 1, "", text not in _OPERATORS
        elif text == "[":
            close = _close(tokens, index - 1)
            inner = tokens[index:close]
            if not after_value:
                _scan(inner, _joined(start, path), found)
            path += f"[{' '.join(each.text for each in inner)}]"
            index = close + 1
        elif kind in ("literal", "number"):
            end()
            after_value = True
        elif _continues(kind, text, path, after_value=after_value):
            path += text
        else:
            end()
            after_value = False
    end()


def _continues(kind: str, text: str, path: str, *, after_value: bool) -> bool:
    """Whether a token is part of the path before it; if not, it is an operator."""
    inside = path.endswith(("/", "::", "@"))
    if kind == "name":
        return inside or not path or text not in _OPERATORS
    if text == "*":
        return inside or not (path or after_value)
    return kind == "variable" or text in ("/", "//", "@", "::", ".", "..")


def _close(tokens: list[_Token], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``."""
    depth, index = 0, opening
    while True:
        text = tokens[index].text
        if tokens[index].kind == "operator":
            depth += (text in _CLOSING) - (text in _CLOSING.values())
        if depth == 0:
            return index
        index += 1


def _joined(start: str, path: str) -> str:
    if not start or path.startswith(("/", "$")):
        return path
    return f"{start}/{path}"
