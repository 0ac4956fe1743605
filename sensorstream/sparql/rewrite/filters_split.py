"""A conjunction of conditions becomes several filters."""

from __future__ import annotations

from functools import reduce
from typing import Any

from sensorstream.sparql.algebra import And, Expression, Filter, Pattern
from sensorstream.sparql.scope import conjuncts
from sensorstream.sparql.walk import rebuilt


def filters_split(pattern: Pattern) -> Pattern:
    """``FILTER(a && b)`` becomes ``FILTER(a) FILTER(b)``: each then goes where it is cheapest.

    ``a && b`` is true exactly if both are (SPARQL 1.1, section 17.2: an error or false on either
    side leaves the row out, here as there).
    """
    return rebuilt(pattern, _split)


def _split(node: Any) -> Any:
    if not isinstance(node, Filter) or not isinstance(node.condition, And):
        return node
    return reduce(_filtered, conjuncts(node.condition), node.pattern)


def _filtered(pattern: Pattern, condition: Expression) -> Pattern:
    return Filter(condition, pattern)
