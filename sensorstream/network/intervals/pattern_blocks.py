"""Blocks of triple patterns as plans: what happens, and what holds always.

A path of a fixed length becomes its triples; its alternatives become several blocks. A path of any
length has no interval of its own: it is followed in what holds always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Final, TypeAlias

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.conjunction import join_all, projected
from sensorstream.network.plan.nodes import End, Plan
from sensorstream.network.plan.planner import end_of
from sensorstream.network.rows import ALWAYS, TIMES
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Path, TriplePattern, Variable
from sensorstream.sparql.query_printer import part_text

_MOST_WAYS: Final = 64
"""Blocks that the alternatives of paths (|, !) in one block of a pattern in time come to."""


@frozen
class _Way:
    """An alternative of a block: all its steps, and the conditions on them."""

    steps: tuple[plans.KnownPlan, ...] = ()
    filters: tuple[Expression, ...] = ()


_Ways: TypeAlias = Sequence[_Way]


@frozen
class Where:
    """The place that a block of triple patterns matches.

    ``graph`` is the one of GRAPH, which holds always; without it, what happens in ``stream``, or in
    all streams and the background.
    """

    graph: IRI | None = None
    stream: IRI | None = None


def block(patterns: Iterable[TriplePattern], fresh: Iterator[int], where: Where) -> Plan:
    """The plan of a basic graph pattern; ``fresh`` numbers variables.

    Raises UnsupportedQuery if the alternatives of its paths are too many, or a path of any length
    would be followed in a stream.
    """
    ways: _Ways = [_Way()]
    for pattern in patterns:
        subject, path, object_ = pattern.parts
        ways = _both(ways, _of_path(end_of(subject), path, end_of(object_), fresh), path)
    if where.stream is not None:
        _check_paths(ways)
    found = [_planned(way, where) for way in ways]
    return found[0] if len(found) == 1 else plans.UnionPlan(tuple(found))


def _check_paths(ways: _Ways) -> None:
    for step in (step for way in ways for step in way.steps):
        if step.path is not None:
            raise UnsupportedQuery(
                f"{part_text(step.path)} within STREAM: a path of any length is followed in "
                "the background knowledge: write it outside the braces of STREAM",
                part=step.path,
            )


def _both(one: _Ways, other: _Ways, written: Variable | Path) -> _Ways:
    """Combine the alternatives of two parts; ``written`` is the path for the error."""
    if len(one) * len(other) > _MOST_WAYS:
        raise UnsupportedQuery(
            f"the alternatives of the paths in one block of a pattern in time come to more than "
            f"{_MOST_WAYS} blocks: put some of them into a group of their own: {{ ?x :a|:b ?y }}",
            part=written,
        )
    return [_Way((*a.steps, *b.steps), (*a.filters, *b.filters)) for a, b in product(one, other)]


def _of_path(subject: End, path: Path | Variable, object_: End, fresh: Iterator[int]) -> _Ways:
    match path:
        case algebra.Inverse(inner):
            return _of_path(object_, inner, subject, fresh)
        case algebra.Sequence(left, right):
            between = Variable(f".path{next(fresh)}")
            one = _of_path(subject, left, between, fresh)
            return _both(one, _of_path(between, right, object_, fresh), path)
        case algebra.Alternative(left, right):
            return [
                *_of_path(subject, left, object_, fresh),
                *_of_path(subject, right, object_, fresh),
            ]
        case algebra.NegatedSet(forward, backward):
            ways = []
            if forward or not backward:
                ways.append(_other_than(subject, object_, forward, fresh))
            if backward:
                ways.append(_other_than(object_, subject, backward, fresh))
            return ways
    return [_Way((plans.KnownPlan(subject, path, object_),))]


def _other_than(subject: End, object_: End, names: tuple[IRI, ...], fresh: Iterator[int]) -> _Way:
    step = Variable(f".path{next(fresh)}")
    filters = (algebra.Not(algebra.In(step, names)),) if names else ()
    return _Way((plans.KnownPlan(subject, step, object_),), filters)


def _planned(way: _Way, where: Where) -> Plan:
    steps = list(dict.fromkeys(way.steps))
    if not steps:
        return plans.ConstantPlan(TIMES, (ALWAYS,))
    happening = [
        place for place, each in enumerate(steps) if where.graph is None and each.path is None
    ]
    pairs = [
        (one, other)
        for one, other in combinations(happening, 2)
        if _may_be_one(steps[one], steps[other])
    ]
    labelled = {place for pair in pairs for place in pair}
    parts: list[Plan] = []
    for place, each in enumerate(steps):
        if place in happening:
            label = f"{plans.OCCURRENCE}{place}" if place in labelled else ""
            parts.append(plans.Occurrence(*each.ends, label, where.stream))
        else:
            parts.append(replace(each, graph=where.graph))
    found = join_all(parts)
    if pairs:
        labels = tuple(
            (f"{plans.OCCURRENCE}{one}", f"{plans.OCCURRENCE}{other}") for one, other in pairs
        )
        found = plans.Once(found, labels)
    for condition in way.filters:
        found = plans.FilterPlan(found, condition)
    return projected(found, visible(found))


def visible(plan: Plan) -> list[str]:
    """The variables that a query can use, and the interval."""
    return [n for n in plan.variables if n in TIMES or not n.startswith((".", "_:"))]


def _may_be_one(one: plans.KnownPlan, other: plans.KnownPlan) -> bool:
    """Whether two triple patterns may become the same triple."""
    ends = zip(one.ends, other.ends, strict=True)
    return all(isinstance(a, Variable) or isinstance(b, Variable) or a == b for a, b in ends)
