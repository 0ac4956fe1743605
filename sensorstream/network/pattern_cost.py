"""Estimates of how many triples a pattern gives, once some variables are bound."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.terms import Term
from sensorstream.sparql.algebra import Variable

_SAMPLE: Final = 200
_UNSEEN: Final = (1000.0, 100.0)
"""Triples and distinct objects expected of a property that has not been seen yet."""
_SAID: Final = 1.2
"""Values expected of a property of a subject."""
_CONSTANT: Final = 2.0
"""The fewest triples expected of a property and a constant."""


def fan_out(
    index: TripleIndex | WindowScope, ends: Sequence[Variable | Term], bound: Collection[str]
) -> float:
    """The expected number of triples for each way the variables are bound already."""
    subject, predicate, object_ = (
        not isinstance(end, Variable) or end.name in bound for end in ends
    )
    if subject and predicate and object_:
        return 0.1
    if subject:
        return _SAID if predicate or object_ else 8.0
    if not predicate:
        return 20.0 if object_ else max(len(index), 1000) * 10.0
    name = ends[1]
    triples, objects = _statistics(index, name) if not isinstance(name, Variable) else _UNSEEN
    if not object_:
        return triples
    value = ends[2]
    if not isinstance(value, Variable) and not isinstance(name, Variable):
        fitting = index.count(name, value) if len(index) else 0  # type: ignore[arg-type]
        if name == rdf.TYPE and not fitting:
            # A class that has no instances yet will have many: it is looked at last.
            return _UNSEEN[0]
        if len(index):
            # Another constant is expected to be selective even where nothing fits it yet; but the
            # values of a bound subject stay few, however much streams.
            return max(_CONSTANT, float(fitting))
    return triples / objects


def _statistics(index: TripleIndex | WindowScope, predicate: Term) -> tuple[float, float]:
    """The triples of a property and its distinct objects, from a sample."""
    if not len(index):
        return _UNSEEN
    objects = index.pos.get(predicate)  # type: ignore[arg-type]
    if not objects:
        return _UNSEEN
    sample = [len(subjects) for subjects in islice(objects.values(), _SAMPLE)]
    return sum(sample) / len(sample) * len(objects), float(len(objects))


def expected_rows(patterns: Sequence[tuple[TripleIndex, Sequence[Variable | Term]]]) -> float:
    """The expected solutions of patterns that all must match, cheapest first; O(patterns²)."""
    ahead, bound, rows = list(patterns), set[str](), 1.0
    while ahead:
        costs = [fan_out(index, ends, bound) for index, ends in ahead]
        cheapest = min(range(len(ahead)), key=costs.__getitem__)
        rows *= costs[cheapest]
        _, ends = ahead.pop(cheapest)
        bound.update(each.name for each in ends if isinstance(each, Variable))
    return rows
