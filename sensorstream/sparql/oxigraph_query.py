"""What Oxigraph is asked: the text of a query, and how long an answer may take.

Of ``+`` it puts the operands into an order of its own, and then knows no duration before a
dateTime, and no date with a duration at all; ``-`` is right. So ``a + b`` becomes ``a - -b``.
Nothing can interrupt it, so that the steps of a query are bounded before. All patterns count as if
none had a variable in common, since its order of joins is its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from sensorstream.model.terms import IRI, Literal
from sensorstream.model.xsd import NUMERIC_TYPES
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Query, TriplePattern, Variable
from sensorstream.sparql.functions import Trait, named
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.text_bounds import parts_of
from sensorstream.sparql.walk import nodes, replaced

_MOST_SUMS: Final = 3
"""Of sums within a sum that may have a duration first."""


def oxigraph_text(query: Query) -> str:
    """A query that Oxigraph answers as it is meant."""
    return query_text(replaced(query, _without_sum))


def _without_sum(node: object) -> Expression | None:
    match node:
        case algebra.Arithmetic("+", left, right) if not (_is_number(left) or _is_number(right)):
            one, other = replaced(left, _without_sum), replaced(right, _without_sum)
            found = algebra.Arithmetic("-", one, algebra.Sign("-", other))
            if _sums(left) + _sums(right) > _MOST_SUMS:
                # Written twice at each level, the text would grow with a power of two.
                return found
            return algebra.Call(
                "COALESCE", (found, algebra.Arithmetic("-", other, algebra.Sign("-", one)))
            )
    return None


def _sums(node: Expression) -> int:
    return sum(
        isinstance(each, algebra.Arithmetic) and each.operator == "+" for each in nodes(node)
    )


def _is_number(node: Expression) -> bool:
    match node:
        case Literal():
            return node.datatype in NUMERIC_TYPES
        case algebra.Arithmetic("*" | "/", _, _):
            return True
    return False


STEPS: Final = 300_000
"""Steps that a query may take where it cannot be ended: at worst about a third of a second."""
_GROWING: Final = named(Trait.GROWING) | {"GROUP_CONCAT"}
"""Functions whose result may be any number of times as long as their argument."""


def steps_of(meaning: object, count: Callable[[TriplePattern], int], triples: int) -> float:
    """The most steps of a query or pattern over ``triples`` triples.

    ``count`` tells at least how many of them match a pattern without a path.
    """
    steps = 1.0
    for part in parts_of(meaning):
        match part:
            case algebra.BGP(patterns):
                for each in patterns:
                    if isinstance(each.predicate, IRI | Variable):
                        steps *= max(1, count(each))
                    else:
                        steps *= max(1.0, triples) ** _length(each.predicate)
            case algebra.Values(_, rows):
                steps *= max(1, len(rows))
            case algebra.Call("CONCAT", arguments):
                # What it makes may be what the next one doubles.
                steps *= max(1, len(arguments))
            case algebra.Call(name) | Aggregate(name) if name in _GROWING:
                return math.inf
        if steps > STEPS:
            return steps
    return steps


def _length(path: object) -> int:
    """The steps of a path; one that is repeated may lead from each node to each."""
    found = 0
    for part in parts_of(path):
        match part:
            case algebra.ZeroOrMore() | algebra.OneOrMore():
                found += 2
            case IRI():
                found += 1
    return max(1, found)
