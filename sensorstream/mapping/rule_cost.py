"""How the time of a mapping rule grows with the message, and up to which size it is taken at once.

What a rule takes is not linear where its loops multiply, or where an expression looks through the
message again for each of many nodes. Such rules run in this process for small messages only; see
:mod:`sensorstream.processes.apart`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.language import syntax
from sensorstream.language.walk import nodes
from sensorstream.mapping.moved_paths import looks_up
from sensorstream.mapping.xpath_cost import CONTEXT, ELSEWHERE, Cost, cost_of

STEPS: Final = 10_000_000
"""Steps that the rules may take for a message in this process: about a third of a second, where
they are those of the degrees."""
_MARKUP: Final = (b"<", b"=")
_TEXT: Final = 64
"""Bytes of text that cost as much as a node."""


@dataclass(frozen=True, slots=True)
class Steep:
    """An expression of a rule that takes n to the power of ``degree`` steps for n nodes."""

    degree: int
    hole: syntax.Hole


def size_of(content: bytes) -> int:
    """At least how many nodes a message has, and what its texts cost beside."""
    found = len(content) // _TEXT
    if content.startswith(b"<"):
        return found + sum(map(content.count, _MARKUP))
    # In an encoding without ASCII an element takes four characters, an attribute more.
    return found + len(content) // 4


def largest(degrees: Iterable[int]) -> int | None:
    """The size up to which expressions of these degrees take no more than :data:`STEPS`.

    None: any size.
    """
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
    """The expressions of a rule that are not linear in the message.

    ``own`` are the functions of the user's own, whose cost is not known; they count as not linear.
    ``in_parts``: the message may be one of many in a document, and what is around it is looked at
    for each of them.
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
    """How often the body of a rule is run for a message, and what the variables hold there.

    A variable is local while each of its values belongs to one turn only.
    """

    def __init__(self, *, several: bool) -> None:
        """``several``: the path of the rule may find several nodes."""
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
        """Go on inside a loop."""
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
        """Bind a variable to what is found in each turn."""
        cost = self._cost(let.value)
        local = cost.local and not (self._looped and self._is_fixed(let.value))
        self._variables[let.variable] = Cost(many=cost.many, local=local)

    def _is_fixed(self, hole: syntax.Hole) -> bool:
        """Whether it is found once for all turns of the loops."""
        return self._looped and "$" not in hole.text

    def _cost(self, hole: syntax.Hole) -> Cost:
        again = self._looped and "$" in hole.text
        return cost_of(hole.text, self._variables, ELSEWHERE if again else CONTEXT)
