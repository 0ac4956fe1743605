"""Whether rules that compute new terms might go on without end, each new term giving another one.

Source: Krötzsch, Rudolph, "Extending decidable existential rules by joining acyclicity and
guardedness", IJCAI 2011, section 3 (joint acyclicity).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.network.graph_components import reached as reached_by
from sensorstream.network.recursion.derivation_rule import ComputedSort, Invention, RuleClause
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.network.recursion.triple_kinds import TriplesRead, written
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, TriplePattern, Variable
from sensorstream.sparql.variable_scope import certain, names_in
from sensorstream.sparql.walk import kept_in, triple_variables

_Place: TypeAlias = tuple[TriplesRead, int]
"""A place of a term: a kind of triples, and which of their three parts."""
_TRUE_FOR: Final = {
    "ISBLANK": (ComputedSort.NODE,),
    "ISIRI": (ComputedSort.NAME,),
    "ISURI": (ComputedSort.NAME,),
    "ISLITERAL": (),
}
"""The sorts of computed terms for which each function is true; for ``ANY`` all may be."""


@frozen
class _Move:
    """A variable of a rule: a term that stands at all of ``read`` comes to all of ``written``."""

    read: tuple[_Place, ...]
    written: tuple[_Place, ...]


def endless(
    members: Sequence[RuleClause], linear: FlatClosure | None
) -> Iterator[tuple[RuleClause, Invention]]:
    """The inventions of recursive clauses whose terms may reach what they are computed from.

    ``linear`` has the conclusions of each triple that a clause writes. If properties or classes
    that other premises bind close the cycle, it depends on the data: that counts for values, but
    not for blank nodes, whose depth is bounded.
    """
    found = [(clause, each) for clause in members for each in clause.invented]
    if not found:
        return
    reached: list[list[_Place]] = []
    for clause, each in found:
        moves = [move for other in members for move in _moves(other, each.sort)]
        if linear is not None:
            for premise, head in linear.steps():
                moves += _of_variables(_Body((premise,), frozenset(), each.sort), head)
        reached.append(_reached(clause, each, moves))
    feeds = {
        place: [
            other
            for other, (clause, each) in enumerate(found)
            if _takes(clause, each, found[place][1].sort, reached[place])
        ]
        for place in range(len(found))
    }
    for place, invention in enumerate(found):
        if place in reached_by(feeds[place], feeds.__getitem__):
            yield invention


class _Body:
    """The places where a body reads variables, for terms of a sort that ``never`` cannot have."""

    def __init__(
        self, patterns: Sequence[TriplePattern], never: frozenset[str], sort: ComputedSort
    ) -> None:
        self._patterns = patterns
        self._node = sort is ComputedSort.NODE
        self._never = never
        named = [part.name for each in patterns for part in triple_variables(each)]
        self._joined = {name for name in named if named.count(name) > 1}

    def places(self, name: str) -> tuple[_Place, ...]:
        """The places where the body reads a variable; empty if the terms cannot be there."""
        if name in self._never:
            return ()
        read = [each for each in self._patterns if name in names_in(each)]
        if self._node and any(self._depends(each, name) for each in read):
            return ()
        return _places(read, name)

    def _depends(self, triple: TriplePattern, name: str) -> bool:
        """Whether other premises decide the kind of a triple."""
        kind: list[object] = [triple.predicate]
        if triple.predicate == rdf.TYPE:
            kind.append(triple.object)
        return any(
            isinstance(part, Variable) and part.name != name and part.name in self._joined
            for part in kind
        )


def _reached(clause: RuleClause, invention: Invention, moves: Sequence[_Move]) -> list[_Place]:
    """The places that the new terms may reach."""
    found: dict[_Place, None] = {}

    def add(places: Iterable[_Place]) -> None:
        found.update(
            (each, None)
            for each in places
            if invention.sort is not ComputedSort.NODE or _is_definite(each)
        )

    add(_places(clause.head, invention.variable))
    left = moves
    while ready := [move for move in left if _is_within(move.read, found)]:
        left = [move for move in left if move not in ready]
        for move in ready:
            add(move.written)
    return list(found)


def _takes(
    clause: RuleClause, invention: Invention, sort: ComputedSort, reached: Sequence[_Place]
) -> bool:
    """Whether a term of the places reached may be one that another is computed from."""
    body = _body(clause, sort)
    return any(_is_within(body.places(name), reached) for name in invention.sources)


def _body(clause: RuleClause, sort: ComputedSort) -> _Body:
    pattern = clause.body.pattern
    return _Body(tuple(_patterns(pattern)), _never(pattern, sort), sort)


def _is_within(places: Sequence[_Place], reached: Iterable[_Place]) -> bool:
    """Whether a term that is at all of ``places`` may have come from those reached.

    A term without a place comes from a part of the body that is not recursive.
    """
    return bool(places) and all(
        any(part == other and kind.meets(there) for there, other in reached)
        for kind, part in places
    )


def _is_definite(place: _Place) -> bool:
    kind, _ = place
    return kind.predicate is not None and (kind.predicate != rdf.TYPE or kind.object is not None)


def _moves(clause: RuleClause, sort: ComputedSort) -> Iterator[_Move]:
    body = _body(clause, sort)
    yield from _of_variables(body, clause.head)
    invented = {each.variable for each in clause.invented}
    for name, sources in clause.sources.items():
        copied = _places(clause.head, name)
        if name not in invented and copied:
            for source in sources:
                yield _Move(body.places(source), copied)


def _of_variables(body: _Body, head: Sequence[TriplePattern]) -> Iterator[_Move]:
    for name in sorted(names_in(tuple(head))):
        yield _Move(body.places(name), _places(head, name))


def _places(triples: Iterable[TriplePattern], name: str) -> tuple[_Place, ...]:
    return tuple(
        (written(triple), place)
        for triple in triples
        for place, part in enumerate(triple.parts)
        if isinstance(part, Variable) and part.name == name
    )


def _patterns(body: Pattern) -> Iterator[TriplePattern]:
    """The triple patterns that may be recursive and that every solution matches."""
    match body:
        case algebra.BGP(patterns):
            yield from patterns
        case _ if isinstance(body, algebra.OneByOne):
            for each in kept_in(body):
                yield from _patterns(each)


def _never(body: Pattern, sort: ComputedSort) -> frozenset[str]:
    """The variables that a body keeps from having a computed term of a sort.

    It does so by its conditions, or by reading them in a graph that rules do not write.
    """
    match body:
        case algebra.Filter(condition, inner):
            return _never(inner, sort) | frozenset(_kept(condition, sort))
        case _ if isinstance(body, algebra.OneByOne):
            return frozenset().union(*(_never(each, sort) for each in kept_in(body)))
        case algebra.Graph(_, inner) | algebra.Window(_, inner):
            return certain(inner)
    return frozenset()


def _kept(condition: Expression, sort: ComputedSort) -> Iterator[str]:
    match condition:
        case algebra.And(left, right):
            yield from _kept(left, sort)
            yield from _kept(right, sort)
        case algebra.Not(algebra.Call(function, (Variable(name),))) if sort in _TRUE_FOR.get(
            function, ()
        ):
            yield name
        case algebra.Call(function, (Variable(name),)) if sort not in _TRUE_FOR.get(
            function, ComputedSort
        ):
            if sort is not ComputedSort.ANY:
                yield name
