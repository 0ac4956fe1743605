"""``SELECT (SUM(?v) AS ?s)``: the group gives ``?s`` itself, instead of a variable to be renamed.

The algebra computes an aggregate into an inner variable, which an Extend then copies (SPARQL 1.1,
section 18.2.4.1). That is what the text of a query can say, so this is no rewrite of the algebra
but the first step of a plan. Nothing outside the Project can see the inner variable, so the group
may use the name of the copy wherever nothing below the Extend mentions that name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sensorstream.sparql.algebra import Extend, Filter, Group, OrderBy, Pattern, Project, Variable
from sensorstream.sparql.walk import replaced, variables

_Node = TypeVar("_Node")


def named_aggregates(pattern: Pattern) -> Pattern:
    """The pattern with every aggregate computed into the variable that it is selected as."""
    return replaced(pattern, _in_project)


def _in_project(node: object) -> object | None:
    if not isinstance(node, Project):
        return None
    names = _names(node.pattern)
    if not names:
        return None
    return replace(node, pattern=_renamed(node.pattern, names))


def _names(pattern: Pattern) -> dict[Variable, Variable]:
    """The aggregates' variables, each with the first variable it is copied to."""
    match pattern:
        case Group(_, _, aggregates):
            return {variable: variable for variable, _ in aggregates}
        case Filter(_, inner) | OrderBy(inner, _):
            return _names(inner)
        case Extend(inner, variable, expression):
            names = _names(inner)
            if (
                isinstance(expression, Variable)
                and names.get(expression) == expression
                and variable not in variables(inner)
            ):
                names[expression] = variable
            return names
    return {}


def _renamed(pattern: Pattern, names: dict[Variable, Variable]) -> Pattern:
    """The nodes above the group, and the group, with the new names."""
    match pattern:
        case Group(inner, _, aggregates):
            computed = tuple((names[variable], each) for variable, each in aggregates)
            return replace(pattern, pattern=named_aggregates(inner), aggregates=computed)
        case Filter(condition, inner):
            return Filter(_substituted(condition, names), _renamed(inner, names))
        case OrderBy(inner, conditions):
            return OrderBy(_renamed(inner, names), _substituted(conditions, names))
        case Extend(inner, variable, expression):
            below = _renamed(inner, names)
            if isinstance(expression, Variable) and names.get(expression) == variable:
                return below
            return Extend(below, variable, _substituted(expression, names))
    return pattern


def _substituted(node: _Node, names: dict[Variable, Variable]) -> _Node:
    return replaced(node, lambda each: names.get(each) if isinstance(each, Variable) else None)
