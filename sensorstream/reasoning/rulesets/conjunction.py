"""The triple patterns of a body that must match in any case, and bodies without some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sensorstream.sparql.algebra import (
    BGP,
    Each,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    Pattern,
    TriplePattern,
)


def triples_of(body: Pattern) -> Iterator[TriplePattern]:
    """The triple patterns that every solution matches, without those of EACH."""
    for block in _parts(body):
        if isinstance(block, BGP):
            yield from block.patterns


def eaches_of(body: Pattern) -> Iterator[Each]:
    """The EACH that every solution matches."""
    return (part for part in _parts(body) if isinstance(part, Each))


def _parts(body: Pattern) -> Iterator[Pattern]:
    match body:
        case Join(left, right):
            yield from _parts(left)
            yield from _parts(right)
        case Filter(_, inner) | Extend(inner, _, _) | LeftJoin(inner, _, _) | Minus(inner, _):
            yield from _parts(inner)
        case _:
            yield body


def changed(
    body: Pattern,
    triple: Callable[[TriplePattern], TriplePattern | None],
    each: Callable[[Each], Pattern] = lambda part: part,
) -> Pattern:
    """The body with what :func:`triples_of` and :func:`eaches_of` give replaced; None: left out."""
    match body:
        case BGP(patterns):
            kept = [new for old in patterns if (new := triple(old)) is not None]
            return BGP(tuple(kept))
        case Each():
            return each(body)
        case Join(left, right):
            return together(changed(left, triple, each), changed(right, triple, each))
        case Filter(condition, inner):
            return Filter(condition, changed(inner, triple, each))
        case Extend(inner, variable, expression):
            return Extend(changed(inner, triple, each), variable, expression)
        case LeftJoin(inner, right, condition):
            return LeftJoin(changed(inner, triple, each), right, condition)
        case Minus(inner, right):
            return Minus(changed(inner, triple, each), right)
    return body


def together(left: Pattern, right: Pattern) -> Pattern:
    """Both patterns; two blocks of triples become one."""
    if isinstance(left, BGP) and isinstance(right, BGP):
        return BGP(tuple(dict.fromkeys((*left.patterns, *right.patterns))))
    if left == BGP():
        return right
    return left if right == BGP() else Join(left, right)
