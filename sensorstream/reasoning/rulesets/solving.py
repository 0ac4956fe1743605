"""The solutions of triple patterns and paths over a set of triples that does not change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.network.recursion.rule import meant
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PatternTerm,
    TriplePattern,
    Variable,
    ZeroOrMore,
    ZeroOrOne,
)

Binding: TypeAlias = Mapping[str, Term]
"""Terms by the names of variables."""


def solutions(
    patterns: Sequence[TriplePattern], index: TripleIndex, given: Binding | None = None
) -> Iterator[dict[str, Term]]:
    """All ways in which the patterns match, each once (SPARQL 1.1, sections 18.3 and 18.4).

    ``given`` are terms that some variables have; they are part of each solution. The patterns have
    no blank nodes. The next pattern is always one with the fewest free ends, and of these the one
    with the fewest triples, so the cost is about that of the matches.
    """
    binding = dict(given or {})
    small_first = sorted(patterns, key=lambda each: _size(each, index, binding))
    yield from _solutions(small_first, index, binding, frozenset(binding))


def _solutions(
    patterns: Sequence[TriplePattern],
    index: TripleIndex,
    binding: dict[str, Term],
    given: frozenset[str],
) -> Iterator[dict[str, Term]]:
    if not patterns:
        yield binding
        return
    chosen = min(patterns, key=lambda each: _freedom(each, binding))
    others = [each for each in patterns if each is not chosen]
    if not _may_begin(chosen, index, binding, given):
        return
    for match in _matches(chosen, index, binding):
        yield from _solutions(others, index, {**binding, **match}, given)


def _size(triple: TriplePattern, index: TripleIndex, binding: Binding) -> int:
    if isinstance(triple.predicate, IRI | Variable):
        ends = (triple.subject, triple.predicate, triple.object)
        return index.most(*(_known(each, binding) for each in ends))
    return len(index)


def _freedom(triple: TriplePattern, binding: Binding) -> int:
    s, o = _known(triple.subject, binding), _known(triple.object, binding)
    ends = (s is None) + (o is None)
    if isinstance(triple.predicate, IRI | Variable):
        return ends + (_known(triple.predicate, binding) is None)
    # Where both ends are free, a path may begin at each node.
    return ends if ends < 2 else 4


def _may_begin(
    triple: TriplePattern, index: TripleIndex, binding: Binding, given: frozenset[str]
) -> bool:
    """Whether the ends of a path are nodes of the graph, as far as other patterns bind them.

    A variable has no path of length zero at a term that is a property only. Who gives a term knows
    that it is a node.
    """
    if isinstance(triple.predicate, IRI | Variable):
        return True
    for end in (triple.subject, triple.object):
        if isinstance(end, Variable) and end.name in binding and end.name not in given:
            term = binding[end.name]
            begun = () if isinstance(term, Literal) else index.match(term, None, None)
            if not any(begun) and not any(index.match(None, None, term)):
                return False
    return True


def _matches(
    triple: TriplePattern, index: TripleIndex, binding: Binding
) -> Iterator[dict[str, Term]]:
    s, o = _known(triple.subject, binding), _known(triple.object, binding)
    path = triple.predicate
    if isinstance(path, IRI | Variable):
        p = _known(path, binding)
        if isinstance(s, Literal) or (p is not None and not isinstance(p, IRI)):
            return
        for found in index.match(s, p, o):
            match = bound((triple.subject, path, triple.object), found)
            if match is not None:
                yield match
        return
    for ends in _walks(index, path, s, o):
        match = bound((triple.subject, triple.object), ends)
        if match is not None:
            yield match


def bound(asked: Sequence[object], found: Sequence[Term]) -> dict[str, Term] | None:
    """Terms for the variables; None if a constant is another, or a variable would have two."""
    match: dict[str, Term] = {}
    for end, term in zip(asked, found, strict=True):
        if (match.setdefault(end.name, term) if isinstance(end, Variable) else end) != term:
            return None
    return match


def filled(end: object, row: Binding) -> Term:
    """The term that an end of a pattern stands for."""
    if isinstance(end, Variable):
        return row[end.name]
    assert isinstance(end, IRI | Literal)
    return meant(end)


def filled_triple(triple: TriplePattern, row: Binding) -> Triple:
    """The triple that a pattern without a path stands for."""
    ends = (triple.subject, triple.predicate, triple.object)
    return tuple(filled(end, row) for end in ends)  # type: ignore[return-value]


def _known(end: PatternTerm, binding: Binding) -> Term | None:
    return binding.get(end.name) if isinstance(end, Variable) else end


def _walks(
    index: TripleIndex, path: Path, start: Term | None, end: Term | None
) -> Iterator[tuple[Term, Term]]:
    if start is None and end is not None:
        yield from ((each, end) for each in reached(index, path, end, back=True))
        return
    starts: Iterable[Term] = _nodes(index) if start is None else (start,)
    for each in starts:
        found = reached(index, path, each)
        if end is None:
            yield from ((each, other) for other in found)
        elif end in found:
            yield each, end


def _nodes(index: TripleIndex) -> Iterator[Term]:
    return iter({end: None for s, _, o in index for end in (s, o)})


def reached(index: TripleIndex, path: Path, start: Term, *, back: bool = False) -> dict[Term, None]:
    """The ends of a path from a node, each once; ``back``: where paths to it begin."""
    match path:
        case Inverse(inner):
            return reached(index, inner, start, back=not back)
        case algebra.Sequence(left, right):
            first, then = (right, left) if back else (left, right)
            return _from_all(index, then, reached(index, first, start, back=back), back)
        case Alternative(left, right):
            return reached(index, left, start, back=back) | reached(index, right, start, back=back)
        case ZeroOrOne(inner):
            return {start: None} | reached(index, inner, start, back=back)
        case ZeroOrMore(inner):
            return _closure(index, inner, {start: None}, back)
        case OneOrMore(inner):
            return _closure(index, inner, reached(index, inner, start, back=back), back)
        case NegatedSet(forward, backward):
            found: dict[Term, None] = {}
            if forward or not backward:
                steps = _steps(index, start, None, back)
                found.update((each, None) for p, each in steps if p not in forward)
            if backward:
                steps = _steps(index, start, None, not back)
                found.update((each, None) for p, each in steps if p not in backward)
            return found
    return {each: None for _, each in _steps(index, start, path, back)}


def _steps(
    index: TripleIndex, node: Term, step: IRI | None, back: bool
) -> Iterator[tuple[IRI, Term]]:
    """The triples from a node, or to it, each by its property and its other end."""
    if back:
        yield from ((p, s) for s, p, _ in index.match(None, step, node))
    elif not isinstance(node, Literal):
        yield from ((p, o) for _, p, o in index.match(node, step, None))


def _from_all(
    index: TripleIndex, path: Path, starts: Iterable[Term], back: bool
) -> dict[Term, None]:
    return {end: None for start in starts for end in reached(index, path, start, back=back)}


def _closure(
    index: TripleIndex, path: Path, ahead: dict[Term, None], back: bool
) -> dict[Term, None]:
    found = dict(ahead)
    while ahead:
        ahead = {each: None for each in _from_all(index, path, ahead, back) if each not in found}
        found.update(ahead)
    return found
