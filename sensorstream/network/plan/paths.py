"""Property paths: triples where the path allows it, plans of pairs for the rest.

Source: SPARQL 1.1 Query, sections 18.2.2.4 and 18.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from sensorstream.model.terms import IRI, Term
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.conjunction import Conjunction, assembled, matched, projected
from sensorstream.network.plan.nodes import End, Plan, Triple, constant
from sensorstream.network.query_sources import TripleSource
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Path, Variable

_FROM: Final = Variable(".from")
_TO: Final = Variable(".to")
_STEP: Final = Variable(".predicate")
_ENDS: Final = (_FROM.name, _TO.name)
_Fixed: TypeAlias = tuple[Term | None, Term | None]


def add_path(
    parts: Conjunction,
    triple: tuple[End, Path | Variable, End],
    source: TripleSource,
    fresh: Iterator[int],
) -> None:
    """Add a path between two ends to the parts of a conjunction; ``fresh`` numbers variables."""
    subject, path, object_ = triple
    match path:
        case IRI() | Variable():
            parts.triples.append(Triple(source, subject, path, object_))
        case algebra.Inverse(inner):
            add_path(parts, (object_, inner, subject), source, fresh)
        case algebra.Sequence(left, right):
            between = Variable(f".path{next(fresh)}")
            add_path(parts, (subject, left, between), source, fresh)
            add_path(parts, (between, right, object_), source, fresh)
        case _:
            fixed = (constant(subject), constant(object_))
            parts.others.append(
                plans.PathEndsPlan(_pairs(path, source, fixed, fresh), subject, object_)
            )


def _pairs(path: Path, source: TripleSource, fixed: _Fixed, fresh: Iterator[int]) -> Plan:
    """The pairs a path connects; at least those with the ``fixed`` ends."""
    match path:
        case algebra.Alternative(left, right):
            return plans.UnionPlan(
                (_pairs(left, source, fixed, fresh), _pairs(right, source, fixed, fresh))
            )
        case algebra.NegatedSet(forward, backward):
            ways: list[Plan] = []
            if forward or not backward:
                ways.append(_other_than(Triple(source, _FROM, _STEP, _TO), forward))
            if backward:
                ways.append(_other_than(Triple(source, _TO, _STEP, _FROM), backward))
            return ways[0] if len(ways) == 1 else plans.UnionPlan(tuple(ways))
        case algebra.OneOrMore(inner):
            return plans.ClosurePlan(_pairs(inner, source, (None, None), fresh), *fixed)
        case algebra.ZeroOrMore(inner):
            more = _pairs(algebra.OneOrMore(inner), source, fixed, fresh)
            return plans.DistinctPlan(plans.UnionPlan((_same(source, fixed), more)))
        case algebra.ZeroOrOne(inner):
            once = _pairs(inner, source, fixed, fresh)
            return plans.DistinctPlan(plans.UnionPlan((_same(source, fixed), once)))
    parts = Conjunction()
    add_path(parts, (_FROM, path, _TO), source, fresh)
    return projected(assembled(parts), _ENDS)


def _other_than(triple: Triple, names: Collection[IRI]) -> Plan:
    filters = (algebra.Not(algebra.In(_STEP, tuple(names))),) if names else ()
    return matched([triple], filters, _ENDS)


def _same(source: TripleSource, fixed: _Fixed) -> Plan:
    """The paths of length zero: from every node of the graph, and every fixed end."""
    constants = tuple(dict.fromkeys(end for end in fixed if end is not None))
    if constants:
        return plans.ConstantPlan(_ENDS, tuple((end, end) for end in constants))
    other = Variable(".other")
    halves = tuple(
        matched([triple], (), [_FROM.name])
        for triple in (Triple(source, _FROM, _STEP, other), Triple(source, other, _STEP, _FROM))
    )
    return plans.ExtendPlan(plans.DistinctPlan(plans.UnionPlan(halves)), _TO.name, _FROM)
