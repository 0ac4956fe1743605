"""Nested joins become one list of operands, its blocks one block for each graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from sensorstream.model.terms import IRI, BlankNode
from sensorstream.sparql.algebra import BGP, Join, Pattern, Window
from sensorstream.sparql.walk import nodes, rebuilt


def joins_flat(pattern: Pattern) -> Pattern:
    """``{ A B } { C }`` becomes ``{ A B C }``; the empty block is left out.

    Joins are associative and commutative (section 18.5), and a block of triples is the join of
    its triples. Blocks in which the same blank node stands are kept apart: a block is its scope.
    """
    return rebuilt(pattern, _flat)


def _flat(node: Any) -> Any:
    if not isinstance(node, Join):
        return node
    found: list[Pattern] = []
    for operand in _operands(node):
        for place, other in enumerate(found):
            merged = _merged(other, operand)
            if merged is not None:
                found[place] = merged
                break
        else:
            found.append(operand)
    return reduce(Join, found) if found else BGP()


def _operands(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, Join):
        yield from _operands(pattern.left)
        yield from _operands(pattern.right)
    elif pattern != BGP():
        yield pattern


def _merged(left: Pattern, right: Pattern) -> Pattern | None:
    match left, right:
        case BGP(one), BGP(other) if not _blank_nodes(left) & _blank_nodes(right):
            return BGP((*one, *other))
        case Window(IRI() as name, BGP() as one), Window(same, BGP() as other) if name == same:
            merged = _merged(one, other)
            return None if merged is None else Window(name, merged)
    return None


def _blank_nodes(pattern: Pattern) -> set[object]:
    return {each for each in nodes(pattern) if isinstance(each, BlankNode)}
