"""The growth of the time of an XPath expression, and of a mapping rule, with the message.

libxml2 cannot be interrupted and counts nothing, so slow expressions must be known before, from the
texts alone. The degrees are upper bounds, for a message with n nodes: 1 is n steps, 2 is n². They
follow libxml2: a step from several nodes compares each node that it finds with all found before,
unless no node can be found twice (children, attributes); so do unions and comparisons of two sets
of nodes. Depth counts as bounded: messages nest their elements at most ``max_depth`` deep.

A rule is not linear if its loops multiply, or if an expression looks through the message again for
each of many nodes. Such rules run in this process for small messages only; see
:mod:`sensorstream.processes.fork_once`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final

from sensorstream.language import syntax
from sensorstream.mapping.moved_paths import looks_up
from sensorstream.mapping.xpath_tree import (
    Expression,
    Path,
    XPathCall,
    XPathFilter,
    XPathLiteral,
    XPathNumber,
    XPathOperation,
    XPathStep,
    XPathVariable,
    parse,
)
from sensorstream.model.frozen import frozen, replace
from sensorstream.sparql.walk import nodes

WORST: Final = 9
"""The degree of an unknown cost."""


@frozen
class Cost:
    """The cost of one evaluation. ``many``: it may find any number of nodes. ``local``: it looks
    only at the context node and below, so evaluating it at many nodes costs no more than ``degree``
    in all.
    """

    degree: int = 1
    many: bool = False
    local: bool = True

    @property
    def each(self) -> int:
        """The degree of evaluating it at every node of a message."""
        return self.degree if self.local else self.degree + 1

    def with_(self, other: Cost, *, least: int = 1) -> Cost:
        """The cost of a value that is computed from both."""
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
    """The costs of the nodes of a tree, given those of the variables."""

    def __init__(self, variables: Mapping[str, Cost]) -> None:
        self._variables = variables

    def of(self, node: Expression, context: Cost) -> Cost:
        match node:
            case XPathLiteral() | XPathNumber():
                return _VALUE
            case XPathVariable(name=name):
                return self._variables.get(name, replace(_ANYTHING, degree=1))
            case XPathCall():
                return self._call(node, context)
            case XPathOperation(operands=(operand,)):
                return replace(self.of(operand, context), many=False)
            case XPathOperation():
                return self._operation(node, context)
            case XPathFilter(of=of, predicates=predicates):
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

    def _operation(self, node: XPathOperation, context: Cost) -> Cost:
        first, *others = (self.of(each, context) for each in node.operands)
        found = first
        for operator, other in zip(node.operators, others, strict=True):
            many = found.many or other.many
            both = found.many and other.many and operator in _OF_SETS
            found = found.with_(other, least=2 if both else 1)
            if operator == "|":
                found = replace(found, many=many)
        return found

    def _step(self, start: Cost, step: XPathStep) -> Cost:
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
        """Add predicates; ``several``: even by position a predicate leaves several nodes."""
        for predicate in predicates:
            test = self.of(predicate, CONTEXT)
            degree = test.each if candidates else test.degree
            if repeated:
                degree = test.degree + 2
            many = several if isinstance(predicate, XPathNumber) else found.many
            found = replace(found, degree=max(found.degree, degree), many=many)
        return found

    def _call(self, node: XPathCall, context: Cost) -> Cost:
        found = _VALUE if node.arguments else replace(context, many=False)
        for number, argument in enumerate(node.arguments):
            # The text is searched for each character, or at each place in it.
            searched = (
                number == 1 and node.name in _SEARCHES and not isinstance(argument, XPathLiteral)
            )
            found = found.with_(self.of(argument, context), least=2 if searched else 1)
        if node.name == "id":
            return Cost(max(2, found.degree), many=True, local=False)
        return replace(found, local=False) if node.name == "lang" else found


def _walked(start: Cost, axis: str, *, named: bool) -> tuple[Cost, bool, bool]:
    """The cost of a step along an axis; whether it finds many nodes, and some several times."""
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


STEPS: Final = 10_000_000
"""Steps that the rules may take for a message in this process: about a third of a second, where
they are those of the degrees."""
_MARKUP: Final = (b"<", b"=")
_TEXT: Final = 64
"""Bytes of text that cost as much as a node."""


@frozen
class Steep:
    """An expression of a rule that takes n to the power of ``degree`` steps for n nodes."""

    degree: int
    hole: syntax.Hole


def size_of(content: bytes) -> int:
    """A lower bound of the number of nodes of a message, plus the cost of its texts."""
    found = len(content) // _TEXT
    if content.startswith(b"<"):
        return found + sum(map(content.count, _MARKUP))
    # In an encoding without ASCII an element takes four characters, an attribute more.
    return found + len(content) // 4


def largest(degrees: Iterable[int]) -> int | None:
    """The size up to which expressions of these degrees take :data:`STEPS` at most; None: any."""
    each = [degree for degree in degrees if degree > 1]
    if not each:
        return None
    low, high = 0, STEPS
    while low < high:
        middle = (low + high + 1) // 2
        if sum(middle**degree for degree in each) <= STEPS:
            low = middle
        else:
            high = middle - 1
    return low


def steep_of(
    rule: syntax.MappingRule, own: Container[str], *, in_parts: bool = False
) -> tuple[Steep, ...]:
    """The expressions of a rule that are not linear in the message. ``own`` are the functions of
    the user's own, whose cost is not known; they count as not linear. ``in_parts``: the message may
    be one of many in a document, and its surroundings are looked at for each of them.
    """
    path = cost_of(rule.message.text)
    turns = _Turns(several=path.many)
    found = [(rule.message, path.degree)]
    for loop in rule.for_each:
        found.append((loop.xpath, turns.degree_of(loop.xpath)))
        turns.enter(loop)
    for let in rule.lets:
        found.append((let.value, turns.degree_of(let.value)))
        turns.bind(let)
    body = (*rule.guards, *nodes(rule.actions, syntax.Hole))
    found += ((hole, turns.degree_of(hole)) for hole in body)
    steep: dict[syntax.Hole, int] = {}
    for hole, degree in found:
        outside = in_parts and looks_up(hole.text)
        own_call = any(call.function in own for call in hole.calls)
        degree = max(degree, 2 if own_call or outside else 1)
        if degree > 1:
            steep[hole] = max(degree, steep.get(hole, 0))
    return tuple(Steep(degree, hole) for hole, degree in steep.items())


class _Turns:
    """The number of turns of a rule's body for a message, and the variables in them. A variable is
    local while each of its values belongs to one turn only.
    """

    def __init__(self, *, several: bool) -> None:
        """Begin; ``several``: the path of the rule may find several nodes."""
        self._several = several
        self._degree = int(several)
        self._looped = False
        self._variables: dict[str, Cost] = {}

    def degree_of(self, hole: syntax.Hole) -> int:
        """The degree of a hole in all turns together."""
        cost = self._cost(hole)
        if self._is_fixed(hole):
            return cost.each if self._several else cost.degree
        return cost.degree if cost.local else cost.degree + self._degree

    def enter(self, loop: syntax.ForEach) -> None:
        cost, repeated = self._cost(loop.xpath), self._looped and self._is_fixed(loop.xpath)
        local = cost.local and not repeated
        if cost.many:
            self._variables = {
                name: replace(each, local=False) for name, each in self._variables.items()
            }
            if self._degree == 0:
                self._degree, local = 1, True
            elif not local:
                self._degree += 1
        self._looped = True
        self._variables[loop.variable] = Cost(local=local or self._degree == 0)

    def bind(self, let: syntax.Let) -> None:
        """Bind a variable to the value found in each turn."""
        cost = self._cost(let.value)
        local = cost.local and not (self._looped and self._is_fixed(let.value))
        self._variables[let.variable] = Cost(many=cost.many, local=local)

    def _is_fixed(self, hole: syntax.Hole) -> bool:
        """Whether it is found once for all turns of the loops."""
        return self._looped and "$" not in hole.text

    def _cost(self, hole: syntax.Hole) -> Cost:
        again = self._looped and "$" in hole.text
        return cost_of(hole.text, self._variables, ELSEWHERE if again else CONTEXT)
