"""A filter goes down to the smallest group that binds its variables."""

from __future__ import annotations

from typing import Any

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern
from sensorstream.sparql.scope import certain, existences, in_scope, names_in
from sensorstream.sparql.walk import rebuilt


def filters_down(pattern: Pattern) -> Pattern:
    """``A B FILTER(c)`` becomes ``{ A FILTER(c) } B`` if every solution of A binds all of c.

    Then no other operand can give c's variables another value, so the same rows are left out,
    before they cost anything. The filter also goes into the left of OPTIONAL and MINUS, below BIND
    to a variable that c does not mention, and into sub-selects that select all variables of c.

    EXISTS moves likewise, but not into an operand of a join: joined first, the triples are one
    ordered walk, and EXISTS is evaluated for fewer rows. No filter goes into UNION, because it
    would become two filters, or below a grouping: queries that differ in HAVING share the groups.
    """
    return rebuilt(pattern, _lowered)


def _lowered(node: Any) -> Any:
    return _placed(node.condition, node.pattern) if isinstance(node, algebra.Filter) else node


def _placed(condition: Expression, pattern: Pattern) -> Pattern:
    """``Filter(condition, pattern)``, as deep in the pattern as possible."""
    names, plain = names_in(condition), not existences(condition)

    def fits(inner: Pattern) -> bool:
        # The pattern of EXISTS has local variables, which no outer pattern binds.
        return (names if plain else names & in_scope(pattern)) <= certain(inner)

    match pattern:
        case algebra.Filter(other, inner):
            lowered = _placed(condition, inner)
            if lowered != algebra.Filter(condition, inner):
                return algebra.Filter(other, lowered)
        case algebra.Join(left, right) if plain and fits(left):
            return algebra.Join(_placed(condition, left), right)
        case algebra.Join(left, right) if plain and fits(right):
            return algebra.Join(left, _placed(condition, right))
        case algebra.LeftJoin(left, right, test) if fits(left):
            return algebra.LeftJoin(_placed(condition, left), right, test)
        case algebra.Minus(left, right) if fits(left):
            return algebra.Minus(_placed(condition, left), right)
        case algebra.Extend(inner, variable, value) if fits(inner) and variable.name not in names:
            return algebra.Extend(_placed(condition, inner), variable, value)
        case algebra.Project(inner, variables) if plain and fits(pattern):
            return algebra.Project(_placed(condition, inner), variables)
        case algebra.Distinct(inner) | algebra.Reduced(inner) if fits(inner):
            return type(pattern)(_placed(condition, inner))
        case algebra.OrderBy(inner, conditions) if fits(inner):
            return algebra.OrderBy(_placed(condition, inner), conditions)
        case algebra.Graph(IRI() as name, inner) if plain and fits(inner):
            return algebra.Graph(name, _placed(condition, inner))
    return algebra.Filter(condition, pattern)
