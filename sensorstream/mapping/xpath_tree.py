"""XPath 1.0 as a tree, for all checks of an expression before it is run.

Source: XPath 1.0 (W3C, 1999), sections 2 and 3. Each node has its place in the text, so a rewritten
expression keeps the rest of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from sensorstream.model.frozen import frozen

NC_NAME: Final = r"[^\W\d][\w.-]*"
TOKEN: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<literal>"[^"]*"|'[^']*')
    |(?P<number>\d+(?:\.\d*)?|\.\d+)
    |\$(?P<variable>{NC_NAME}(?::{NC_NAME})?)
    |(?P<name>{NC_NAME}(?::(?!:)(?:{NC_NAME}|\*))?)
    |(?P<operator>::|//|\.\.|!=|<=|>=|[()\[\].@,/|+\-=<>*])""",
    re.X,
)
NODE_TYPES: Final = frozenset(("comment", "text", "processing-instruction", "node"))
OPERATORS: Final = frozenset(("and", "or", "div", "mod"))
"""Operators that look like names."""
_LEVELS: Final = {
    operator: level
    for level, operators in enumerate(
        ("or", "and", "= !=", "< <= > >=", "+ -", "* div mod", "|"),
    )
    for operator in operators.split()
}
_UNION: Final = _LEVELS["|"]
_REMEMBERED: Final = 4096
"""Expressions whose trees are remembered: several look at each, when the rules are read."""


class Token(NamedTuple):
    """A token; ``kind`` is a group of :data:`TOKEN`; that of an operator is the operator itself."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@frozen
class XPathNode:
    """A part of an expression: the characters from ``start`` to before ``end``."""

    start: int
    end: int


@frozen
class XPathLiteral(XPathNode):
    """A text in quotes; ``text`` is without them."""

    text: str


@frozen
class XPathNumber(XPathNode):
    """A number."""


@frozen
class XPathVariable(XPathNode):
    """``$name``."""

    name: str


@frozen
class XPathCall(XPathNode):
    """``name(argument, …)``."""

    name: str
    arguments: tuple[Expression, ...]


@frozen
class XPathOperation(XPathNode):
    """Operands with operators of one level between them; a minus alone has one operand."""

    operators: tuple[str, ...]
    operands: tuple[Expression, ...]


@frozen
class XPathFilter(XPathNode):
    """An expression in brackets, or one that is no path with predicates."""

    of: Expression
    predicates: tuple[Expression, ...]


@frozen
class XPathStep(XPathNode):
    """A step of a path, from the slash before it, which is double if it is ``deep``. Abbreviations
    are expanded in ``axis`` and ``test``; ``written`` is the original text.
    """

    deep: bool
    axis: str
    test: str
    written: str
    predicates: tuple[Expression, ...]


@frozen
class Path(XPathNode):
    """Steps from the ``origin``, from the document (``absolute``), or from the context node."""

    origin: Expression | None
    absolute: bool
    steps: tuple[XPathStep, ...]


Expression: TypeAlias = (
    XPathLiteral | XPathNumber | XPathVariable | XPathCall | XPathOperation | XPathFilter | Path
)


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens of a text without white space; a token that is not XPath has the kind ``""``."""
    offset = 0
    while offset < len(text):
        match = TOKEN.match(text, offset)
        if match is None:
            yield Token("", text[offset], offset)
            return
        start, offset = offset, match.end()
        if (kind := match.lastgroup or "") != "space":
            written = match.group()
            yield Token(written if kind == "operator" else kind, written, start)


def parse(text: str) -> Expression | None:
    """The tree of an expression; None if it is not XPath, or nested too deep."""
    try:
        return _parsed(text)
    except RecursionError:  # how deep is too deep depends on the caller: it is not remembered
        return None


@lru_cache(_REMEMBERED)
def _parsed(text: str) -> Expression | None:
    tokens = list(tokens_of(text))
    parser = _Parser(text, tokens)
    try:
        found = parser.expression()
    except ValueError:
        return None
    return found if parser.at == len(tokens) else None


def parts_of(node: XPathNode) -> tuple[XPathNode, ...]:
    """The nodes directly in a node, in the order of the text."""
    match node:
        case (
            XPathCall(arguments=parts)
            | XPathOperation(operands=parts)
            | XPathStep(predicates=parts)
        ):
            return parts
        case XPathFilter(of=of, predicates=predicates):
            return of, *predicates
        case Path(origin=origin, steps=steps):
            return steps if origin is None else (origin, *steps)
    return ()


def walk(tree: XPathNode) -> Iterator[XPathNode]:
    """A node and all in it, in the order of the text."""
    left: list[XPathNode] = [tree]
    while left:
        node = left.pop()
        yield node
        left += parts_of(node)[::-1]


def written(text: str, node: XPathNode, change: Callable[[XPathNode], str | None]) -> str:
    """The text of a node, with the texts that ``change`` gives for nodes in it."""
    if (made := change(node)) is not None:
        return made
    out: list[str] = []
    at = node.start
    for part in parts_of(node):
        out += (text[at : part.start], written(text, part, change))
        at = part.end
    return "".join((*out, text[at : node.end]))


class _Parser:
    """A parser of the tokens of one expression; raises ``ValueError`` if they are not XPath."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.at = 0
        self._text = text
        self._tokens = [*tokens, Token("", "", len(text)), Token("", "", len(text))]

    def expression(self, level: int = 0) -> Expression:
        """Operands with operators of a level or above."""
        found = self._operand()
        while (here := self._level()) >= level:
            operators, operands = [], [found]
            while self._level() == here:
                operators.append(self._take().text)
                operands.append(self.expression(here + 1))
            end = operands[-1].end
            found = XPathOperation(found.start, end, tuple(operators), tuple(operands))
        return found

    def _level(self) -> int:
        token = self._tokens[self.at]
        return _LEVELS.get(token.text, -1) if token.kind in ("name", token.text) else -1

    def _operand(self) -> Expression:
        if self._kind() != "-":
            return self._path()
        minus, operand = self._take(), self.expression(_UNION)
        return XPathOperation(minus.start, operand.end, ("-",), (operand,))

    def _path(self) -> Expression:
        start, first = self._tokens[self.at].start, self._kind()
        if first == "/" and self._kind(1) not in ("name", "*", "@", ".", ".."):
            return Path(start, self._take().end, None, True, ())
        absolute = first in ("/", "//")
        origin = None if absolute else self._primary()
        if origin is not None and self._kind() not in ("/", "//"):
            return origin
        steps = [] if absolute or origin is not None else [self._step(start, deep=False)]
        while self._kind() in ("/", "//"):
            slash = self._take()
            steps.append(self._step(slash.start, deep=slash.kind == "//"))
        return Path(start, steps[-1].end, origin, absolute, tuple(steps))

    def _primary(self) -> Expression | None:
        """The beginning of a path that is not a step; None: a step comes here."""
        token = self._tokens[self.at]
        kind, name, start, end = *token, token.end
        found: Expression
        if kind == "literal":
            found = XPathLiteral(start, end, name[1:-1])
        elif kind == "number":
            found = XPathNumber(start, end)
        elif kind == "variable":
            found = XPathVariable(start, end, name[1:])
        elif kind == "(":
            self._take()
            found = self.expression()
            self._take(")")
            predicates = self._predicates()
            return XPathFilter(start, self._before(), found, predicates)
        elif kind == "name" and self._kind(1) == "(" and name not in NODE_TYPES:
            self.at += 2
            arguments: list[Expression] = []
            while self._kind() != ")":
                if arguments:
                    self._take(",")
                arguments.append(self.expression())
            found = XPathCall(start, self._tokens[self.at].end, name, tuple(arguments))
        else:
            return None
        self._take()
        predicates = self._predicates()
        return XPathFilter(start, self._before(), found, predicates) if predicates else found

    def _step(self, start: int, *, deep: bool) -> XPathStep:
        begun, axis = self._tokens[self.at].start, "child"
        if self._kind() in (".", ".."):
            end = self._take().end
            axis = "self" if end - begun == 1 else "parent"
            return XPathStep(start, end, deep, axis, "node()", self._text[begun:end], ())
        if self._kind() == "@":
            self._take()
            axis = "attribute"
        elif self._kind(1) == "::":
            axis = self._take("name").text
            self._take()
        token = self._take("*" if self._kind() == "*" else "name")
        test = token.text
        if self._kind() == "(" and test in NODE_TYPES:
            self._take()
            inside = self._take().text if self._kind() == "literal" else ""
            self._take(")")
            test = f"{test}({inside})"
        there = self._text[begun : self._before()]
        predicates = self._predicates()
        return XPathStep(start, self._before(), deep, axis, test, there, predicates)

    def _predicates(self) -> tuple[Expression, ...]:
        found = []
        while self._kind() == "[":
            self._take()
            found.append(self.expression())
            self._take("]")
        return tuple(found)

    # Tokens

    def _kind(self, further: int = 0) -> str:
        return self._tokens[self.at + further].kind

    def _before(self) -> int:
        """The end of the last token."""
        return self._tokens[self.at - 1].end

    def _take(self, kind: str = "") -> Token:
        token = self._tokens[self.at]
        if not token.kind or kind not in ("", token.kind):
            raise ValueError(token.text)
        self.at += 1
        return token
