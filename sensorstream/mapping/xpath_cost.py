"""How the time of an XPath expression grows with the message, told from its text alone.

libxml2 cannot be interrupted and counts nothing, so what may take long must be known before. The
degrees are upper bounds, of a message with n nodes: 1 is n steps, 2 is n². They know what libxml2
does: a step from several nodes compares each node that it finds with all found before, unless no
node can be found twice (children, attributes); so do unions and comparisons of two sets of nodes.
Depth counts as bounded: messages nest their elements at most ``max_depth`` deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.mapping.xpath_tree import (
    Call,
    Expression,
    Filter,
    Literal,
    Number,
    Operation,
    Path,
    Step,
    Variable,
    parse,
)

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
_OF_SETS: Final = frozenset(("|", "=", "!=", "<", "<=", ">", ">="))
"""Operators that compare all nodes of two sets with each other."""
_ONE: Final = frozenset(("child", "self", "parent"))
"""Axes of which a document has one node: its element."""


def cost_of(
    expression: str, variables: Mapping[str, Cost] = NO_VARIABLES, context: Cost = CONTEXT
) -> Cost:
    """The cost of a valid expression, with those of the nodes that its variables hold."""
    tree = parse(expression)
    try:
        return _ANYTHING if tree is None else _Costs(variables).of(tree, context)
    except RecursionError:
        return _ANYTHING


class _Costs:
    """The costs of the nodes of a tree, with those of what the variables hold."""

    def __init__(self, variables: Mapping[str, Cost]) -> None:
        self._variables = variables

    def of(self, node: Expression, context: Cost) -> Cost:
        match node:
            case Literal() | Number():
                return _VALUE
            case Variable(name=name):
                return self._variables.get(name, replace(_ANYTHING, degree=1))
            case Call():
                return self._call(node, context)
            case Operation(operands=(operand,)):
                return replace(self.of(operand, context), many=False)
            case Operation():
                return self._operation(node, context)
            case Filter(of=of, predicates=predicates):
                found = self.of(of, context)
                return self._predicates(found, predicates, candidates=found.many)
            case Path(origin=origin):
                found = ELSEWHERE if node.absolute else context
                found = found if origin is None else self.of(origin, context)
        for step in node.steps:
            if step.deep:
                found = _walked(found, "descendant-or-self", named=False)[0]
            found = self._step(found, step)
            if node.absolute and step is node.steps[0] and not step.deep and step.axis in _ONE:
                found = replace(found, many=False)
        return found

    def _operation(self, node: Operation, context: Cost) -> Cost:
        first, *others = (self.of(each, context) for each in node.operands)
        found = first
        for operator, other in zip(node.operators, others, strict=True):
            many = found.many or other.many
            both = found.many and other.many and operator in _OF_SETS
            found = found.with_(other, least=2 if both else 1)
            if operator == "|":
                found = replace(found, many=many)
        return found

    def _step(self, start: Cost, step: Step) -> Cost:
        named = not step.test.endswith(("*", ")"))
        found, candidates, repeated = _walked(start, step.axis, named=named)
        return self._predicates(
            found, step.predicates, candidates=candidates, repeated=repeated, several=start.many
        )

    def _predicates(
        self,
        found: Cost,
        predicates: Iterable[Expression],
        *,
        candidates: bool,
        repeated: bool = False,
        several: bool = False,
    ) -> Cost:
        """``several``: even by position a predicate leaves several nodes."""
        for predicate in predicates:
            test = self.of(predicate, CONTEXT)
            degree = test.each if candidates else test.degree
            if repeated:
                degree = test.degree + 2
            many = several if isinstance(predicate, Number) else found.many
            found = replace(found, degree=max(found.degree, degree), many=many)
        return found

    def _call(self, node: Call, context: Cost) -> Cost:
        found = _VALUE if node.arguments else replace(context, many=False)
        for number, argument in enumerate(node.arguments):
            # The text is looked through for each character, or for each place in it.
            searched = number == 1 and node.name in _SEARCHES and not isinstance(argument, Literal)
            found = found.with_(self.of(argument, context), least=2 if searched else 1)
        if node.name == "id":
            return Cost(max(2, found.degree), many=True, local=False)
        return replace(found, local=False) if node.name == "lang" else found


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
