"""Bounds for the time of an answer of Oxigraph.

A query cannot be interrupted, so its steps are bounded before. All patterns count as if no two
shared a variable, since Oxigraph chooses the order of joins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, TriplePattern, Variable
from sensorstream.sparql.functions import Trait, named
from sensorstream.sparql.text_bounds import parts_of

STEPS: Final = 300_000
"""The most steps of a query that cannot be ended: at worst about a third of a second."""
_GROWING: Final = named(Trait.GROWING) | {"GROUP_CONCAT"}
"""Functions whose result may be many times as long as their argument."""


def steps_of(meaning: object, count: Callable[[TriplePattern], int], triples: int) -> float:
    """An upper bound of the steps of a query or pattern over ``triples`` triples.

    ``count`` gives a lower bound of the matches of a pattern without a path.
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
                # Its result may be doubled by the next one.
                steps *= max(1, len(arguments))
            case algebra.Call(name) | Aggregate(name) if name in _GROWING:
                return math.inf
        if steps > STEPS:
            return steps
    return steps


def _length(path: object) -> int:
    """The steps of a path; a repeated one may lead from each node to each."""
    found = 0
    for part in parts_of(path):
        match part:
            case algebra.ZeroOrMore() | algebra.OneOrMore():
                found += 2
            case IRI():
                found += 1
    return max(1, found)
