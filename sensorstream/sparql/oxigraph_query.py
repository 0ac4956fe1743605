"""How long an answer of Oxigraph may take.

Nothing can interrupt it, so the steps of a query are bounded before. All patterns count as if none
had a variable in common, since its order of joins is its own.
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
