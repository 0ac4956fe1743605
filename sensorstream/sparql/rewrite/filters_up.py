"""A filter on variables that its group does not bind goes up."""

from __future__ import annotations

from typing import Any

from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import Distinct, Expression, Filter, Graph, Join, Pattern, Reduced
from sensorstream.sparql.scope import certain, existences, in_scope, names_in
from sensorstream.sparql.walk import rebuilt


def filters_up(pattern: Pattern) -> Pattern:
    """``{ A FILTER(c) } B`` becomes ``A B FILTER(c)`` if c uses a variable that neither binds.

    Within EXISTS such a variable is the outer solution's (section 18.6): the filter then stands at
    the top of the pattern, where it can be evaluated for the pair of an inner and an outer row.
    Elsewhere the variable is unbound, before as after. For the variables that A may bind, the
    joined row must have the value of A: either A always binds them, or B never does. Likewise out
    of ``GRAPH <g> { }`` and DISTINCT.
    """
    return rebuilt(pattern, _raised)


def _raised(node: Any) -> Any:
    match node:
        case Join(left, right):
            lefts, left = _taken(left, right)
            rights, right = _taken(right, left)
            if lefts or rights:
                return _filtered(Join(left, right), [*lefts, *rights])
        case Graph(IRI() as name, Filter(condition, inner)) if not existences(
            condition
        ) and _borrows(condition, inner):
            return Filter(condition, _raised(Graph(name, inner)))
        case Distinct(Filter(condition, inner)) | Reduced(Filter(condition, inner)) if _borrows(
            condition, inner
        ):
            return Filter(condition, _raised(type(node)(inner)))
    return node


def _taken(pattern: Pattern, other: Pattern) -> tuple[list[Expression], Pattern]:
    """The filters on top of an operand that can leave it, and the operand without them."""
    match pattern:
        case Filter(condition, inner):
            found, rest = _taken(inner, other)
            doubtful = names_in(condition) - certain(inner)
            if _borrows(condition, inner) and not doubtful & in_scope(other):
                return [*found, condition], rest
            return found, Filter(condition, rest)
    return [], pattern


def _filtered(pattern: Pattern, conditions: list[Expression]) -> Pattern:
    for condition in conditions:
        pattern = Filter(condition, pattern)
    return pattern


def _borrows(condition: Expression, pattern: Pattern) -> bool:
    return not names_in(condition) <= in_scope(pattern)
