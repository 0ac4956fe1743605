"""How the time of an XPath expression grows with the message, told from its text alone.

libxml2 cannot be interrupted and counts nothing, so what may take long must be known before. The
degrees are upper bounds, of a message with n nodes: 1 is n steps, 2 is n². They know what libxml2
does: a step from several nodes compares each node that it finds with all found before, unless no
node can be found twice (children, attributes); so do unions and comparisons of two sets of nodes.
Depth counts as bounded: messages nest their elements at most ``max_depth`` deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.mapping.location_path import Token, tokens_of
from sensorstream.mapping.xpath import NODE_TYPES

WORST: Final = 9
"""The degree of what cannot be told."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one evaluation. ``many``: it may find any number of nodes.

    ``local``: it looks at the context node and below it only, so that evaluating it at many
    different nodes costs together no more than ``degree`` says.
    """

    degree: int = 1
    many: bool = False
    local: bool = True

    @property
    def each(self) -> int:
        """The degree of evaluating it at every node of a message."""
        return self.degree if self.local else self.degree + 1

    def with_(self, other: Cost, *, least: int = 1) -> Cost:
        """Of a value that is computed from both."""
        degree = max(self.degree, other.degree, least)
        return Cost(degree, local=self.local and other.local)


_VALUE: Final = Cost()
CONTEXT: Final = Cost()
"""The context node, where that is another one for each evaluation."""
ELSEWHERE: Final = Cost(local=False)
"""One node, which may be the same for many evaluations."""
_ANYTHING: Final = Cost(WORST, many=True, local=False)
NO_VARIABLES: Final[Mapping[str, Cost]] = {}
"""Variables that are not given find many nodes, anywhere."""

_UP: Final = frozenset(("parent", "ancestor", "ancestor-or-self"))
_DOWN: Final = frozenset(("descendant", "descendant-or-self"))
_SEARCHES: Final = frozenset(("contains", "substring-before", "substring-after", "translate"))
_LEVELS: Final = (
    ("or",),
    ("and",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "div", "mod"),
)


def cost_of(
    expression: str, variables: Mapping[str, Cost] = NO_VARIABLES, context: Cost = CONTEXT
) -> Cost:
    """The cost of a valid expression, with those of the nodes that its variables hold."""
    tokens = tokens_of(expression)
    if tokens is None:
        return _ANYTHING
    try:
        return _Reader(tokens, variables, context).expression()
    except (IndexError, RecursionError):
        return _ANYTHING


class _Reader:
    """Reads one expression (XPath 1.0, section 3.1 to 3.5)."""

    def __init__(self, tokens: list[Token], variables: Mapping[str, Cost], context: Cost) -> None:
        self._tokens = tokens
        self._variables = variables
        self._context = context
        self._at = 0

    def expression(self) -> Cost:
        return self._binary(0)

    def _binary(self, level: int) -> Cost:
        if level == len(_LEVELS):
            return self._unary()
        found = self._binary(level + 1)
        while self._text() in _LEVELS[level] and self._kind() in ("name", self._text()):
            self._at += 1
            other = self._binary(level + 1)
            both = found.many and other.many and _LEVELS[level][0] in ("=", "<")
            found = found.with_(other, least=2 if both else 1)
        return found

    def _unary(self) -> Cost:
        if self._kind() == "-":
            self._at += 1
            return replace(self._unary(), many=False)
        return self._union()

    def _union(self) -> Cost:
        found = self._path()
        while self._kind() == "|":
            self._at += 1
            other = self._path()
            both = found.with_(other, least=2 if found.many and other.many else 1)
            found = replace(both, many=found.many or other.many)
        return found

    # Paths

    def _path(self) -> Cost:
        kind, text = self._kind(), self._text()
        if kind in ("/", "//"):
            found = ELSEWHERE
            if kind == "/":
                self._at += 1
                if not self._begins_step():
                    return found
                # A document has one element.
                child = self._kind() not in ("@", "::")
                found = self._step(found)
                found = replace(found, many=False) if child else found
            return self._steps(found)
        if kind == "variable":
            self._at += 1
            found = self._variables.get(text.removeprefix("$"), replace(_ANYTHING, degree=1))
        elif kind in ("literal", "number"):
            self._at += 1
            found = _VALUE
        elif kind == "(" and text == "(":
            self._at += 1
            found = self.expression()
            self._at += 1
        elif kind == "(" and text not in NODE_TYPES:
            found = self._call(text)
        else:
            return self._steps(self._step(self._context))
        return self._steps(self._predicates(found, candidates=found.many))

    def _begins_step(self) -> bool:
        kind = self._kind()
        return kind in ("name", "*", "@", ".", "..", "::") or (
            kind == "(" and self._text() in NODE_TYPES
        )

    def _steps(self, found: Cost) -> Cost:
        while self._kind() in ("/", "//"):
            if self._kind() == "//":
                found = _walked(found, "descendant-or-self", named=False)[0]
            self._at += 1
            found = self._step(found)
        return found

    def _step(self, start: Cost) -> Cost:
        axis = "child"
        match self._kind():
            case "." | "..":
                axis = "self" if self._kind() == "." else "parent"
                self._at += 1
                return _walked(start, axis, named=False)[0]
            case "@":
                axis = "attribute"
                self._at += 1
            case "::":
                axis = self._text()
                self._at += 1
        named = self._kind() == "name" and not self._text().endswith(":*")
        if self._kind() == "(":
            while self._kind() != ")":
                self._at += 1
        self._at += 1
        found, candidates, repeated = _walked(start, axis, named=named)
        return self._predicates(found, candidates=candidates, repeated=repeated, several=start.many)

    def _predicates(
        self, found: Cost, *, candidates: bool, repeated: bool = False, several: bool = False
    ) -> Cost:
        """``several``: even by position a predicate leaves several nodes."""
        while self._kind() == "[":
            self._at += 1
            begun = self._at
            outside, self._context = self._context, CONTEXT
            test = self.expression()
            self._context = outside
            position = [each.kind for each in self._tokens[begun : self._at]] == ["number"]
            self._at += 1
            degree = test.each if candidates else test.degree
            if repeated:
                degree = test.degree + 2
            many = several if position else found.many
            found = replace(found, degree=max(found.degree, degree), many=many)
        return found

    def _call(self, name: str) -> Cost:
        self._at += 1
        found, searches, number = _VALUE, name in _SEARCHES, 0
        if self._kind() == ")":
            found = replace(self._context, many=False)
        while self._kind() != ")":
            begun = self._at
            given = self.expression()
            constant = [each.kind for each in self._tokens[begun : self._at]] == ["literal"]
            # The text is looked through for each character, or for each place in it.
            found = found.with_(given, least=2 if searches and number == 1 and not constant else 1)
            number += 1
            if self._kind() == ",":
                self._at += 1
        self._at += 1
        if name == "id":
            return Cost(max(2, found.degree), many=True, local=False)
        return replace(found, local=False) if name == "lang" else found

    # Tokens

    def _kind(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""

    def _text(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""


def _walked(start: Cost, axis: str, *, named: bool) -> tuple[Cost, bool, bool]:
    """A step along an axis; whether it looks at many nodes, and at the same ones several times."""
    many = start.many
    if axis == "child":
        return replace(start, many=True), True, False
    if axis == "attribute":
        return replace(start, many=many or not named), True, False
    if axis == "self":
        return replace(start, degree=max(start.degree, 2 if many else 1)), many, False
    degree = max(start.degree, 2 if many else 1)
    if axis in _DOWN:
        return replace(start, degree=degree, many=True), True, False
    if axis in _UP:
        return Cost(degree, many, local=False), many, False
    return Cost(max(start.degree, 3 if many else 1), many=True, local=False), True, many
